"""Worlds that stress one property of the runtime each; their figures are exact binary fractions."""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np
from gymnasium import spaces

from seer_env.model import EventModel, handles, output

#: Time between two ticks of an entity of `Faulty`, and its lookahead.
TICK, LOOKAHEAD = 0.25, 0.5


#: Name and threads of every scheduler.
SCHEDULERS = {
    "python": ("python", 1),
    "serial": ("serial", 1),
    "heap": ("heap", 1),
    "seer": ("seer", 2),
    "ross-t": ("ross-t", 2),
    "nbse": ("nbse", 2),
    "root-sim": ("root-sim", 2),
}


class Fault(IntEnum):
    """What an entity of `Faulty` does wrong."""

    NOTHING = 0
    SOON = 1
    BACKWARDS = 2
    NOT_A_NUMBER = 3
    NEVER = 4
    BELOW = 5
    BEYOND = 6
    NO_SUCH_KIND = 7
    NEGATIVE_KIND = 8
    CASCADE = 9
    ENDLESS = 10
    HANDLER_RAISES = 11
    OBSERVE_RAISES = 12
    REWARD_RAISES = 13
    TERMINATED_RAISES = 14
    BURST = 15  # legal: as many emissions as the action's third number says


class FaultyKind(IntEnum):
    ACT = 0
    RUN = 1
    NOTE = 2
    CHAIN = 3


def misbehave(me, sim, fault, amount):
    """Emit, or raise, what `fault` names."""
    other = (sim.me + 1) % sim.n_entities
    if fault == Fault.SOON:
        sim.emit(other, 0.125, FaultyKind.NOTE, 1.0)
    elif fault == Fault.BACKWARDS:
        sim.emit(other, -0.5, FaultyKind.NOTE)
    elif fault == Fault.NOT_A_NUMBER:
        sim.emit(sim.me, math.nan, FaultyKind.NOTE)
    elif fault == Fault.NEVER:
        sim.emit(sim.me, math.inf, FaultyKind.NOTE)
    elif fault == Fault.BELOW:
        sim.emit(-1, 1.0, FaultyKind.NOTE)
    elif fault == Fault.BEYOND:
        sim.emit(sim.n_entities, 1.0, FaultyKind.NOTE)
    elif fault == Fault.NO_SUCH_KIND:
        sim.emit(other, 1.0, 4)
    elif fault == Fault.NEGATIVE_KIND:
        sim.emit(other, 1.0, -1)
    elif fault == Fault.CASCADE:
        sim.emit(sim.me, 0.0, FaultyKind.CHAIN, 0.0)
    elif fault == Fault.ENDLESS:
        sim.emit(sim.me, 2.0**-30, FaultyKind.CHAIN, 2.0**-30)
    elif fault == Fault.HANDLER_RAISES:
        raise ValueError("a handler's own")
    elif fault == Fault.BURST:
        for k in range(int(amount)):
            sim.emit(sim.me, 1.0 + 0.125 * k, FaultyKind.CHAIN, -1.0)


class Faulty(EventModel):
    """Every entity ticks, tells its neighbour, and does what its last action ordered.

    An action is `(fault, when, amount)`: the fault happens in the action itself if `when` is not later
    than the clock, and else in the entity's first tick from `when` on. Entity `i` ticks at
    `(i / n + k) * TICK`; no two entities tick at one time where `n` is a power of two.
    """

    name = "faulty"
    Kind = FaultyKind
    entity = np.dtype([("x", "f8"), ("heard", "i8"), ("fault", "i8"), ("when", "f8"), ("amount", "f8")])
    lookahead = LOOKAHEAD
    action_kind = FaultyKind.ACT
    action_space = spaces.Box(-np.inf, np.inf, (3,), np.float64)
    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)

    def __init__(self, n: int = 16):
        super().__init__(n)

    def reset(self, state, schedule, rng):
        state["x"] = rng.random(self.n_entities)
        schedule(
            np.arange(self.n_entities), np.arange(self.n_entities) / self.n_entities * TICK, FaultyKind.RUN
        )

    @handles(FaultyKind.ACT)
    def act(me, event, sim):
        me.fault, me.when, me.amount = int(event.payload[0]), event.payload[1], event.payload[2]
        fault = int(me.fault)
        if me.when <= event.time and fault != Fault.NOTHING:
            misbehave(me, sim, fault, me.amount)
            me.amount = 0.0

    @handles(FaultyKind.RUN)
    def run(me, event, sim):
        me.x = 0.5 * me.x + sim.random()
        sim.emit((sim.me + 1) % sim.n_entities, LOOKAHEAD, FaultyKind.NOTE, me.x)
        sim.emit(sim.me, TICK, FaultyKind.RUN)
        fault = int(
            me.fault
        )  # numpy integers swallow a Ctrl-C that strikes while they are compared to a member
        if fault != Fault.NOTHING and event.time >= me.when:
            misbehave(me, sim, fault, me.amount)
            me.amount = 0.0

    @handles(FaultyKind.NOTE)
    def note(me, event, sim):
        me.heard += 1
        me.x = 0.75 * me.x + event.payload[0]

    @handles(FaultyKind.CHAIN)
    def chain(me, event, sim):
        me.x = 0.5 * me.x + event.time
        if event.payload[0] >= 0.0:
            sim.emit(sim.me, event.payload[0], FaultyKind.CHAIN, event.payload[0])

    @output
    def observe(me, obs, info, sim):
        obs[0] = me.x
        obs[1] = me.heard
        if me.fault == Fault.OBSERVE_RAISES:
            raise ValueError("observe's own")

    @output
    def reward(me, info, sim):
        if me.fault == Fault.REWARD_RAISES:
            raise LookupError("reward's own")
        return me.x

    @output
    def terminated(me, info, sim):
        if me.fault == Fault.TERMINATED_RAISES:
            raise ArithmeticError("terminated's own")
        return me.heard > 1000


def orders(model: Faulty, *given: tuple) -> np.ndarray:
    """Actions of all agents: legal ones, but for `given` tuples `(agent, fault, when[, amount])`."""
    actions = np.zeros((model.n_agents, 3))
    actions[:, 1] = np.inf
    for agent, *order in given:
        actions[agent, : len(order)] = order
    return actions


class RippleKind(IntEnum):
    PULSE = 0
    RIPPLE = 1


class Ripples(EventModel):
    """Everybody pulses at the same instants, and ripples spread from entity to entity in no time.

    A ripple's effect depends on the order in which an entity hears of it, so a wrong order shows.

    Args:
        n: entities.
        delay: of a ripple, and the lookahead; far below the clock's resolution if `scale` is large.
        scale: time between two pulses; `dt` is the same, so that pulses fall exactly on boundaries.
        depth: how often a ripple is passed on.
    """

    name = "ripples"
    Kind = RippleKind
    entity = np.dtype([("x", "f8"), ("heard", "i8"), ("pulses", "i8")])
    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)

    def __init__(self, n: int = 64, delay: float = 0.0, scale: float = 1.0, depth: int = 3):
        self.lookahead, self.dt = float(delay), float(scale)
        params = {"delay": self.lookahead, "scale": self.dt, "depth": int(depth)}
        super().__init__(n, n_agents=0, params=params)

    def reset(self, state, schedule, rng):
        state["x"] = rng.random(self.n_entities)
        schedule(np.arange(self.n_entities), 0.0, RippleKind.PULSE)

    @handles(RippleKind.PULSE)
    def pulse(me, event, sim):
        me.pulses += 1
        sim.emit(sim.me, sim.params.scale, RippleKind.PULSE)
        sim.emit(
            (7 * sim.me + 3) % sim.n_entities, sim.params.delay, RippleKind.RIPPLE, me.x, sim.params.depth
        )

    @handles(RippleKind.RIPPLE)
    def ripple(me, event, sim):
        me.heard += 1
        me.x = 0.7 * me.x + 0.3 * event.payload[0] + 0.01 * sim.random()
        if event.payload[1] > 0.0:
            for step in range(1, 3):
                target = (sim.me + step * sim.integers(5)) % sim.n_entities
                sim.emit(target, sim.params.delay, RippleKind.RIPPLE, me.x, event.payload[1] - 1.0)


def share_everything(engine):
    """Have a `seer` engine publish every phase, however small."""
    engine._memory.control["share_ns"] = engine._memory.control["clearly_ns"] = -1.0
    return engine


def nobody(model: EventModel) -> tuple[np.ndarray, np.ndarray]:
    """Actions and live agents of a world without agents."""
    return np.zeros((0, model.action_size)), np.zeros(0, bool)
