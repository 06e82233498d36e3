"""What a second core is worth."""

from __future__ import annotations

import numba
import pytest

from seer_env.bench.cores import ITERATIONS, arithmetic, arithmetic_on, worth_of_second_core


def test_two_threads_do_twice_the_arithmetic():
    one = int(arithmetic(ITERATIONS // 100))
    assert int(arithmetic_on(2, ITERATIONS // 100)) == (2 * one) % (1 << 64)


def test_it_is_worth_no_more_than_itself():
    """Clocks and turbo blur the figure; a half more than twice the speed would be a wrong sum."""
    assert 0.0 < worth_of_second_core(3) < 2.5


def test_the_callers_thread_count_is_put_back():
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        worth_of_second_core(1)
        assert numba.get_num_threads() == 1
    finally:
        numba.set_num_threads(before)


@pytest.mark.parametrize("rounds", [1, 4])
def test_a_median_is_taken_over_any_number_of_rounds(rounds, monkeypatch):
    found = iter([1.0, 2.0, 2.0, 9.0])
    monkeypatch.setattr("seer_env.bench.cores._once", lambda: next(found))
    assert worth_of_second_core(rounds) == (1.0 if rounds == 1 else 2.0)
