"""Medians, ratios and disagreements of measurements."""

from __future__ import annotations

import math

import pytest
from made_up import prepared

from seer_env.bench.experiment import Claim, Contender
from seer_env.bench.results import Measurement, Median, Results

A, B = Contender("a"), Contender("b", 2)


def results(quantity: str = "ms", **values: list[float]) -> Results:
    """Contenders `a` on one thread and `b` on two with these values in turns 0, 1, ..."""
    threads = {"a": 1, "b": 2}
    return Results(
        Measurement("g", name, threads[name], turn, quantity, value)
        for name, several in values.items()
        for turn, value in enumerate(several)
    )


def test_the_median_is_of_the_turns():
    assert results(a=[3.0, 100.0, 1.0]).median("g", A, "ms") == 3.0


def test_what_was_not_measured_is_nan():
    assert math.isnan(results(a=[1.0]).median("g", B, "ms"))
    assert math.isnan(results(a=[1.0]).ratio("g", A, B, "ms"))


def test_a_ratio_compares_values_of_the_same_turn():
    # medians are equal, yet in two turns of three b took half of a
    assert results(a=[2.0, 20.0, 6.0], b=[1.0, 10.0, 60.0]).ratio("g", A, B, "ms") == 2.0


def test_the_best_has_the_least_median():
    assert results(a=[2.0], b=[1.0]).best("g", [A, B], "ms") == B


def test_five_values_cover_the_median_with_fifteen_sixteenths():
    median = Median.of([5.0, 1.0, 3.0, 2.0, 4.0])
    assert median == (3.0, 1.0, 5.0, pytest.approx(15 / 16), 5)


def test_turns_are_counted_by_group():
    assert results(a=[1.0, 2.0], b=[1.0, 2.0]).turns("g") == 2
    assert results(a=[1.0]).turns("another") == 0


def test_what_was_prepared_is_no_turn_and_no_contender():
    found = Results(prepared("g", complexity=40.0))
    assert found.prepared("g") == {"complexity": 40.0}
    assert (found.turns("g"), found.groups(), found.contenders("g")) == (0, [], [])
    assert found.prepared("another") == {}


def test_digests_of_a_turn_must_agree():
    assert results("digest", a=[5.0, 6.0], b=[5.0, 6.0]).disagreements() == []
    assert results("digest", a=[5.0, 6.0], b=[5.0, 7.0]).disagreements() == ["g"]


@pytest.mark.parametrize(
    ("measured", "relation", "limit", "holds"),
    [
        (1.0, "at least", 1.0, True),
        (0.9, "at least", 1.0, False),
        (1.0, "at most", 1.0, True),
        (1.1, "at most", 1.0, False),
        (math.nan, "at least", 0.0, False),
        (math.nan, "at most", 9.0, False),
    ],
)
def test_a_claim_holds_if_the_measurement_keeps_it(measured, relation, limit, holds):
    assert Claim("", measured, relation, limit).holds is holds
