"""`seer-env bench scaling`: growth, exponents and efficiency from known times, and equal work."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from seer_env.bench import scaling
from seer_env.bench.results import Measurement, Results
from seer_env.bench.scaling import FLOOR, SEER, SERIAL, ScalingExperiment, efficient_at, entities, threads_at


@pytest.fixture
def stack():
    with ExitStack() as stack:
        yield stack


def times(group: str, **values: float) -> list[Measurement]:
    """`seer_2=50.0` is seer's ns per event on two threads."""
    named = [(name.rpartition("_")[0] or name, name) for name in values]
    return [
        Measurement(group, name, int(key[-1]) if key[-1].isdigit() else 1, 0, "ns/event", values[key])
        for name, key in named
    ]


def test_the_exponent_of_constant_cost_is_one_and_of_doubling_per_tenfold_more():
    flat = Results(m for n in (100, 1000, 10000) for m in times(entities(n), serial=40.0, seer_2=50.0))
    assert scaling.exponent(flat, (100, 1000, 10000)) == pytest.approx(1.0)
    growing = Results([*times(entities(100), serial=10.0), *times(entities(1000), serial=20.0)])
    assert scaling.exponent(growing, (100, 1000)) == pytest.approx(1.30103)


def test_growth_is_that_of_the_better_of_one_thread_and_two():
    results = Results(
        [
            *times(entities(1000), serial=40.0, seer_2=50.0),
            *times(entities(10**6), serial=300.0, seer_2=120.0),
        ]
    )
    claim = ScalingExperiment().claims(results)[0]
    assert (claim.measured, claim.limit, claim.holds) == (3.0, 4.0, True)


@pytest.mark.parametrize(("us", "limit"), [(2, 0.90), (10, 0.95)])
def test_efficiency_is_the_floor_over_threads_times_wall(us, limit):
    group = efficient_at(1000, us)
    results = Results(times(group, floor=1840.0, serial=1900.0, seer_2=1000.0))
    (claim,) = ScalingExperiment().claims(results)
    assert (claim.measured, claim.limit) == (pytest.approx(0.92), limit)
    assert scaling.efficiency(results, group, SERIAL) == pytest.approx(1840 / 1900)


def test_a_scheduler_is_compared_with_its_own_best():
    group = threads_at(5000, 1)
    results = Results(times(group, seer_1=100.0, seer_2=50.0, seer_8=60.0, nbse_8=10.0))
    (claim,) = ScalingExperiment().claims(results)
    assert (claim.measured, claim.limit, claim.holds) == (pytest.approx(1.2), 1.3, True)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(scaling, "EVENTS", 200)
    return ScalingExperiment()


def test_the_floor_does_the_events_of_the_schedulers(small, stack):
    measured = {c: measure() for c, measure in small.beside_the_floor(50, 0.1, 10, stack).items()}
    assert {m["events"] for m in measured.values()} == {measured[FLOOR]["events"]}
    assert measured[SERIAL]["digest"] == measured[SEER]["digest"]


def test_threads_are_swept_in_a_process_with_a_pool_large_enough(small, stack, monkeypatch):
    monkeypatch.setattr(scaling, "PARALLEL", ("seer", "nbse"))
    monkeypatch.setattr(scaling, "THREADS", (1, 8))
    contenders = small.over_threads(50, 0, 0, stack)
    assert list(contenders) == [("seer", 1), ("seer", 8), ("nbse", 1), ("nbse", 8)]
    assert len({measure()["digest"] for measure in contenders.values()}) == 1


def test_more_memory_is_walked_for_more_entities(small, stack):
    walk = small.over_entities(50, stack)[scaling.WALK]
    assert walk._next.nbytes == 50 * 3 * 64
    assert walk()["ns/access"] > 0.0


def test_the_walk_visits_every_line_before_it_returns():
    walk = scaling.Walk(10, lines=2)
    seen, at = [], 0
    for _ in range(20):
        seen.append(at)
        at = int(walk._next[at, 0])
    assert sorted(seen) == list(range(20))
    assert at == 0
