"""What a benchmark refuses before it measures."""

from __future__ import annotations

import math

import numba
import pytest

from seer_env.bench.options import check_measurement
from seer_env.commands.output import CommandError

GOOD = {"repeats": 1, "seconds": 0.1, "threads": (1, numba.config.NUMBA_NUM_THREADS), "json": None}


def test_what_can_be_measured_is_accepted():
    check_measurement(**GOOD)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("repeats", 0, "--repeats 0"),
        ("seconds", 0.0, "--seconds 0.0: must be positive"),
        ("seconds", math.nan, "--seconds nan"),
        ("seconds", math.inf, "--seconds inf"),
        ("threads", (1, 0), "--threads 0: from 1 to"),
        ("threads", (10**6,), "--threads 1000000: from 1 to .* NUMBA_NUM_THREADS"),
    ],
)
def test_what_cannot_is_refused_by_its_option(option, value, message):
    with pytest.raises(CommandError, match=message):
        check_measurement(**{**GOOD, option: value})


def test_a_file_that_could_not_be_written_is_refused(tmp_path):
    with pytest.raises(CommandError, match="there is no folder"):
        check_measurement(**{**GOOD, "json": tmp_path / "missing" / "rows.json"})
