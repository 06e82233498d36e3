"""`sim.scratch`: room for a list within a handler or an output."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import pytest
from gymnasium import spaces

from seer_env.model import EventModel, handles, output
from seer_env.runtime.engine import make_engine

ROOM = 128


class Reversed(EventModel):
    """Each agent notes numbers that are its own, and reads them from the back: in a handler, in an output."""

    name, entity = "reversed", np.dtype([("total", "f8")])
    observation_space = spaces.Box(-np.inf, np.inf, (ROOM + 1,), np.float32)

    class Kind(IntEnum):
        ACT = 0

    action_kind = Kind.ACT

    @handles(Kind.ACT)
    def act(me, event, sim):
        notes = sim.scratch
        for k in range(128):
            notes[k] = sim.me * k
        me.total = 0.0
        for k in range(127, -1, -1):
            me.total += notes[k]

    @output
    def observe(me, obs, info, sim):
        notes = sim.scratch
        for k in range(128):
            notes[k] = sim.me + k
        for k in range(128):
            obs[k] = notes[127 - k]
        obs[128] = me.total

    def reset(self, state, schedule, rng):
        pass


@pytest.mark.parametrize(("scheduler", "threads"), [("python", 1), ("serial", 1), ("seer", 3)])
def test_what_is_noted_is_read_back(scheduler, threads):
    n = 300
    engine = make_engine(Reversed(n), scheduler, threads)
    engine.reset(0)
    shown = engine.step(np.zeros((n, 1)), np.ones(n, bool)).observations
    agents = np.arange(n)[:, None]
    assert (shown[:, :ROOM] == agents + np.arange(ROOM)[::-1]).all()
    assert (shown[:, ROOM] == agents[:, 0] * (ROOM * (ROOM - 1) // 2)).all()
