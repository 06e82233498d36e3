"""What every scheduler shares: initial events, reset, digests, outputs, refusals."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest
from runtime_worlds import SCHEDULERS, Faulty, FaultyKind, orders
from worlds import Lamps, Ring

from seer_env.errors import ModelError, SeerError
from seer_env.runtime.engine import InitialEvents, initial_boundary, make_engine
from seer_env.runtime.layout import pack_seq

LIVE = np.ones(16, bool)


@pytest.fixture(params=SCHEDULERS)
def engine(request):
    engine = make_engine(Faulty(16), *SCHEDULERS[request.param])
    engine.reset(3)
    return engine


# -- initial events --------------------------------------------------------------------------------------


def scheduled(*calls):
    events = InitialEvents(Faulty(16))
    for call in calls:
        events(*call)
    return events.sorted()


def test_arguments_broadcast():
    pending, _ = scheduled((np.arange(3), 0.5, FaultyKind.NOTE, 1.5, np.array([7.0, 8.0, 9.0])))
    np.testing.assert_array_equal(pending["target"], [0, 1, 2])
    np.testing.assert_array_equal(pending["time"], 0.5)
    np.testing.assert_array_equal(pending["kind"], FaultyKind.NOTE)
    np.testing.assert_array_equal(pending["payload"], [[1.5, 7, 0, 0], [1.5, 8, 0, 0], [1.5, 9, 0, 0]])


def test_events_are_in_key_order_and_each_is_its_targets_own_emission():
    pending, emitted = scheduled((5, 2.0, 1), ([5, 3], 1.0, 1), (3, 1.0, 2), (5, 1.0, 3))
    assert pending["time"].tolist() == [1.0, 1.0, 1.0, 1.0, 2.0]
    assert pending["target"].tolist() == [3, 3, 5, 5, 5]
    assert pending["seq"].tolist() == [
        pack_seq(0, 3, 0), pack_seq(0, 3, 1), pack_seq(0, 5, 1), pack_seq(0, 5, 2), pack_seq(0, 5, 0),
    ]  # fmt: skip
    assert emitted.tolist() == [0, 0, 0, 2, 0, 3, *[0] * 10]


def test_nothing_scheduled_is_no_event():
    pending, emitted = scheduled()
    assert len(pending) == 0
    assert not emitted.any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ((0, -0.25, 1), "event 0 has time -0.25"),
        ((0, np.nan, 1), "event 0 has time nan"),
        ((0, np.inf, 1), "event 0 has time inf"),
        (([1, 2, 16], 0.0, 1), "event 2 has target 16"),
        (([1, -1], 0.0, 1), "event 1 has target -1"),
        ((0, 0.0, [1, 2, 4]), "event 2 has kind 4"),
        ((0, 0.0, -1), "event 0 has kind -1"),
        ((0, 0.0, 1, *range(5)), "5 payload words"),
    ],
)
def test_an_impossible_initial_event_is_named(call, message):
    with pytest.raises(ModelError, match=message):
        scheduled(call)


def test_a_failed_reset_leaves_the_engine_where_it_was(engine):
    engine.step(orders(engine.model), LIVE)
    digest = engine.digest()
    engine.model.reset = lambda state, schedule, rng: schedule(0, -1.0, 1)
    with pytest.raises(ModelError):
        engine.reset(4)
    assert engine.digest() == digest


# -- reset -----------------------------------------------------------------------------------------------


def test_reset_depends_on_the_seed_alone(engine):
    first = engine.digest()
    engine.step(orders(engine.model), LIVE)
    assert engine.digest() != first
    engine.reset(3)
    assert engine.digest() == first
    engine.reset(4)
    assert engine.digest() != first


def test_reset_starts_at_the_initial_boundary(engine):
    boundary = initial_boundary(engine.model, 3)
    assert engine.capture().first_difference(boundary) is None
    assert (engine.steps, engine.clock) == (0, 0.0)


def test_reset_shows_observations_and_no_reward(engine):
    outputs = engine.outputs
    np.testing.assert_array_equal(outputs.observations[:, 0], engine.state["x"].astype(np.float32))
    assert not outputs.rewards.any()
    assert not outputs.terminated.any()


def test_the_clock_does_not_accumulate_rounding():
    engine = make_engine(Lamps(), "serial")
    engine.model.dt = 0.1
    engine.reset(0)
    for _ in range(10):
        engine.step(np.zeros((5, 1)), np.ones(5, bool))
    assert engine.clock == 10 * 0.1


# -- outputs ---------------------------------------------------------------------------------------------


def test_outputs_of_consecutive_steps_share_no_memory(engine):
    first = engine.step(orders(engine.model), LIVE)
    second = engine.step(orders(engine.model), LIVE)
    for a, b in zip(first[:3], second[:3]):
        assert not np.shares_memory(a, b)


def test_outputs_have_the_declared_dtypes_and_shapes():
    for scheduler, threads in SCHEDULERS.values():
        engine = make_engine(Lamps(), scheduler, threads)
        engine.reset(0)
        outputs = engine.step(np.full((5, 1), 2.0), np.ones(5, bool))
        assert (outputs.observations.dtype, outputs.observations.shape) == (np.float32, (5, 3))
        assert (outputs.rewards.dtype, outputs.rewards.shape) == (np.float64, (5,))
        assert (outputs.terminated.dtype, outputs.terminated.shape) == (np.bool_, (5,))
        assert outputs.info.dtype == Lamps.info


@pytest.mark.parametrize("name", SCHEDULERS)
def test_agents_that_are_not_live_neither_act_nor_show_anything(name):
    engine = make_engine(Lamps(), *SCHEDULERS[name])
    engine.reset(0)
    live = np.array([True, False, True, False, True])
    outputs = engine.step(np.full((5, 1), 2.0), live)
    assert engine.state["age"].tolist() == [1, 0, 1, 0, 1]
    for array in outputs:
        assert not np.frombuffer(array[~live].tobytes(), np.uint8).any()
        assert np.frombuffer(array[live].tobytes(), np.uint8).any() or array.dtype == np.bool_


def test_the_state_cannot_be_written(engine):
    with pytest.raises(ValueError, match="read-only"):
        engine.state["x"][0] = 1.0


def test_stats_count_actions_and_events(engine):
    engine.step(orders(engine.model), LIVE)
    assert engine.stats.events == 16 * (1 + 4 + 2)  # an action, four ticks, notes of the first two


# -- digests ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["state", "emitted", "stream", "gamma", "time", "payload", "steps", "fewer"])
def test_a_digest_tells_every_part_of_a_boundary(engine, part):
    digest, boundary = engine.digest(), engine.capture()
    if part in ("time", "payload"):
        boundary.pending[part][-1] += 0.5
    elif part == "state":
        boundary.state["x"][7] = np.nextafter(boundary.state["x"][7], 9.0)
    elif part == "steps":
        boundary = replace(boundary, steps=1)
    elif part == "fewer":
        boundary = replace(boundary, pending=boundary.pending[:-1])
    else:
        getattr(boundary, part)[7] += np.array(1, getattr(boundary, part).dtype)
    engine.restore(boundary, engine.outputs)
    assert engine.digest() != digest


@pytest.mark.parametrize("name", ["observations", "rewards", "terminated"])
def test_a_digest_tells_the_last_outputs(engine, name):
    digest, boundary = engine.digest(), engine.capture()
    changed = getattr(engine.outputs, name).copy()
    changed.flat[3] = 1
    engine.restore(boundary, engine.outputs._replace(**{name: changed}))
    assert engine.digest() != digest


def test_restoring_what_was_captured_restores_the_digest(engine):
    digest, boundary, outputs = engine.digest(), engine.capture(), engine.outputs
    engine.step(orders(engine.model), LIVE)
    engine.restore(boundary, outputs)
    assert engine.digest() == digest


def test_a_digest_is_hexadecimal_and_taking_it_changes_nothing(engine):
    assert int(engine.digest(), 16) >= 0
    assert engine.digest() == engine.digest()


# -- refusals --------------------------------------------------------------------------------------------


def test_an_unknown_scheduler_is_refused():
    with pytest.raises(ValueError, match=r"one of .*'seer'.*, got 'parallel'"):
        make_engine(Ring(), "parallel")


@pytest.mark.parametrize("threads", [0, -2])
def test_fewer_than_one_thread_is_refused(threads):
    with pytest.raises(ValueError, match=f"from 1 to .*, got {threads}"):
        make_engine(Ring(), "seer", threads)


def test_an_invalid_model_is_refused_before_anything_is_compiled():
    model = Ring()
    model.lookahead = -1.0
    with pytest.raises(ModelError, match="lookahead"):
        make_engine(model, "serial")


@pytest.mark.parametrize("scheduler", ["python", "serial"])
def test_a_second_thread_is_refused_while_an_engine_steps(scheduler):
    engine = make_engine(Ring(), scheduler)
    engine.reset(1)
    before = engine.digest()
    refused = []

    def intrude():
        for use in (
            engine.digest,
            lambda: engine.reset(1),
            lambda: engine.step(np.zeros((6, 2)), np.ones(6, bool)),
        ):
            with pytest.raises(SeerError, match="another thread"):
                use()
            refused.append(use)

    user = engine._claim()  # as a step does
    thread = threading.Thread(target=intrude)
    thread.start()
    thread.join(30.0)
    engine._user = user
    assert len(refused) == 3
    assert engine.digest() == before
