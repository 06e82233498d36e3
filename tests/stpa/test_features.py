"""The trace F and the static features: shapes, aggregation, masks."""

from __future__ import annotations

import numpy as np
import pytest

from seer_env.envs.flock_v0 import Flock
from seer_env.envs.phold import Phold
from seer_env.machine import CpuLimits
from seer_env.runtime.engine import make_engine
from seer_env.stpa.features import METRICS, aggregate, channels, static_features
from seer_env.stpa.trace import LENGTH, record


def test_mean_variance_and_range_over_workers():
    step = aggregate({"worker_idle": np.array([0.0, 1.0, 0.5, np.nan])})
    row = step[METRICS.index("worker_idle")]
    assert row == pytest.approx([0.5, np.var([0.0, 1.0, 0.5]), 1.0])


def test_what_is_not_measured_is_masked():
    step = aggregate({"events": np.array(3.0), "run_share": np.array([np.nan])})
    known = {name for name, row in zip(METRICS, step) if np.isfinite(row).all()}
    assert known == {"events"}


def test_channels_keep_a_metrics_aggregates_together():
    trace = np.arange(len(METRICS) * 2 * 3, dtype=np.float32).reshape(len(METRICS), 2, 3)
    flat = channels(trace)
    assert flat.shape == (2, 3 * len(METRICS))
    assert (flat[1, 3:6] == trace[1, 1]).all()


@pytest.fixture(scope="module")
def traced():
    model = Phold(64, population=2, dt=1.0)
    engine = make_engine(model, "seer", 2)
    engine.reset(0)
    actions, live = np.zeros((0, model.action_size)), np.zeros(0, bool)
    events = []

    def step():
        engine.step(actions, live)
        events.append(engine.stats.events)

    step()
    events.clear()
    trace = record(engine, step, seconds=1.0)
    yield trace, events
    engine.close()


def test_a_trace_has_an_entry_per_metric_step_and_aggregate(traced):
    trace, _ = traced
    assert trace.shape == (len(METRICS), LENGTH, 3)
    assert trace.dtype == np.float32


def test_the_engines_own_metrics_agree_with_its_counts(traced):
    trace, events = traced
    mean = 10.0 ** trace[METRICS.index("events"), :, 0] - 1.0
    assert mean.min() >= min(events) - 1e-2
    assert mean.max() <= max(events) + 1e-2
    by_worker = trace[METRICS.index("worker_events")]
    assert np.isfinite(by_worker).all()
    assert (trace[METRICS.index("entities"), :, 0] == np.float32(np.log10(65))).all()


def test_shares_are_shares(traced):
    trace, _ = traced
    for name in ("shared_rounds", "worker_idle"):
        mean = trace[METRICS.index(name), :, 0]
        assert (mean >= 0.0).all()
        assert (mean <= 1.0).all()


def test_a_trace_ends_in_time_but_holds_a_step():
    model = Phold(64, dt=1.0)
    engine = make_engine(model, "serial")
    engine.reset(0)
    actions, live = np.zeros((0, model.action_size)), np.zeros(0, bool)
    trace = record(engine, lambda: engine.step(actions, live), seconds=0.0)
    assert trace.shape[1] == 1
    engine.close()


def test_static_features_of_a_world_and_its_machine():
    limits = CpuLimits(affinity=8, quota=4.0, quota_source="cpu.max")
    static = static_features(Flock(100), pending=50, trace_threads=4, copies=2, limits=limits, cores=6)
    assert (static.entities, static.agents, static.queued) == (200, 200, 0.25)
    assert (static.cpus, static.cores, static.logical) == (4, 4, 8), "a quota bounds cores too"
    assert static.reads_public == 1
    assert static.vector().dtype == np.float32


def test_a_doubling_is_one_step_in_the_vector():
    small, large = (static_features(Phold(n), 0, 2, cores=2).vector() for n in (1023, 2047))
    assert large[0] - small[0] == pytest.approx(1.0)


@pytest.mark.parametrize("scheduler", ["serial", "seer"])
def test_pending_events_are_counted_where_the_engine_stands(scheduler):
    model = Phold(64, population=3, dt=1.0)
    engine = make_engine(model, scheduler, 1 if scheduler == "serial" else 2)
    engine.reset(0)
    actions, live = np.zeros((0, model.action_size)), np.zeros(0, bool)
    for _ in range(3):
        assert engine.n_pending == len(engine.capture().pending) == 3 * 64, "PHOLD keeps its population"
        engine.step(actions, live)
    engine.close()
