"""What a benchmark refuses before it measures."""

from __future__ import annotations

import math

import numba
import pytest

from seer_env.bench.options import check_seconds, check_threads
from seer_env.commands.output import CommandError


def test_what_can_be_measured_is_accepted():
    check_seconds(0.1)
    check_threads((1, numba.config.NUMBA_NUM_THREADS))


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.nan, math.inf])
def test_a_measurement_without_a_length_is_refused(seconds):
    with pytest.raises(CommandError, match=f"--seconds {seconds}: must be positive"):
        check_seconds(seconds)


@pytest.mark.parametrize("count", [0, 10**6])
def test_more_threads_than_there_are_is_refused(count):
    with pytest.raises(CommandError, match=f"--threads {count}: from 1 to .* NUMBA_NUM_THREADS"):
        check_threads((1, count))
