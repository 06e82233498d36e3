"""Gossip: a world for measuring alone, which no predictor of thread counts was trained on.

Nodes spread news by telling peers drawn at random, who tell others in turn: rumour mongering by push, after
Demers et al., "Epidemic algorithms for replicated database maintenance" (PODC 1987). What an event costs, how
far apart in time two nodes are, and how long news travel are free.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from gymnasium import spaces

from seer_env.model import EventModel, handles, output

__all__ = ["Gossip"]


class Kind(IntEnum):
    """An agent's action, and news that arrive."""

    SPEAK = 0
    HEAR = 1


class Gossip(EventModel):
    """Act: 1 to tell a peer something new, 0 to keep quiet. See: age of one's news, how much one has heard.

    Args:
        n_agents: nodes; all of them are agents.
        work: iterations of arithmetic per event, 2 to 3 ns each.
        lookahead: smallest delay of news; a step is 1 long.
        hops: how often news are passed on.
    """

    name, Kind, action_kind = "gossip", Kind, Kind.SPEAK
    entity = np.dtype([("newest", "f8"), ("heard", "i8"), ("thought", "f8")])
    action_space = spaces.Discrete(2)
    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)

    def __init__(self, n_agents: int = 1000, work: int = 0, lookahead: float = 0.1, hops: int = 4):
        self.lookahead = float(lookahead)
        super().__init__(n_agents, params={"work": int(work), "delay": self.lookahead, "hops": int(hops)})

    def reset(self, state, schedule, rng):
        state["newest"] = -rng.random(self.n_entities)

    @handles(Kind.SPEAK)
    def speak(me, event, sim):
        if event.payload[0] > 0.0:
            me.newest = sim.now
            sim.emit(
                sim.integers(sim.n_entities), sim.params.delay, Kind.HEAR, me.newest, 1.0 * sim.params.hops
            )

    @handles(Kind.HEAR)
    def hear(me, event, sim):
        me.heard += 1
        x = me.thought
        for _ in range(sim.params.work):
            x = x * 0.999999 + 0.5
        me.thought = x
        me.newest = max(me.newest, event.payload[0])
        if event.payload[1] > 0.0:
            delay = sim.params.delay + sim.exponential(0.1)
            sim.emit(sim.integers(sim.n_entities), delay, Kind.HEAR, me.newest, event.payload[1] - 1.0)

    @output
    def observe(me, obs, info, sim):
        obs[0] = sim.now - me.newest
        obs[1] = me.heard

    @output
    def reward(me, info, sim):
        return me.newest - sim.now
