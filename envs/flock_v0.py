"""Flock: point agents on a torus, each of which sees its four nearest neighbours. A tutorial world."""

from enum import IntEnum

import numpy as np
from gymnasium import spaces

from seer_env.model import EventModel, Grid, handles, output

RADIUS, COLLISION, DT = 1.0, 0.2, 0.1  # of sight, of a collision; seconds per step


class Flock(EventModel):
    """Act: acceleration (x, y). See: own velocity, then 4 x (offset, relative velocity), nearest first."""

    class Kind(IntEnum):
        MOVE = 0

    name, dt, public = "flock", DT, ("x", "y", "vx", "vy")
    entity = np.dtype([("x", "f8"), ("y", "f8"), ("vx", "f8"), ("vy", "f8")])
    info = np.dtype([("neighbours", "i8"), ("nearest", "f8")])  # count in sight, squared distance or inf
    action_kind, action_space = Kind.MOVE, spaces.Box(-1.0, 1.0, (2,), np.float32)
    observation_space = spaces.Box(-5.0, 5.0, (18,), np.float32)  # no velocity passes DT / (1 - 0.95) = 2

    def __init__(self, n_agents: int = 500):
        super().__init__(n_agents)
        side = self.params["side"] = float(np.sqrt(n_agents / 2.0))  # about six neighbours
        self.grid = Grid(("x", "y"), cell=RADIUS, low=(0.0, 0.0), high=(side, side), wrap=True)

    def reset(self, state, schedule, rng):
        state["x"], state["y"] = rng.random((2, self.n_agents)) * self.params["side"]
        state["vx"], state["vy"] = rng.normal(0.0, 0.1, (2, self.n_agents))

    @handles(Kind.MOVE)
    def move(me, event, sim):
        me.vx = 0.95 * me.vx + DT * event.payload[0]
        me.vy = 0.95 * me.vy + DT * event.payload[1]
        me.x = wrapped(me.x + DT * me.vx, sim.params.side)
        me.y = wrapped(me.y + DT * me.vy, sim.params.side)

    @output
    def observe(me, obs, info, sim):
        obs[0], obs[1], info.nearest = me.vx, me.vy, np.inf
        info.neighbours, ids = sim.nearest(4, RADIUS)
        for n in range(4):
            if ids[n] >= 0:
                dx, dy = sim.offset(ids[n])
                other, at = sim.view(ids[n]), 2 + 4 * n
                obs[at], obs[at + 1], obs[at + 2], obs[at + 3] = dx, dy, other.vx - me.vx, other.vy - me.vy
                info.nearest = min(info.nearest, dx * dx + dy * dy)

    @output
    def reward(me, info, sim):
        return 0.1 * info.neighbours - (1.0 if info.nearest < COLLISION * COLLISION else 0.0)


def wrapped(p, side):
    p += side if p < 0.0 else -side if p >= side else 0.0
    return p if p < side else 0.0  # a tiny negative p rounds up to side
