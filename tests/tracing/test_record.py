"""A recorded step of an env: its tables agree with each other, with the statistics and with the oracle."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from test_html import Cell
from traced import AGENTS, chosen, running
from worlds import Lamps, Ring, Unruly

import seer_env
from seer_env.errors import SeerError
from seer_env.runtime.phases import ACT, EXECUTE, OBSERVE
from seer_env.tracing import StepTrace, record
from seer_env.tracing.events import EventLog
from seer_env.tracing.timeline import ROUND_ALONE, WAIT

THREADS = [1, 2, 3, 4, 8]


@pytest.fixture(scope="module", params=[True, False], ids=["shared", "alone"])
def trace(request):
    env = running(share=request.param)
    return record(env, chosen(), events=True)


@pytest.mark.parametrize("scheduler", ["seer", "ross-t", "nbse", "root-sim"])
@pytest.mark.parametrize("threads", THREADS)
def test_recording_changes_no_byte(scheduler, threads):
    plain, env = running(scheduler, threads), running(scheduler, threads)
    plain.step_arrays(chosen())
    record(env, chosen())
    assert env.digest() == plain.digest()


def test_actions_may_be_a_dict_and_the_result_is_the_steps():
    env, plain = running(), running()
    actions = dict(zip(env.agents, chosen()))
    assert repr(record(env, actions).result) == repr(plain.step(actions))


def test_without_a_dict_the_result_is_that_of_step_arrays():
    env, plain = running(), running()
    for ours, theirs in zip(record(env, chosen()).result, plain.step_arrays(chosen())):
        np.testing.assert_array_equal(ours, theirs)


def test_a_workers_spans_do_not_overlap_and_waits_fill_the_rest(trace):
    spans = np.concatenate([trace.spans, trace.waits])
    for worker in range(2):
        mine = np.sort(spans[spans["worker"] == worker], order=["begun", "ended"])
        assert mine["begun"][0] == 0
        assert (mine["begun"][1:] == mine["ended"][:-1]).all()
        assert (mine["ended"] >= mine["begun"]).all()


def test_spans_add_up_to_what_each_worker_was_busy(trace):
    for index, worker in enumerate(trace.stats.workers):
        mine = trace.spans[trace.spans["worker"] == index]
        assert (mine["ended"] - mine["begun"]).sum() * 1e-9 == pytest.approx(worker.busy_s)


def test_waits_are_the_idle_share(trace):
    waited = (trace.waits["ended"] - trace.waits["begun"]).sum() * 1e-9
    assert waited / (2 * trace.stats.running_s) == pytest.approx(trace.stats.idle_share, abs=0.02)
    assert (trace.waits["kind"] == WAIT).all()


def test_rounds_and_actions_hold_all_events(trace):
    acted = trace.spans["events"][trace.spans["kind"] == ACT].sum()
    assert acted == AGENTS
    assert trace.rounds["events"].sum() + acted == trace.stats.events == len(trace.events)
    assert len(trace.rounds) == trace.stats.rounds
    assert trace.rounds["shared"].sum() == trace.stats.shared_rounds


def test_shared_rounds_are_claims_and_the_others_are_done_alone():
    shared, alone = (record(env, chosen()) for env in (running(share=True), running(share=False)))
    assert (shared.claims["kind"] == EXECUTE).any()
    assert not (shared.spans["kind"] == ROUND_ALONE).any()
    assert shared.claims["items"][shared.claims["kind"] == OBSERVE].sum() == AGENTS
    alone_rounds = alone.spans[alone.spans["kind"] == ROUND_ALONE]
    assert alone_rounds["events"].sum() == alone.rounds["events"][~alone.rounds["shared"]].sum()


def test_claims_of_a_phase_are_its_items_once():
    env = running(threads=4)
    claims = record(env, chosen()).claims
    for phase in np.unique(claims["phase"]):
        mine = np.sort(claims[claims["phase"] == phase], order="first")
        assert mine["first"][0] == 0
        assert (mine["first"][1:] == (mine["first"] + mine["items"])[:-1]).all()
    assert claims["lost"].min() >= 0


def test_events_are_in_key_order_and_begin_with_the_actions(trace):
    events = trace.events
    assert (events["target"][:AGENTS] == np.arange(AGENTS)).all()
    keys = list(zip(events["time"], events["micro"], events["emitter"], events["counter"]))
    assert keys[AGENTS:] == sorted(keys[AGENTS:])


def test_events_that_python_executes_to_other_bytes_are_refused(monkeypatch):
    monkeypatch.setattr(EventLog, "digest", lambda self: "other bytes")
    env = running()
    with pytest.raises(SeerError, match="no exact table of events"):
        record(env, chosen(), events=True)


def test_full_buffers_are_said():
    env = running(threads=1)
    trace = record(env, chosen(), capacity=2)
    assert trace.lost_spans > 0
    assert "holds the first 2 spans" in trace.missing
    assert trace.missing in dict(trace.facts())["missing"]
    assert len(trace.spans) <= 2
    assert trace.waits["ended"].max(initial=0) <= trace.spans["ended"].max()


def test_a_breach_passes_through_and_recording_is_over():
    env = seer_env.SeerParallelEnv(Unruly(), scheduler="serial")
    env.reset(seed=0)
    with pytest.raises(seer_env.ContractBreach):
        record(env, {"agent_0": 1})
    assert not env._engine._memory.workers["spans"].any()
    assert record(env, {"agent_0": 0}).step == 1


@pytest.mark.parametrize("make", [lambda: Ring(6), lambda: Lamps()])
def test_any_world_can_be_recorded(make):
    env = seer_env.SeerParallelEnv(make(), scheduler="seer", threads=2)
    env.reset(seed=0)
    trace = record(env, {agent: env.action_space(agent).sample() for agent in env.agents})
    assert isinstance(trace, StepTrace)
    assert trace.missing == ""


def test_what_cannot_be_recorded_is_refused_by_name():
    env = running("python", 1, share=False)
    with pytest.raises(ValueError, match="scheduler='seer'"):
        record(env, chosen())
    copies = seer_env.make(Ring(20), copies=2)
    with pytest.raises(ValueError, match="without copies"):
        record(copies, np.zeros((2, 20, 2)))
    env = running()
    with pytest.raises(ValueError, match="capacity must be at least 1, got 0"):
        record(env, chosen(), capacity=0)
    new = seer_env.make(Ring(20), scheduler="serial")
    with pytest.raises(ResetNeeded):
        record(new, np.zeros((20, 2)))
    ended = running(max_cycles=1)
    ended.step_arrays(chosen())
    with pytest.raises(ValueError, match="call reset"):
        record(ended, chosen())


def test_in_a_notebook_there_are_facts_and_the_picture(trace):
    cell = Cell(trace._repr_html_())
    assert cell.texts["caption"] == ["ring"]
    assert cell.rows["scheduler"] == "seer"
    assert cell.rows["events"] == f"{trace.stats.events:,}"
    assert len(cell.pictures) == 1
    assert f"{trace.stats.events:,} events" in repr(trace)
