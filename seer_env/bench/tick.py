"""A world in which nearly nothing happens: what a step costs before any work is done."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from gymnasium import spaces

from seer_env.model import EventModel, handles, output


class Tick(EventModel):
    """Every agent's action adds one to its counter, which is what it observes."""

    class Kind(IntEnum):
        """The one kind of event."""

        TICK = 0

    name = "tick"
    entity = np.dtype([("ticks", "i8")])
    action_kind = Kind.TICK
    observation_space = spaces.Box(0.0, np.inf, (1,), np.float32)

    def reset(self, state, schedule, rng):
        pass

    @handles(Kind.TICK)
    def tick(me, event, sim):
        me.ticks += 1  # type: ignore[attr-defined]  # `me` is the agent's row

    @output
    def observe(me, obs, info, sim):
        obs[0] = me.ticks
