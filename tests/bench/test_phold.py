"""`seer-env bench phold`: what it runs and promises."""

from __future__ import annotations

from typing import get_args

import numba
import pytest

from seer_env.bench import phold
from seer_env.bench.experiment import Contender
from seer_env.bench.phold import ROWS, PholdExperiment
from seer_env.bench.results import Measurement, Results
from seer_env.commands.output import CommandError


@pytest.fixture
def small(monkeypatch):
    """One row that takes no time."""
    monkeypatch.setattr(phold, "ROWS", {"A": phold.Row(20, 2, 0, 0.1, 0.9, 0.5, 5.0)})


def windows(count: int, **options) -> dict[Contender, list[dict]]:
    """What each contender measures in so many windows of row A."""
    contenders = PholdExperiment(rows=("A",), **options).make("A", None)
    return {contender: [measure() for _ in range(count)] for contender, measure in contenders.items()}


def ns_per_event(heap: float, serial: float, seer: float) -> Results:
    """Results of row B."""
    times = {phold.HEAP: heap, phold.SERIAL: serial, phold.SEER: seer}
    return Results(Measurement("row B", *contender, 0, "ns/event", t) for contender, t in times.items())


def test_rows_have_the_mean_delay_they_state():
    for name, row in ROWS.items():
        mean = 1.0 if name.isalpha() else row.lookahead + 1.0
        assert row.lookahead + row.mean == pytest.approx(mean), name


def test_a_window_of_a_full_row_has_enough_work_to_time():
    for name, row in ROWS.items():
        events = row.n * row.population * row.dt / (row.lookahead + row.mean)
        assert events * (80 + 2.4 * row.work) > 5e6, name  # nanoseconds


def test_all_contenders_execute_the_same_events_to_the_same_state(small):
    schedulers = get_args(phold.Name)
    measured = windows(2, schedulers=schedulers, threads=(1, 2)).values()
    assert len({tuple((w["events"], w["digest"]) for w in several) for several in measured}) == 1


def test_events_are_those_of_one_window(small):
    # 40 events, one per unit of time each: 5 units per window
    (measured,) = windows(20, schedulers=("python",)).values()
    assert sum(w["events"] for w in measured) == pytest.approx(20 * 200, rel=0.1)


def test_quick_shortens_the_windows(small):
    (long,), (short,) = (
        windows(1, schedulers=("serial",), quick=q)[Contender("serial")] for q in (False, True)
    )
    assert short["events"] < long["events"] / 5


def test_parallel_schedulers_run_at_every_thread_count_and_the_others_at_one(small):
    most = numba.config.NUMBA_NUM_THREADS
    contenders = windows(0, schedulers=("inlined-heap", "heap", "seer", "nbse"), threads=(1, most))
    assert list(contenders) == [("inlined-heap", 1), ("heap", 1), ("seer", 1), ("seer", most), ("nbse", 1),
                                ("nbse", most)]  # fmt: skip


def test_the_better_of_ours_must_not_be_slower_than_the_heap():
    claims = PholdExperiment().claims(ns_per_event(heap=80.0, serial=100.0, seer=50.0))
    assert [(c.measured, c.limit, c.holds) for c in claims] == [(1.6, 1.0, True), (1.6, 1.6, True)]


def test_two_threads_must_be_worth_what_the_row_asks():
    claims = PholdExperiment().claims(ns_per_event(heap=80.0, serial=40.0, seer=80.0))
    assert [(c.measured, c.holds) for c in claims] == [(2.0, True), (1.0, False)]


@pytest.mark.parametrize(
    ("options", "said"), [({"rows": ("Z",)}, "--rows: no row 'Z'"), ({"threads": (0,)}, "--threads 0")]
)
def test_impossible_options_are_refused_by_name(options, said):
    with pytest.raises(CommandError, match=said):
        PholdExperiment(**options).groups()
