"""Every command line that the documentation shows is one that `seer-env` understands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import tyro
from references import SOURCES

from seer_env import cli
from seer_env.bench.names import BENCHES
from seer_env.commands.train import Source
from seer_env.training.config import TrainConfig, load_config, parse_arguments

ROOT = Path(__file__).parents[2]
FILES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *(p for f in SOURCES for p in (ROOT / f).rglob("*.md"))]
#: Words that stand for the reader's own.
PLACEHOLDERS = {"COMMAND", "NAME", "ENV", "FILE", "N", "..."}


def shown():
    """Command lines in blocks of code and between backticks, without those that only name a command."""
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        fenced = re.findall(r"^```(.*)\n((?:.*\n)*?)^```", text, re.M)
        blocks = "\n".join(block for language, block in fenced if not language).replace("\\\n", " ")
        spans = re.findall(r"`(seer-env [^`\n]+)`", text)
        for line in [*blocks.splitlines(), *spans]:
            for command in line.split("&&"):
                if command.strip().startswith("seer-env "):
                    words = shlex.split(command, comments=True)[1:]
                    if not PLACEHOLDERS & set(words):
                        yield shlex.join(words)


def is_complete(line):
    """Whether a line is meant to be typed: `seer-env stpa train` and `seer-env train --config` are names."""
    words = line.split()
    is_name = len(words) <= 1 + (words[0] == "stpa") or words[-1] in ("--config", "--resume")
    return line == "doctor" or not (is_name or "--help" in words)


LINES = sorted(filter(is_complete, set(shown())))


@pytest.fixture(autouse=True)
def nothing_runs(monkeypatch):
    """Commands are understood, and then do nothing."""
    for kind in cli.COMMANDS.values():
        monkeypatch.setattr(kind, "main", lambda self: 0)
    monkeypatch.chdir(ROOT)


def understood(line):
    command, *words = shlex.split(line)
    if command == "bench":
        return words[0] in BENCHES  # its module, which compiles kernels, has the options
    if command == "train":
        source, rest = tyro.cli(Source, args=words, add_help=False, return_unknown_args=True)
        base = load_config(source.config) if source.config else TrainConfig()
        return isinstance(parse_arguments(rest, base, "seer-env train"), TrainConfig)
    return cli.main([command, *words]) == 0


def test_there_are_many():
    assert len(LINES) > 20
    assert "evaluate runs/pcs --episodes 10" in LINES


@pytest.mark.parametrize("line", LINES)
def test_a_command_that_is_shown_is_understood(line):
    assert understood(line)


def test_a_misspelt_option_is_not(capsys):
    with pytest.raises(SystemExit):
        understood("run aircraft_v0 --agent 400")


def test_python_stands_in_pages_whose_tests_run_it():
    pages = {path.relative_to(ROOT).as_posix() for path in FILES if "```python" in path.read_text("utf-8")}
    assert pages == {"README.md", "docs/tutorial.md", "docs/arrays.md"}
