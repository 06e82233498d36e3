"""One world for random tests: what it does is in its parameters and actions, so it is compiled once."""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np
from gymnasium import spaces

from seer_env.model import EventModel, Grid, handles, output

BOUND = 1000.0


class Fault(IntEnum):
    """What an agent's action can make an entity do wrong."""

    NONE = 0
    SOON = 1
    BACKWARDS = 2
    NOT_A_NUMBER = 3
    NEVER = 4
    NOBODY = 5
    NO_KIND = 6
    CASCADE = 7
    FLOOD = 8
    RAISES = 9


#: The fault as a legal number of an action: `action[2] == fault / 10`.
FAULT_SCALE = 10.0


class Kind(IntEnum):
    ACT = 0
    HOP = 1
    SPARK = 2
    FAULT = 3


def bounded(x):
    return min(max(x, -BOUND), BOUND)


def draw_target(sim):
    """An entity: the own one, the next one, or any, as the parameters say."""
    u = sim.random()
    if u < sim.params.to_self:
        return sim.me
    if u < sim.params.to_next:
        return (sim.me + 1) % sim.n_entities
    return sim.integers(sim.n_entities)


def delay_to(target, sim):
    """A legal delay to `target`, zero with some probability where zero is legal."""
    least = 0.0 if target == sim.me else sim.params.lookahead
    if least == 0.0 and sim.random() < sim.params.zero:
        return 0.0
    return least + sim.exponential(sim.params.mean)


def misbehave(me, event, sim, fault):
    if fault == Fault.SOON:
        # Without a lookahead, or another entity, no delay from 0 up is too small; then as BACKWARDS.
        delay = 0.5 * sim.params.lookahead - 1e-9
        sim.emit((sim.me + 1) % sim.n_entities, delay if sim.n_entities > 1 else -1.0, Kind.SPARK)
    elif fault == Fault.BACKWARDS:
        sim.emit(sim.me, -1.0, Kind.SPARK)
    elif fault == Fault.NOT_A_NUMBER:
        sim.emit(sim.me, math.nan, Kind.SPARK)
    elif fault == Fault.NEVER:
        sim.emit(sim.me, math.inf, Kind.SPARK)
    elif fault == Fault.NOBODY:
        sim.emit(sim.n_entities, 1.0, Kind.SPARK)
    elif fault == Fault.NO_KIND:
        sim.emit(sim.me, 1.0, 4)
    elif fault == Fault.CASCADE:
        sim.emit(sim.me, 0.0, Kind.FAULT, float(fault))
    elif fault == Fault.FLOOD:
        for _ in range(sim.params.flood):
            sim.emit(sim.me, 1.0, Kind.SPARK)
    elif fault == Fault.RAISES:
        raise ValueError("a handler's own error")


class Chaos(EventModel):
    """A constant population of hops, bursts of sparks that die out, and faults on demand.

    Args:
        n: entities.
        agents: how many of them act.
        population: hops per entity.
        lookahead: smallest delay between entities.
        mean: mean of the exponential part of a delay.
        to_self, to_next: probabilities of a hop to the own and to the next entity; else to any.
        zero: probability of a zero delay where it is legal.
        sparks: sparks that an action sends.
        patience: events after which an agent's episode ends; 0 for never.
        work: iterations of arithmetic per hop.
        flood: emissions of the fault `FLOOD`.
        payload: words of an event; the only argument with a machine code of its own.
    """

    name = "chaos"
    Kind = Kind
    entity = np.dtype([("x", "f8"), ("energy", "f8"), ("heard", "i8"), ("seen", "i8"), ("odd", "b1")])
    info = np.dtype([("heard", "i8"), ("near", "i8")])
    public = ("x", "heard")
    grid = Grid(("x",), 50.0, (-BOUND,), (BOUND,))
    action_kind = Kind.ACT
    action_space = spaces.Box(-1.0, 1.0, (3,), np.float64)
    observation_space = spaces.Box(-np.inf, np.inf, (4,), np.float32)

    def __init__(
        self,
        n: int,
        agents: int,
        population: int = 1,
        lookahead: float = 0.1,
        mean: float = 0.5,
        to_self: float = 0.2,
        to_next: float = 0.2,
        zero: float = 0.1,
        sparks: int = 1,
        patience: int = 0,
        work: int = 0,
        flood: int = 0,
        payload: int = 4,
    ):
        self.population, self.lookahead, self.payload = int(population), float(lookahead), int(payload)
        params = {
            "lookahead": self.lookahead,
            "mean": float(mean),
            "to_self": float(to_self),
            "to_next": float(to_self + to_next),
            "zero": float(zero),
            "sparks": int(sparks),
            "patience": int(patience),
            "work": int(work),
            "flood": int(flood),
        }
        super().__init__(n, agents, params, {"weight": np.linspace(0.1, 0.9, n)})

    def reset(self, state, schedule, rng):
        n = self.n_entities
        state["x"] = rng.uniform(-BOUND, BOUND, n)
        for _ in range(self.population):
            schedule(np.arange(n), rng.uniform(0.0, 1.0, n).round(2), Kind.HOP, rng.uniform(0.0, 1.0, n))

    @handles(Kind.ACT)
    def act(me, event, sim):
        me.x = bounded(me.x + event.payload[0])
        for _ in range(sim.params.sparks):
            target = draw_target(sim)
            sim.emit(target, delay_to(target, sim), Kind.SPARK, event.payload[1], 4.0)
        fault = round(event.payload[2] * 10.0)
        if fault > 0:
            sim.emit(sim.me, 0.5 * sim.random(), Kind.FAULT, float(fault))

    @handles(Kind.HOP)
    def hop(me, event, sim):
        me.heard += 1
        me.odd = not me.odd
        energy = me.energy
        for _ in range(sim.params.work):
            energy = energy * 0.999 + 0.5
        other = sim.view((sim.me + me.heard) % sim.n_entities)
        me.energy = 0.5 * energy + sim.tables.weight[sim.me] * event.payload[0] + 1e-3 * other.x
        if me.heard % 8 == 0:
            count, ids = sim.nearest(2, 40.0)
            me.seen += count
            if ids[0] >= 0:
                me.x = bounded(me.x - 0.1 * sim.offset(ids[0])[0])
        target = draw_target(sim)
        delay = delay_to(target, sim)
        sim.emit(target, delay, Kind.HOP, 0.5 * event.payload[0] + sim.normal(0.0, 0.1), event.time)

    @handles(Kind.SPARK)
    def spark(me, event, sim):
        me.heard += 1
        me.x = bounded(me.x + event.payload[0])
        if event.payload[1] > 0.0:
            target = draw_target(sim)
            sim.emit(target, delay_to(target, sim), Kind.SPARK, event.payload[0], event.payload[1] - 1.0)

    @handles(Kind.FAULT)
    def fault(me, event, sim):
        me.heard += 1
        misbehave(me, event, sim, int(event.payload[0]))

    @output
    def observe(me, obs, info, sim):
        near = len(sim.within(20.0))
        obs[0] = me.x
        obs[1] = me.energy
        obs[2] = sim.view((sim.me + 1) % sim.n_entities).x
        obs[3] = near
        info.heard = me.heard
        info.near = near

    @output
    def reward(me, info, sim):
        return me.energy - 0.01 * info.near

    @output
    def terminated(me, info, sim):
        return sim.params.patience > 0 and me.heard >= sim.params.patience + sim.me
