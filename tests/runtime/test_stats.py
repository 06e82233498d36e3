"""What a step says about itself: counts, times, and each worker's part."""

from __future__ import annotations

import math

import numpy as np
import pytest
from runtime_worlds import nobody, share_everything

from seer_env.envs.phold import Phold
from seer_env.runtime.engine import make_engine
from seer_env.runtime.schedulers import compiled
from seer_env.runtime.schedulers.copies import make_copies_engine
from seer_env.runtime.stats import STEP_COUNTS, WORKER_COUNTS, StepStats, WorkerStats, step_stats

COMPILED = [
    ("serial", 1),
    ("heap", 1),
    *((scheduler, threads) for scheduler in ("seer", "ross-t", "nbse", "root-sim") for threads in (1, 2, 4)),
]


def stepped(scheduler, threads, share=None):
    """An engine after a step of PHOLD; `share` tells whether all phases are published, or none."""
    engine = make_engine(Phold(n=200, population=2, lookahead=0.25, dt=2.0), scheduler, threads)
    if share:
        share_everything(engine)
    elif share is not None:
        engine._memory.control["share_ns"] = math.inf
    engine.reset(3)
    engine.step(*nobody(engine.model))
    return engine


@pytest.fixture(scope="module")
def oracle():
    return stepped("python", 1).stats


@pytest.mark.parametrize("share", [True, False], ids=["shared", "direct"])
@pytest.mark.parametrize(("scheduler", "threads"), COMPILED)
def test_the_workers_events_are_the_oracles(oracle, scheduler, threads, share):
    stats = stepped(scheduler, threads, share).stats
    assert len(stats.workers) == threads
    assert sum(worker.events for worker in stats.workers) == stats.events == oracle.events


@pytest.mark.parametrize("share", [True, False], ids=["shared", "direct"])
@pytest.mark.parametrize(("scheduler", "threads"), COMPILED)
def test_a_workers_times_are_parts_of_what_it_was_busy(scheduler, threads, share):
    stats = stepped(scheduler, threads, share).stats
    for worker in stats.workers:
        assert 0.0 <= worker.alone_s <= worker.busy_s
        assert 0.0 <= worker.outputs_s <= worker.busy_s
    assert sum(worker.busy_s for worker in stats.workers) > 0.0
    assert 0.0 <= stats.idle_share < 1.0
    assert 0.0 < stats.running_s <= stats.window_s + stats.outputs_s
    assert stats.shared_rounds <= stats.rounds


@pytest.mark.parametrize("scheduler", ["seer", "ross-t", "nbse"])
def test_what_one_worker_does_for_all_counts_as_its_work(scheduler):
    stats = stepped(scheduler, 2, share=False).stats
    first, second = stats.workers
    assert stats.shared_rounds == 0
    assert first.busy_s >= 0.9 * stats.running_s
    assert first.alone_s >= 0.9 * first.busy_s
    assert second == WorkerStats()


def test_claims_are_counted_where_phases_are_published():
    direct, shared = stepped("seer", 2, share=False).stats, stepped("seer", 2, share=True).stats
    assert sum(worker.claims for worker in direct.workers) == 1  # RESUME, with which a step begins
    assert (
        sum(worker.claims for worker in shared.workers) >= 1 + 2 * shared.shared_rounds
    )  # and settling each


def test_under_python_one_worker_is_always_busy(oracle):
    (worker,) = oracle.workers
    assert oracle.rounds == oracle.events == worker.events > 0
    assert (oracle.idle_share, oracle.events_per_round, oracle.lost_claims) == (0.0, 1.0, 0)
    assert worker.busy_s == oracle.running_s == oracle.window_s + oracle.outputs_s


def test_only_time_warp_takes_events_back():
    assert all(w.undone == 0 for w in stepped("seer", 4, share=True).stats.workers)
    engine = make_engine(Phold(n=300, population=2, lookahead=0.0, dt=4.0), "root-sim", 3)
    engine._memory.control["share_ns"] = engine._memory.control["clearly_ns"] = math.inf
    warp = engine._memory.warp  # far ahead in turn: what the first has done, the others make wrong
    warp["fixed"], warp["quota"], warp["ahead"], warp["spread"] = 1, 100, 10_000, 4
    engine.reset(5)
    engine.step(*nobody(engine.model))
    assert sum(w.undone for w in engine.stats.workers) == engine._memory.partitions["undone"].sum() > 0


def test_a_step_on_fewer_threads_has_fewer_workers(monkeypatch):
    monkeypatch.setattr(compiled, "pool_available", lambda: False)
    assert len(stepped("seer", 4, share=True).stats.workers) == 1


def test_before_the_first_step_there_is_nothing():
    stats = make_engine(Phold(n=4), "seer", 2).stats
    assert stats == StepStats()
    assert math.isnan(stats.idle_share)
    assert stats.events_per_round == 0.0


def test_copies_have_sums_and_no_workers():
    engine = make_copies_engine(Phold(n=64, lookahead=0.5, dt=1.0), 3, "seer", 2)
    assert engine.stats == StepStats()
    assert engine.stats.workers == ()


def test_words_become_figures_in_seconds():
    counts = dict.fromkeys(STEP_COUNTS, 0) | {
        "rounds": 4, "shared_rounds": 3, "events": 50, "threads": 2,
        "begun_at": 1_000, "drained_at": 3_000, "ended_at": 5_000,
    }  # fmt: skip
    rows = [
        dict.fromkeys(WORKER_COUNTS, 0)
        | {"events": 20, "lost_claims": 5, "busy": 3_000, "busy_outputs": 1_000},
        dict.fromkeys(WORKER_COUNTS, 0)
        | {"events": 30, "undone": 7, "claims": 9, "busy": 1_000, "alone": 500},
        dict.fromkeys(WORKER_COUNTS, 99),  # of a worker that did not take part
    ]
    words = np.array(list(counts.values())), np.array([list(row.values()) for row in rows])
    stats = step_stats(*words, elapsed_s=1e-5)
    assert (stats.events, stats.rounds, stats.shared_rounds) == (50, 4, 3)
    assert (stats.events_per_round, stats.lost_claims) == (12.5, 5)
    assert (stats.window_s, stats.outputs_s) == pytest.approx((8e-6, 2e-6))
    assert stats.running_s == pytest.approx(4e-6)
    assert stats.idle_share == pytest.approx(0.5)  # 4 of 8 microseconds
    first, second = stats.workers
    assert first == pytest.approx(WorkerStats(20, 0, 0, 5, 3e-6, 1e-6, 0.0))
    assert second == pytest.approx(WorkerStats(30, 7, 9, 0, 1e-6, 0.0, 5e-7))


def test_the_text_has_the_figures():
    text = repr(StepStats(events=1234, rounds=10, shared_rounds=4, workers=(WorkerStats(claims=8),)))
    assert "events: 1,234" in text
    assert "rounds: 10, 4 of them shared" in text
    assert "events per round: 123.4" in text
    assert "claims lost: 0 beside 8 made" in text
