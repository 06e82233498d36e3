"""The code of `docs/arrays.md`: run from top to bottom, it does what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "arrays.md"
TEXT = PAGE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def scope():
    """The names that the blocks leave behind."""
    blocks = re.findall(r"^```python\n(.*?)^```", TEXT, re.M | re.S)
    assert len(blocks) == len(re.findall(r"^```\w", TEXT, re.M)) == 4
    names: dict = {"__name__": "arrays"}
    for block in blocks:
        exec(compile(block, "arrays.md", "exec"), names)
    return names


def test_the_bytes_do_not_depend_on_the_threads(scope):
    assert len(scope["digests"]) == len(scope["refuelled"]) == 1


def test_the_boats_were_moved_and_burned_fuel(scope):
    fuel = scope["after"].entities["fuel"]
    assert (fuel < 1.0).all()
    assert np.count_nonzero(fuel <= 0.0) > 0


def test_a_boat_that_ran_dry_drives_on(scope):
    assert (scope["played"](scope["Refuelled"](scope["BOATS"])).entities["fuel"] > -0.04).all()


def test_the_copies_are_four(scope):
    assert len(scope["copies"]) == 4
