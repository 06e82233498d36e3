"""The tutorial's code: what it quotes stands in the world's file, and what it runs does what it says."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from PIL import Image

import seer_env
from seer_env.cli import main
from seer_env.envs import epidemic_v0

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"
TEXT = TUTORIAL.read_text(encoding="utf-8")


def blocks(info):
    """Code blocks that begin with ```info."""
    fenced = re.findall(r"^```(.*)\n((?:.*\n)*?)^```", TEXT, re.M)
    return [block for heading, block in fenced if heading == info]


@pytest.fixture(scope="module")
def scope():
    """The names that the blocks leave behind, run from top to bottom."""
    names: dict = {"__name__": "tutorial"}
    for block in blocks("python"):
        exec(compile(block, "tutorial.md", "exec"), names)
    return names


def test_every_quoted_line_stands_in_the_world():
    quoted, source = blocks("python epidemic_v0.py"), Path(epidemic_v0.__file__).read_text(encoding="utf-8")
    assert len(quoted) >= 5
    for block in quoted:
        assert block in source


def test_every_block_is_quoted_or_run():
    known = blocks("python") + blocks("python epidemic_v0.py") + blocks("")
    assert len(re.findall(r"^```", TEXT, re.M)) == 2 * len(known)


def test_who_listens_to_the_neighbours_is_ill_less_often(scope):
    assert scope["told"] < 0.5 * scope["careless"]


def test_all_schedulers_agree(scope):
    assert len(scope["digests"]) == 1


def test_the_breach_is_explained(scope):
    assert "lookahead" in scope["message"]
    assert "HEAR" in scope["message"]


def test_the_agents_of_the_readers_world_learn_to_hold_their_tokens(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(seer_env, "register", lambda *_: None)  # other tests see the shipped worlds alone,
    monkeypatch.setattr(sys, "path", [*sys.path])  # and no module of this name
    monkeypatch.setitem(sys.modules, "gossip", None)
    monkeypatch.delitem(sys.modules, "gossip")
    (commands,) = blocks("")
    for line in commands.splitlines():
        words = shlex.split(line)[1:]
        assert main([*words, "--json", "table.json"] if words[0] == "evaluate" else words) == 0
    with Image.open("gossip.gif") as film:
        assert film.n_frames == 50
    rewards = json.loads(Path("table.json").read_text())["policies"]
    assert rewards["trained"]["reward"][0] > 0.95
    assert rewards["random"]["reward"][0] < 0.7
