"""The statistics of benchmarks: order of runs, intervals of medians, times of calls."""

from __future__ import annotations

import random
import statistics

import pytest

from seer_env.bench.timing import interleaved, median_interval, seconds_per_call


def test_interleaved_runs_the_cases_in_turn_and_turns_round():
    order = []
    cases = {name: lambda name=name: order.append(name) for name in "abc"}
    interleaved(cases, 3)
    assert "".join(order) == "abccbaabc"


def test_interleaved_keeps_every_measurement_by_turn():
    numbers = iter(range(4))
    cases = {"x": lambda: next(numbers), "y": lambda: -next(numbers)}
    assert interleaved(cases, 2) == {"x": [0, 3], "y": [-1, -2]}


def test_interleaved_reports_every_turn():
    ticks = []
    interleaved({"x": lambda: 0.0, "y": lambda: 0.0}, 5, done=lambda: ticks.append(1))
    assert len(ticks) == 5


# Conover's table for the sign test: for 9 values the 2nd and 8th cover the median with 0.961.
@pytest.mark.parametrize(("n", "trim", "coverage"), [(3, 0, 0.75), (5, 0, 0.9375), (9, 1, 0.9609375)])
def test_median_interval_is_that_of_the_sign_test(n, trim, coverage):
    values = [float(v) for v in range(n)]
    assert median_interval(values) == (values[trim], values[-1 - trim], pytest.approx(coverage))


def test_one_value_makes_no_claim():
    assert median_interval([4.0]) == (4.0, 4.0, 0.0)


def test_median_interval_covers_the_median_as_often_as_it_says():
    rng = random.Random(1)
    covered, coverage = 0, 0.0
    for _ in range(2000):
        low, high, coverage = median_interval([rng.expovariate(1.0) for _ in range(20)], level=0.9)
        covered += low <= 0.6931471805599453 <= high  # ln 2 is the median of Exp(1)
    assert covered / 2000 == pytest.approx(coverage, abs=0.02)


def test_median_interval_contains_the_sample_median():
    values = [5.0, 1.0, 4.0, 2.0, 8.0, 7.0, 3.0]
    low, high, _ = median_interval(values, level=0.5)
    assert low <= statistics.median(values) <= high


def test_seconds_per_call_counts_every_call_of_every_batch():
    calls = []
    mean = seconds_per_call(lambda: calls.append(1), at_least_s=0.01, batch=7)
    assert len(calls) % 7 == 0
    assert mean * len(calls) >= 0.01
