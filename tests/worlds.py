"""Small worlds that many tests use: module-level, so that they pickle and compile into the cache."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from gymnasium import spaces

from seer_env.model import EventModel, handles, output

BOUND = 50.0


def bounded(x):
    return min(max(x, -BOUND), BOUND)


class RingKind(IntEnum):
    PUSH = 0
    PASS = 1
    DRIFT = 2


class Ring(EventModel):
    """Entities on a ring; a push travels to the neighbours as events, and every entity drifts at random.

    Agent `i` ends its episode at the boundary where it has counted `patience + 3 * i` events; with
    `patience=0` nobody ends.
    """

    name = "ring"
    agent_prefix = "node"
    Kind = RingKind
    entity = np.dtype([("x", "f8"), ("heard", "i8"), ("noise", "f8"), ("up", "b1")])
    lookahead = 0.25
    public = ("x",)
    action_kind = RingKind.PUSH
    action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
    observation_space = spaces.Box(-BOUND, BOUND, (4,), np.float32)

    def __init__(self, n_agents: int = 6, extra: int = 2, patience: int = 0, gain: float = 0.5):
        params = {"patience": int(patience), "gain": float(gain)}
        weights = np.linspace(0.5, 1.5, n_agents + extra)
        super().__init__(n_agents + extra, n_agents, params, {"weight": weights})

    def reset(self, state, schedule, rng):
        state["x"] = rng.uniform(-1.0, 1.0, self.n_entities)
        schedule(np.arange(self.n_entities), rng.uniform(0.0, 0.5, self.n_entities), RingKind.DRIFT)

    @handles(RingKind.PUSH)
    def push(me, event, sim):
        me.x = bounded(me.x + event.payload[0])
        me.up = event.payload[1] > 0.0
        step = 1 if me.up else -1
        sim.emit((sim.me + step) % sim.n_entities, 0.25 + 0.5 * sim.random(), RingKind.PASS, me.x)

    @handles(RingKind.PASS)
    def passed(me, event, sim):
        me.heard += 1
        me.x = bounded(me.x + sim.params.gain * sim.tables.weight[sim.me] * (event.payload[0] - me.x))

    @handles(RingKind.DRIFT)
    def drift(me, event, sim):
        me.noise = bounded(0.9 * me.noise + sim.normal(0.0, 0.1))
        me.heard += 1
        left = (sim.me - 1) % sim.n_entities
        sim.emit(left, 0.25 + sim.exponential(0.5), RingKind.PASS, me.noise + sim.view(left).x)
        sim.emit(sim.me, 0.5, RingKind.DRIFT)

    @output
    def observe(me, obs, info, sim):
        obs[0] = me.x
        obs[1] = me.noise
        obs[2] = bounded(1.0 * me.heard)
        obs[3] = sim.view((sim.me + 1) % sim.n_entities).x

    @output
    def reward(me, info, sim):
        return -abs(me.x)

    @output
    def terminated(me, info, sim):
        patience = sim.params.patience
        return patience > 0 and me.heard >= patience + 3 * sim.me


class LampKind(IntEnum):
    SET = 0
    GLOW = 1


class Lamps(EventModel):
    """Agents choose one of five levels, which they pass on; `info` shows level and warmth. Drawn as bars.

    The lamp `i` burns out at the boundary `life + i` if `life` is positive.
    """

    name = "lamps"
    agent_prefix = "lamp"
    Kind = LampKind
    entity = np.dtype([("level", "i8"), ("warmth", "f8"), ("age", "i8")])
    info = np.dtype([("level", "i8"), ("warmth", "f8"), ("lit", "b1")])
    lookahead = 0.0
    dt = 0.5
    action_kind = LampKind.SET
    action_space = spaces.Discrete(5)
    observation_space = spaces.Box(0.0, 100.0, (3,), np.float32)

    def __init__(self, n_agents: int = 5, life: int = 0):
        super().__init__(n_agents, params={"life": int(life)})

    def reset(self, state, schedule, rng):
        state["warmth"] = rng.uniform(1.0, 2.0, self.n_entities)

    @handles(LampKind.SET)
    def choose(me, event, sim):
        me.age += 1
        me.level = int(event.payload[0])
        sim.emit((sim.me + 1) % sim.n_entities, 0.0, LampKind.GLOW, event.payload[0])

    @handles(LampKind.GLOW)
    def glow(me, event, sim):
        me.warmth = 0.5 * me.warmth + event.payload[0] + sim.random()

    @output
    def observe(me, obs, info, sim):
        obs[0] = me.level
        obs[1] = me.warmth
        obs[2] = min(me.age, 100)
        info.level = me.level
        info.warmth = me.warmth
        info.lit = me.level > 0

    @output
    def reward(me, info, sim):
        return info.warmth

    @output
    def terminated(me, info, sim):
        return sim.params.life > 0 and me.age >= sim.params.life + sim.me

    def render_frame(self, state, clock):
        frame = np.zeros((8, 4 * len(state), 3), np.uint8)
        frame[:, :, 0] = np.repeat(40 * state["level"], 4).astype(np.uint8)
        return frame


class Unruly(EventModel):
    """One agent whose action 1 breaks the lookahead."""

    class Kind(IntEnum):
        ACT = 0
        NOTICE = 1

    name = "unruly"
    entity = np.dtype([("acts", "i8")])
    lookahead = 0.5
    action_kind = Kind.ACT
    action_space = spaces.Discrete(2)
    observation_space = spaces.Box(0.0, 1000.0, (2,), np.float32)

    def __init__(self):
        super().__init__(2, 1)

    def reset(self, state, schedule, rng):
        state["acts"] = 0

    @handles(Kind.ACT)
    def act(me, event, sim):
        me.acts += 1
        sim.emit(1, 0.5 if event.payload[0] == 0.0 else 0.1, 1)

    @handles(Kind.NOTICE)
    def notice(me, event, sim):
        me.acts += 1

    @output
    def observe(me, obs, info, sim):
        obs[0] = me.acts
        obs[1] = 1.0
