"""`seer-env trace`: the files, what is printed, and the fixes that errors name."""

from __future__ import annotations

import csv
import json

import pytest
from PIL import Image

from seer_env.cli import main

FLOCK = ("trace", "flock_v0", "--agents", "60", "--threads", "2", "--scheduler", "seer")


def test_it_writes_a_trace_and_a_picture_and_says_where(tmp_path, capsys):
    folder = tmp_path / "deep" / "look"
    assert main([*FLOCK, "--step", "2", "--output", str(folder)]) == 0
    printed = capsys.readouterr().out.replace("\n", "")
    content = json.loads((folder / "trace.json").read_text())
    assert content["otherData"]["step"].startswith("flock, step 2: seer on 2 threads")
    with Image.open(folder / "gantt.png") as picture:
        assert min(picture.size) > 100
    assert not (folder / "events.csv").exists()
    for file in ("trace.json", "gantt.png"):
        assert str(folder / file) in printed
    assert "ui.perfetto.dev" in printed
    assert "idle" in printed


def test_events_are_a_table_of_all_that_was_executed(tmp_path):
    assert main([*FLOCK, "--step", "1", "--output", str(tmp_path), "--events"]) == 0
    with (tmp_path / "events.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    content = json.loads((tmp_path / "trace.json").read_text())
    spans = [event for event in content["traceEvents"] if event["ph"] == "X"]
    assert len(rows) == sum(span["args"].get("events", 0) for span in spans)
    assert [row["target"] for row in rows[:60]] == [str(i) for i in range(60)]  # actions, in row order
    assert float(rows[-1]["time"]) >= float(rows[0]["time"])
    assert rows[0]["kind"] == "MOVE"


@pytest.mark.parametrize(
    ("options", "fix"),
    [
        (("--step", "0"), "--step 0: at least 1"),
        (("--capacity", "0"), "--capacity 0: at least 1"),
        (("--scheduler", "python"), "take serial, seer, or leave it out"),
        (("--max-cycles", "3", "--step", "5"), "the episode ended after 3 steps; choose an earlier one"),
        (("--policy", "genius"), "--policy genius: this world has random"),
    ],
)
def test_errors_name_the_fix(tmp_path, capsys, options, fix):
    assert main([*FLOCK, "--output", str(tmp_path), *options]) == 1
    assert fix in capsys.readouterr().err


def test_a_file_where_the_folder_should_be_is_refused_before_compiling(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main([*FLOCK, "--output", str(tmp_path / "file")]) == 1
    assert "no folder can be made there" in capsys.readouterr().err


def test_a_trace_that_is_not_whole_says_so(tmp_path, capsys):
    assert main([*FLOCK, "--step", "1", "--output", str(tmp_path), "--capacity", "1"]) == 0
    assert "holds the first 1 spans" in " ".join(capsys.readouterr().out.split())


def test_help_teaches(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["trace", "--help"])
    assert stopped.value.code == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "ui.perfetto.dev" in printed
    assert "seer-env trace aircraft_v0" in printed
