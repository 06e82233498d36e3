"""Recording a step: what is written down is what happened, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest
from runtime_worlds import Ripples, nobody, share_everything

from seer_env.envs.phold import Phold
from seer_env.runtime.engine import make_engine
from seer_env.runtime.recording import TRANSITION, Recording
from seer_env.tracing.events import EventLog

WORLDS = {
    "phold": lambda: Phold(n=200, population=2, lookahead=0.25, dt=2.0),
    "phold, no lookahead": lambda: Phold(n=100, lookahead=0.0, dt=1.0),
    "ties": lambda: Ripples(n=300),
}
SHARING = ["seer", "ross-t", "nbse", "root-sim"]
THREADS = [1, 2, 3, 4, 8]


def fresh(world, scheduler, threads=1, share=True):
    engine = make_engine(WORLDS[world](), scheduler, threads)
    engine.reset(4)
    return share_everything(engine) if share else engine


def recorded(engine, room=50_000):
    with Recording(engine._memory, room).on() as recording:
        engine.step(*nobody(engine.model))
    return recording


@pytest.fixture(scope="module")
def oracle():
    """By world the events of the first step, and the digest after it."""
    logs = {}
    for world, make in WORLDS.items():
        log = EventLog(make(), None)
        log.reset(4)
        log.step(*nobody(log.model))
        logs[world] = log.table(), log.digest()
    return logs


def safe_windows(events, lookahead, end):
    """`(LBTS, events)` of each round by definition: all events below LBTS + lookahead, or one micro-step."""
    windows, at = [], 0
    while at < len(events):
        lbts = events["time"][at]
        limit = min(lbts + lookahead, end)
        if limit > lbts:
            inside = int(np.searchsorted(events["time"], limit))
        else:
            same = (events["time"] == lbts) & (events["micro"] == events["micro"][at])
            inside = at + int(same.sum())
        windows.append((lbts, inside - at))
        at = inside
    return windows


@pytest.mark.parametrize("share", [True, False], ids=["shared", "as it comes"])
@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("scheduler", SHARING)
@pytest.mark.parametrize("world", WORLDS)
def test_a_recorded_step_has_the_oracles_bytes(oracle, world, scheduler, threads, share):
    engine = fresh(world, scheduler, threads, share)
    recorded(engine)
    assert engine.digest() == oracle[world][1]


@pytest.mark.parametrize("share", [True, False], ids=["shared", "as it comes"])
@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("scheduler", ["seer", "ross-t", "nbse"])
@pytest.mark.parametrize("world", WORLDS)
def test_rounds_are_the_safe_windows_of_the_oracles_events(oracle, world, scheduler, threads, share):
    engine = fresh(world, scheduler, threads, share)
    rounds = recorded(engine).rounds
    windows = safe_windows(oracle[world][0], engine.model.lookahead, engine.model.dt)
    executed = np.diff(rounds["events"], append=engine.stats.events)
    assert list(zip(rounds["lbts"].tolist(), executed.tolist())) == windows
    assert (rounds["limit"] > rounds["lbts"]).all()
    assert (np.diff(rounds["begun"]) >= 0).all()
    assert len(rounds) == engine.stats.rounds


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("scheduler", SHARING)
def test_spans_add_up_to_the_statistics(scheduler, threads):
    engine = fresh("phold", scheduler, threads)
    spans = recorded(engine).spans
    assert len(spans) == len(engine.stats.workers)
    for mine, worker in zip(spans, engine.stats.workers):
        claims, transitions = mine[mine["phase"] > 0], mine[mine["kind"] == TRANSITION]
        assert len(claims) == worker.claims
        lasted = mine["ended"] - mine["begun"]
        assert lasted.min(initial=0) >= 0
        assert lasted[mine["kind"] == TRANSITION].sum() * 1e-9 == pytest.approx(worker.alone_s)
        assert (lasted[mine["phase"] > 0].sum() + (transitions["ended"] - transitions["begun"]).sum()) * (
            1e-9
        ) == pytest.approx(worker.busy_s)
        assert worker.lost_claims >= mine["lost_claims"].max(initial=0)


def test_claims_carry_the_events_that_they_executed():
    engine = fresh("phold", "seer", 3)
    spans = np.concatenate(recorded(engine).spans)
    assert spans["events"][spans["phase"] > 0].sum() == engine.stats.events


def test_what_does_not_fit_is_counted():
    engine = fresh("phold", "seer", 2)
    recording = recorded(engine, room=3)
    kept, lost = recording.spans, recording.lost_spans
    made = engine._memory.workers["n_spans"].tolist()
    assert [len(mine) for mine in kept] == [min(3, n) for n in made]
    assert lost == [max(0, n - 3) for n in made]
    assert sum(lost) > 0
    assert len(recording.rounds) == 3
    assert recording.lost_rounds == engine.stats.rounds - 3


def test_afterwards_nothing_is_recorded():
    engine = fresh("phold", "seer", 2)
    recording = recorded(engine)
    before = recording._spans.copy(), recording._rounds.copy()
    engine.step(*nobody(engine.model))
    assert not engine._memory.workers["spans"].any()
    assert engine._memory.workers["n_spans"].sum() == engine._memory.control["n_rounds"][0] == 0
    assert (recording._spans == before[0]).all()
    assert (recording._rounds == before[1]).all()


def test_a_step_that_raises_ends_the_recording():
    engine = fresh("phold", "seer", 2)

    def interrupted():
        with Recording(engine._memory, 9).on():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not engine._memory.workers["spans"].any()
    assert engine._memory.control["round_records"][0] == 0
