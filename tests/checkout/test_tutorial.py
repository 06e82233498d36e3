"""The tutorial's code: what it quotes stands in the world's file, and what it runs does what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from seer_env.envs import epidemic_v0

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"
TEXT = TUTORIAL.read_text(encoding="utf-8")


def blocks(info):
    """Code blocks that begin with ```info."""
    return re.findall(rf"^```{re.escape(info)}\n(.*?)^```", TEXT, re.M | re.S)


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
    known = blocks("python") + blocks("python epidemic_v0.py")
    assert len(re.findall(r"^```\w", TEXT, re.M)) == len(known)


def test_who_listens_to_the_neighbours_is_ill_less_often(scope):
    assert scope["told"] < 0.5 * scope["careless"]


def test_all_schedulers_agree(scope):
    assert len(scope["digests"]) == 1


def test_the_breach_is_explained(scope):
    assert "lookahead" in scope["message"]
    assert "HEAR" in scope["message"]


def test_every_linked_file_is_there():
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (TUTORIAL.parent / target).exists(), target
