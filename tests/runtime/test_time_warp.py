"""Time Warp: the same bytes however far workers run ahead, and rollbacks that really happen."""

from __future__ import annotations

import re
from enum import IntEnum

import numpy as np
import pytest
from gymnasium import spaces
from runtime_worlds import Fault, Faulty, Ripples, nobody, orders
from worlds import Lamps, Ring

from seer_env.envs.aircraft.model import Aircraft
from seer_env.envs.battle.model import Battle
from seer_env.envs.epidemic_v0 import Epidemic
from seer_env.envs.flock_v0 import Flock
from seer_env.envs.pcs.model import Pcs
from seer_env.envs.phold import Phold
from seer_env.errors import ContractBreach
from seer_env.model import EventModel, handles
from seer_env.runtime.engine import make_engine
from seer_env.runtime.time_warp.gvt import COPY_SPEED, MOST_INTERVAL, SMALL_ROW, best_interval
from seer_env.runtime.time_warp.layout import ARRIVED, VISITED, WARP

THREADS = (1, 2, 3, 4, 8)
WORLDS = {
    "phold, no lookahead": lambda: Phold(n=300, population=2, lookahead=0.0, dt=4.0),
    "phold, lookahead 0.01": lambda: Phold(n=300, lookahead=0.01, dt=4.0),
    "phold, lookahead 0.5": lambda: Phold(n=300, population=2, lookahead=0.5, dt=4.0),
    "ties": lambda: Ripples(n=200),
    "a lookahead lost in rounding": lambda: Ripples(n=100, delay=0.5, scale=2.0**60),
    "flock": lambda: Flock(100),
    "aircraft": lambda: Aircraft(30, per_region=30),
    "battle": lambda: Battle(72),
    "epidemic": lambda: Epidemic(60),
    "pcs": lambda: Pcs(36, channels=10, interarrival=5.0, recheck=15.0, complexity=3),
    "pcs, no delay": lambda: Pcs(36, channels=10, interarrival=5.0, link_delay=0.0),
    "ring": lambda: Ring(100, 30, patience=8),
    "lamps": lambda: Lamps(100, life=2),
}


def eager(engine, quota=8, ahead=10_000, spread=4, shared=True):
    """Have workers run far ahead in visits of few events.

    All phases are shared, or none: then one worker makes all visits in turn, each far behind the one before,
    and rollbacks do not depend on timing.
    """
    engine._memory.control["share_ns"] = engine._memory.control["clearly_ns"] = -1.0 if shared else 1e18
    warp = engine._memory.warp
    warp["fixed"], warp["quota"], warp["ahead"], warp["spread"] = 1, quota, ahead, spread
    return engine


def undone(engine):
    """Executions that the last step took back."""
    return int(engine._memory.partitions["undone"].sum())


def played(engine, steps=3):
    """Digests of boundaries, with actions drawn from the model's space, and what was undone in all."""
    model, digests, lost = engine.model, [], 0
    if model.n_agents:
        model.action_space.seed(3)
    live = np.ones(model.n_agents, bool)
    for _ in range(steps):
        actions = np.zeros((model.n_agents, model.action_size))
        for row in actions:
            row[:] = np.ravel(model.action_space.sample())
        live = live & ~engine.step(actions, live).terminated
        digests.append(engine.digest())
        lost += undone(engine) if engine.scheduler == "root-sim" else 0
    return digests, lost


def fresh(world, scheduler, threads=1):
    engine = make_engine(WORLDS[world](), scheduler, threads)
    engine.reset(5)
    return engine


@pytest.fixture(scope="module")
def oracle():
    """Digests under `python`."""
    return {world: played(fresh(world, "python"))[0] for world in WORLDS}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("threads", THREADS)
def test_every_thread_count_gives_the_oracles_bytes(oracle, world, threads):
    assert played(fresh(world, "root-sim", threads))[0] == oracle[world]


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("threads", THREADS[1:])
def test_visits_of_few_events_far_ahead_give_the_oracles_bytes(oracle, world, threads):
    assert played(eager(fresh(world, "root-sim", threads)))[0] == oracle[world]


@pytest.mark.parametrize("world", ["phold, no lookahead", "phold, lookahead 0.5", "ties", "pcs, no delay"])
@pytest.mark.parametrize("save_every", [1, 2, 7, 1000])
def test_rollbacks_happen_and_change_nothing_however_rarely_rows_are_saved(oracle, world, save_every):
    engine = eager(fresh(world, "root-sim", 3), quota=100, shared=False)
    engine.save_every = save_every
    digests, lost = played(engine)
    assert digests == oracle[world]
    assert lost > 0


def test_one_worker_rolls_back_what_its_own_entities_did_out_of_order():
    engine = eager(fresh("phold, no lookahead", "root-sim"), spread=500)
    played(engine, 1)
    assert engine._memory.partitions["undone_by_own"].sum() > 0


def test_events_are_counted_when_they_are_committed():
    world = "phold, lookahead 0.5"
    engine, serial = eager(fresh(world, "root-sim", 3), quota=100, shared=False), fresh(world, "serial")
    for each in (engine, serial):
        each.step(*nobody(each.model))
    assert undone(engine) > 0
    assert engine.stats.events == serial.stats.events


def test_a_boundary_goes_from_scheduler_to_scheduler(oracle):
    world = "phold, lookahead 0.01"
    engines = [eager(fresh(world, "root-sim", 2)), fresh(world, "seer", 2), fresh(world, "root-sim", 1)]
    boundary, outputs = engines[0].capture(), engines[0].outputs
    for step, engine in enumerate(engines):
        engine.restore(boundary, outputs)
        assert played(engine, 1)[0] == oracle[world][step : step + 1]
        boundary, outputs = engine.capture(), engine.outputs


@pytest.mark.parametrize("value", [0, -1, 1.5, True])
def test_rows_are_saved_every_positive_number_of_executions(value):
    with pytest.raises(ValueError, match="save_every must be an integer from 1"):
        fresh("phold, no lookahead", "root-sim").save_every = value


@pytest.mark.parametrize("name", ["root-sim:", "root-sim:0", "root-sim:two", "root-sim:1.5", "root-sim:+3"])
def test_a_schedulers_name_with_no_number_of_executions_is_refused(name):
    with pytest.raises(ValueError, match=f"scheduler '{re.escape(name)}': after root-sim: comes the number"):
        make_engine(Phold(4), name)


@pytest.mark.parametrize("save_every", [1, 4])
def test_a_row_is_saved_before_every_so_many_executions_though_gvt_passes_them(save_every):
    model = Phold(n=50, lookahead=0.5, dt=20.0)
    engine = eager(make_engine(model, f"root-sim:{save_every}", 1), spread=1)
    engine.reset(5)
    engine.step(*nobody(model))
    assert engine.stats.rounds > 20
    assert undone(engine) == 0
    executions = engine.state["count"]
    assert engine._memory.partitions["saved"].sum() == -(-executions // save_every).sum()


@pytest.mark.parametrize("between", [1.0, 30.0, 400.0, 1e9])
@pytest.mark.parametrize("cost", [100.0, 10_000.0])
def test_the_interval_that_is_chosen_costs_least(between, cost):
    warp = np.zeros(1, WARP)
    warp["row_bytes"], warp["between"], warp["event_cost"] = 4000, between, cost
    intervals = np.arange(1, MOST_INTERVAL + 1)
    costs = 4000 / COPY_SPEED / intervals + cost * (intervals - 1) / (2 * between)
    chosen = best_interval(warp[0])
    assert abs(chosen - intervals[np.argmin(costs)]) <= 1  # the optimum is between two integers


def test_small_rows_are_always_saved():
    warp = np.zeros(1, WARP)
    warp["row_bytes"], warp["between"], warp["event_cost"] = SMALL_ROW, 1e9, 1.0
    assert best_interval(warp[0]) == 1


@pytest.mark.parametrize("threads", [2, 4])
def test_every_visit_says_once_that_it_has_begun_and_once_that_it_has_arrived(threads):
    engine = eager(fresh("phold, lookahead 0.5", "root-sim", threads))
    played(engine, 1)
    assert engine.stats.shared_rounds > 0
    assert engine._memory.visiting[[VISITED, ARRIVED]].tolist() == [threads, threads]


# -- memory and binding --------------------------------------------------------------------------------


def test_a_step_of_a_hundred_times_the_events_takes_no_more_memory():
    engines = [make_engine(Phold(n=300, population=2, dt=dt), "root-sim", 2) for dt in (5.0, 500.0)]
    for engine in engines:
        engine.reset(5)
        engine.step(*nobody(engine.model))
    few, many = engines
    assert many.stats.events > 50 * few.stats.events
    assert many._memory.slots == few._memory.slots
    assert many._memory.rows.nbytes == few._memory.rows.nbytes


class Timers(EventModel):
    """Jobs hop from entity to entity, and each hop sets an alarm that lies beyond every step."""

    class Kind(IntEnum):
        HOP = 0
        ALARM = 1

    name = "timers"
    entity = np.dtype([("hops", "i8"), ("last", "f8")])
    dt = 5.0
    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)

    def __init__(self, n: int = 200):
        super().__init__(n, n_agents=0)

    def reset(self, state, schedule, rng):
        schedule(np.arange(self.n_entities), rng.random(self.n_entities), 0)

    @handles(Kind.HOP)
    def hop(me, event, sim):
        me.hops += 1
        me.last = event.time
        sim.emit(sim.integers(sim.n_entities), sim.exponential(1.0), 0)
        sim.emit(sim.me, 1e6, 1)

    @handles(Kind.ALARM)
    def alarm(me, event, sim):
        me.hops = 0


def slots_in_heaps(memory):
    """Slots of the events that the entities' heaps hold."""
    found = memory.leq["root"][memory.leq["root"] >= 0].tolist()
    trees = memory.leq["child"][memory.leq["root"] >= 0].tolist()
    while trees:
        slot = trees.pop()
        while slot >= 0:
            found.append(slot)
            trees.append(int(memory.pool["child"][slot]))
            slot = int(memory.pool["sibling"][slot])
    return found


def test_cancelled_events_of_the_far_future_are_freed_when_a_step_ends():
    engine = eager(make_engine(Timers(), "root-sim", 3), quota=100, shared=False)
    engine.reset(5)
    engine.step(*nobody(engine.model))
    assert engine._memory.partitions["cancelled"].sum() > 0
    slots = slots_in_heaps(engine._memory)
    assert len(slots) == len(engine.capture().pending)
    assert (engine._memory.pool["target"][slots] >= 0).all()


class Uneven(EventModel):
    """The first entities tick a hundred times as often as the others, which they tell now and then."""

    class Kind(IntEnum):
        TICK = 0
        TELL = 1

    name = "uneven"
    entity = np.dtype([("x", "f8"), ("ticks", "i8")])
    lookahead = 0.01
    dt = 100.0
    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)

    def __init__(self, n: int = 64):
        super().__init__(n, n_agents=0)

    def reset(self, state, schedule, rng):
        schedule(np.arange(self.n_entities), rng.random(self.n_entities), 0)

    @handles(Kind.TICK)
    def tick(me, event, sim):
        me.ticks += 1
        me.x = 0.5 * me.x + sim.random()
        sim.emit(sim.me, 0.01 * (1.0 + sim.random()) * (1.0 if sim.me < 16 else 100.0), 0)
        if me.ticks % 10 == 0:
            sim.emit(sim.integers(sim.n_entities), 0.01, 1, me.x)

    @handles(Kind.TELL)
    def tell(me, event, sim):
        me.x = 0.75 * me.x + event.payload[0]


def test_entities_are_bound_anew_by_their_load():
    model = Uneven()
    engine, serial = eager(make_engine(model, "root-sim", 2), quota=50), make_engine(model, "serial")
    for each in (engine, serial):
        each.reset(5)
    even = engine._memory.partitions["last"][0]
    for each in (engine, serial):
        each.step(*nobody(model))
    assert engine._memory.warp["bindings"][0] > 0
    assert 4 <= engine._memory.partitions["last"][0] <= 12 < even
    assert engine.digest() == serial.digest()


# -- breaches ------------------------------------------------------------------------------------------


class Guarded(EventModel):
    """Entity 1 may only be asked after it has been told, which it always is in the order of time.

    Entity 0 asks at `k + 0.5` and entity 2 tells at `k + 0.25`, both at entity 1, which breaks a rule if
    it is asked untold.
    """

    class Kind(IntEnum):
        ASK = 0
        TELL = 1
        START_ASKING = 2
        START_TELLING = 3

    name = "guarded"
    entity = np.dtype([("told", "i8"), ("asked", "i8")])
    dt = 50.0
    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)

    def __init__(self, honest: bool):
        super().__init__(3, n_agents=0, params={"honest": int(honest)})

    def reset(self, state, schedule, rng):
        schedule(0, 0.0, 2)
        schedule(2, 0.0, 3)

    @handles(Kind.START_ASKING)
    def start_asking(me, event, sim):
        sim.emit(1, 0.5, 0)
        sim.emit(0, 1.0, 2)

    @handles(Kind.START_TELLING)
    def start_telling(me, event, sim):
        if sim.params.honest or event.time < 30.0:
            sim.emit(1, 0.25, 1)
        sim.emit(2, 1.0, 3)

    @handles(Kind.TELL)
    def tell(me, event, sim):
        me.told += 1

    @handles(Kind.ASK)
    def ask(me, event, sim):
        if me.told <= me.asked:
            sim.emit(-1, 1.0, 0)
        me.asked += 1


def guarded(honest):
    engine = eager(make_engine(Guarded(honest), "root-sim", 3), shared=False)
    engine.reset(0)
    return engine


def test_a_breach_that_a_rollback_takes_back_is_none():
    engine = guarded(honest=True)
    engine.step(*nobody(engine.model))
    assert undone(engine) > 0
    assert (engine.state["told"][1], engine.state["asked"][1]) == (50, 50)


def test_a_breach_that_stays_is_raised_when_its_time_has_come():
    engine = guarded(honest=False)
    before = engine.digest()
    with pytest.raises(ContractBreach) as info:
        engine.step(*nobody(engine.model))
    assert (info.value.rule, info.value.entity, info.value.time) == ("target", 1, 30.5)
    assert engine.digest() == before


def test_the_event_too_many_is_found_in_key_order():
    found = []
    for scheduler, threads in (("python", 1), ("root-sim", 1), ("root-sim", 3)):
        engine = make_engine(Faulty(64), scheduler, threads, event_capacity=700)
        engine.reset(8)
        given = [(i, Fault.BURST, 0.3, 20) for i in range(0, 64, 2)]
        with pytest.raises(ContractBreach) as info:
            engine.step(orders(engine.model, *given), np.ones(64, bool))
        found.append((info.value.rule, info.value.entity, info.value.time))
    assert found[0][0] == "capacity"
    assert found == [found[0]] * 3


def test_capacity_counts_no_emission_that_was_taken_back():
    """As many as the serial step emits are allowed, however many a worker emits ahead."""
    world = "phold, lookahead 0.5"
    serial = fresh(world, "serial")
    serial.step(*nobody(serial.model))
    model = WORLDS[world]()
    emitted = int(serial._memory.workers["emitted"].sum())
    engine = eager(make_engine(model, "root-sim", 3, event_capacity=emitted), quota=100, shared=False)
    engine.reset(5)
    engine.step(*nobody(model))
    assert engine.digest() == serial.digest()
