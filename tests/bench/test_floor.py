"""The floor executes the very events of a step, in key order, to the very state; and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces
from runtime_worlds import Fault, Faulty, Ripples, orders
from worlds import Lamps, Ring

from seer_env.bench.floor import Floor
from seer_env.envs.aircraft.model import Aircraft
from seer_env.envs.battle.model import Battle
from seer_env.envs.epidemic_v0 import Epidemic
from seer_env.envs.flock_v0 import Flock
from seer_env.envs.pcs.model import Pcs
from seer_env.envs.phold import Phold
from seer_env.errors import SeerError
from seer_env.runtime.engine import make_engine
from seer_env.runtime.schedulers import replay

WORLDS = {
    "aircraft": lambda: Aircraft(30),
    "battle": lambda: Battle(72),
    "epidemic": lambda: Epidemic(100),
    "flock": lambda: Flock(80),
    "pcs": lambda: Pcs(36),
    "lamps": lambda: Lamps(70),
    "ring": lambda: Ring(70, 20),
    "phold": lambda: Phold(n=200, population=2, lookahead=0.5, dt=2.0),
    "phold, no lookahead": lambda: Phold(n=100, lookahead=0.0, dt=1.0),
    "ties": lambda: Ripples(n=100),
}


def acted(model, steps=3, seed=4):
    """Random actions of steps, and which agents take them."""
    rng, shape, space = np.random.default_rng(seed), (model.n_agents, model.action_size), model.action_space
    for _ in range(steps):
        if isinstance(space, spaces.Discrete):
            actions = rng.integers(0, space.n, shape)
        else:
            actions = rng.uniform(0.0, 1.0, shape)
        yield actions.astype(np.float64), rng.random(model.n_agents) < 0.9


def nobody(model):
    return np.zeros((model.n_agents, model.action_size)), np.zeros(model.n_agents, bool)


def oracle(model, seed=4):
    """The `python` scheduler, and the list of the events that it executes outside of actions."""
    engine, executed = make_engine(model, "python"), []
    execute = engine._execute

    def keeping(when, seq, kind, target, payload):
        if kind != model.action_kind:
            executed.append((when, seq, kind, target, payload))
        execute(when, seq, kind, target, payload)

    engine._execute = keeping
    engine.reset(seed)
    return engine, executed


@pytest.mark.parametrize("world", WORLDS)
def test_a_replayed_step_ends_where_the_oracle_does(world):
    model = WORLDS[world]()
    engine, _ = oracle(model)
    floor = Floor(model, 4)
    for actions, live in acted(model):
        floor.window(actions, live)
        outputs = engine.step(actions, live)
        replayed, expected = floor._replay.capture(), engine.capture()
        expected.pending = expected.pending[:0]  # there is no queue
        assert replayed.first_difference(expected) is None
        assert floor.state.tobytes() == engine.state.tobytes()
        assert floor.events == engine.stats.events
        for ours, theirs in zip(floor._replay.outputs, outputs):
            assert (ours is None and theirs is None) or ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("world", WORLDS)
def test_the_record_is_what_the_oracle_executes_in_its_order(world):
    model = WORLDS[world]()
    engine, executed = oracle(model)
    recording = Floor(model, 4)._recording
    for actions, live in acted(model):
        events = recording.record(actions, live)
        engine.step(actions, live)
        assert [
            (e["time"], e["seq"], e["kind"], e["target"], tuple(e["payload"])) for e in events
        ] == executed
        executed.clear()


def test_a_step_of_more_events_than_there_is_room_for_is_recorded_whole(monkeypatch):
    monkeypatch.setattr(replay, "FIRST_ROOM", 8)
    model = Phold(n=50, dt=4.0)
    engine, executed = oracle(model)
    recording = Floor(model, 4)._recording
    for _ in range(3):
        engine.step(*nobody(model))
        events = recording.record(*nobody(model))
        assert len(events) > 8
        assert events["seq"].tolist() == [seq for _, seq, *_ in executed]
        assert recording.digest() == engine.digest()
        executed.clear()


@pytest.mark.parametrize("emissions", [replay.FREE_SLOTS + 1, 3000], ids=["more than a stack", "than a pool"])
def test_one_event_may_emit_more_than_there_are_slots_at_hand(emissions):
    model, live = Faulty(64), np.ones(64, bool)
    engine, _ = oracle(model)
    floor = Floor(model, 4)
    for when in (0.0, 1.3, 9.0):
        actions = orders(model, (17, Fault.BURST, when, emissions))
        engine.step(actions, live)
        floor.window(actions, live)
        assert floor.state.tobytes() == engine.state.tobytes()


def test_a_window_lasts_some_time_but_not_as_long_as_its_call():
    model = Phold(n=1000, work=200, dt=5.0)
    floor = Floor(model, 0)
    floor.window(*nobody(model))
    # 200 dependent multiplications and additions are at least 100 ns on any processor
    assert floor.window(*nobody(model)) > 100e-9 * floor.events
    assert floor.events == pytest.approx(5000, rel=0.1)


def test_a_replay_that_ends_elsewhere_is_an_error():
    model = Phold(n=50, dt=4.0)
    floor = Floor(model, 0)
    floor._replay._memory.leq["stream"][3] += np.uint64(2)
    with pytest.raises(SeerError, match="another state"):
        floor.window(*nobody(model))
