"""PHOLD: the standard workload of parallel event simulation (Fujimoto 1990), as an `EventModel`.

A constant population of events hops between entities. Executing one costs a chosen amount of
arithmetic and emits exactly one successor, at `lookahead` plus an exponential delay, to the entity
itself or, with probability `remote`, to one drawn uniformly from all.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from gymnasium import spaces

from seer_env.model import EventModel, handles

__all__ = ["Kind", "Phold"]


class Kind(IntEnum):
    """The one kind of event."""

    HOP = 0


class Phold(EventModel):
    """PHOLD without agents: nothing acts on it and nothing is observed; `Engine.state` is the result.

    Args:
        n: entities.
        population: initial events per entity; event `p` of each is at time `0.001 * p`.
        work: iterations of the arithmetic loop per event, about 2.4 ns each.
        lookahead: smallest delay of an event.
        mean: mean of the exponential part of a delay.
        remote: probability that the successor's target is drawn from all entities.
        dt: length of a step window.
    """

    name = "phold"
    Kind = Kind
    entity = np.dtype([("count", "i8"), ("acc", "f8")])
    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)

    def __init__(
        self,
        n: int = 1024,
        population: int = 1,
        work: int = 0,
        lookahead: float = 0.1,
        mean: float = 0.9,
        remote: float = 0.5,
        dt: float = 10.0,
    ):
        self.population, self.lookahead, self.dt = int(population), float(lookahead), float(dt)
        params = {
            "work": int(work),
            "lookahead": self.lookahead,
            "mean": float(mean),
            "remote": float(remote),
        }
        super().__init__(n, n_agents=0, params=params)

    def reset(self, state, schedule, rng):
        for p in range(self.population):
            schedule(np.arange(self.n_entities), 0.001 * p, Kind.HOP)

    @handles(Kind.HOP)
    def hop(me, event, sim):
        me.count += 1
        x = me.acc
        for _ in range(sim.params.work):
            x = x * 0.999999 + 0.5
        me.acc = x + event.time
        delay = sim.params.lookahead + sim.exponential(sim.params.mean)
        target = sim.me
        if sim.random() < sim.params.remote:
            target = sim.integers(sim.n_entities)
        sim.emit(target, delay, Kind.HOP, 1.0)
