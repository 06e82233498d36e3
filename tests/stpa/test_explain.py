"""`seer-env stpa explain`."""

from __future__ import annotations

import json

import pytest
from stpa.stages import MACHINE

from seer_env.cli import main
from seer_env.stpa import tuner

WORLD = ["stpa", "explain", "flock_v0", "--agents", "30", "--steps", "5", "--preflight-ms", "5000"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tuner, "describe", lambda: MACHINE)  # with a choice
    return tmp_path


def test_it_shows_what_was_chosen_and_why(capsys, folder):
    assert main([*WORLD, "--anew", "--picture", "why.png", "--json", "why.json"]) == 0
    shown = capsys.readouterr().out
    for part in ("threads of flock_v0", "machine", "candidates", "preflight", "why.png"):
        assert part in shown
    assert (folder / "why.png").read_bytes().startswith(b"\x89PNG")
    figures = json.loads((folder / "why.json").read_text())
    assert figures["threads"] == figures["decisions"][-1]["threads"] or figures["searching"]


def test_what_was_chosen_is_remembered(capsys):
    main([*WORLD, "--anew"])
    capsys.readouterr()
    main(WORLD)
    assert "remembered" in capsys.readouterr().out


def test_threads_asked_for_are_explained_too(capsys):
    assert main([*WORLD, "--threads", "2"]) == 0
    assert "as asked for" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--steps", "-1"], "--steps -1"),
        (["--picture", "why.jpg"], "is a .png file"),
        (["--picture", "nowhere/why.png"], "there is no folder"),
        (["--preflight-ms", "-3"], "preflight_ms"),
    ],
)
def test_what_cannot_be_done_is_refused(capsys, options, message):
    assert main([*WORLD, *options]) == 1
    assert message in capsys.readouterr().err
