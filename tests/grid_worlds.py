"""A world whose agents write down all that the boundary index answers, over grids of every kind."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from gymnasium import spaces

from seer_env.model import EventModel, Grid, handles, output

#: Neighbours that `Sighted` asks for, and the most that it writes down of `within`.
NEAREST, WITHIN = 4, 12

GRIDS = {
    "line": Grid(("x",), 0.1, (-1.0,), (1.0,)),
    "ring": Grid(("x",), 0.1, (0.0,), (2.0,), wrap=True),
    "plane": Grid(("x", "y"), 0.25, (0.0, -1.0), (2.0, 1.0)),
    "torus": Grid(("x", "y"), 0.25, (0.0, -1.0), (2.0, 1.0), wrap=True),
    "box": Grid(("x", "y", "z"), 0.4, (0.0, 0.0, 0.0), (2.0, 1.5, 1.0)),
    "torus in three dimensions": Grid(("x", "y", "z"), 0.25, (0.0, 0.0, 0.0), (2.0, 1.5, 1.0), wrap=True),
    "small torus": Grid(("x", "y"), 0.4, (0.0, 0.0), (1.0, 1.0), wrap=True),
    "torus of one cell": Grid(("x", "y"), 3.0, (0.0, 0.0), (1.0, 1.0), wrap=True),
    "narrow torus": Grid(("x", "y"), 0.2, (0.0, 0.0), (4.0, 0.5), wrap=True),
    "one cell": Grid(("x", "y"), 3.0, (0.0, 0.0), (1.0, 1.0)),
}


class SightKind(IntEnum):
    STEP = 0


class Sighted(EventModel):
    """Entities that jump about; agents observe counts, ids and offsets of the neighbours in `radius`."""

    name = "sighted"
    Kind = SightKind
    entity = np.dtype([("x", "f8"), ("y", "f8"), ("z", "f8"), ("felt", "f8")])
    public = ("x", "y", "z")
    observation_space = spaces.Box(-np.inf, np.inf, (1 + NEAREST + 1 + WITHIN,), np.float32)
    info = np.dtype([("dx", "f8"), ("dy", "f8"), ("dz", "f8"), ("product", "f8")])

    def __init__(self, grid: Grid, n: int, n_agents: int | None, radius: float):
        self.grid = grid
        spans = {f"low_{f}": low for f, low in zip("xyz", (*grid.low, 0.0, 0.0))}
        spans |= {f"span_{f}": b - a for f, a, b in zip("xyz", (*grid.low, 0.0, 0.0), (*grid.high, 1.0, 1.0))}
        super().__init__(n, n_agents, params={"radius": float(radius), **spans})

    @staticmethod
    def of(name: str, n: int, n_agents: int | None = None, radius: float = 0.3) -> Sighted:
        """The world over one of `GRIDS`."""
        grid = GRIDS[name]
        kind = {1: OnLine, 2: InPlane, 3: InSpace}[len(grid.fields)]
        return kind(grid, n, n_agents, radius)

    def reset(self, state, schedule, rng):
        places = positions_in(self.grid, self.n_entities, rng)
        for field in places.dtype.names:
            state[field] = places[field]
        schedule(np.arange(self.n_entities), 0.5, SightKind.STEP)

    @handles(SightKind.STEP)
    def step(me, event, sim):
        count, ids = sim.nearest(2, sim.params.radius)
        me.felt = 1.0 * count
        if ids[0] >= 0:
            me.felt += sim.view(ids[0]).x + 0.5 * sim.offset(ids[0])[0]
        me.x = sim.params.low_x + sim.params.span_x * sim.random()
        me.y = sim.params.low_y + sim.params.span_y * sim.random()
        me.z = sim.params.low_z + sim.params.span_z * sim.random()
        sim.emit(sim.me, 1.0, SightKind.STEP)


def write_neighbours(obs, count, ids, found):
    """What `nearest` and `within` answered, as observations; returns the number of those within."""
    obs[0] = count
    for k in range(NEAREST):
        obs[1 + k] = ids[k]
    obs[1 + NEAREST] = len(found)
    for k in range(min(len(found), WITHIN)):
        obs[2 + NEAREST + k] = found[k]
    return len(found)


class OnLine(Sighted):
    @output
    def observe(me, obs, info, sim):
        count, ids = sim.nearest(NEAREST, sim.params.radius)
        write_neighbours(obs, count, ids, sim.within(sim.params.radius))
        for j in sim.within(sim.params.radius):
            info.product += sim.offset(j)[0]
        info.dx = sim.offset((sim.me + 1) % sim.n_entities)[0]


class InPlane(Sighted):
    @output
    def observe(me, obs, info, sim):
        count, ids = sim.nearest(NEAREST, sim.params.radius)
        write_neighbours(obs, count, ids, sim.within(sim.params.radius))
        for j in sim.within(sim.params.radius):
            info.product += sim.offset(j)[0] * sim.offset(j)[1]
        info.dx, info.dy = sim.offset((sim.me + 1) % sim.n_entities)


class InSpace(Sighted):
    @output
    def observe(me, obs, info, sim):
        count, ids = sim.nearest(NEAREST, sim.params.radius)
        write_neighbours(obs, count, ids, sim.within(sim.params.radius))
        for j in sim.within(sim.params.radius):
            info.product += sim.offset(j)[0] * sim.offset(j)[2]
        info.dx, info.dy, info.dz = sim.offset((sim.me + 1) % sim.n_entities)


def positions_in(grid: Grid, n: int, rng: np.random.Generator | None = None) -> np.ndarray:
    """State rows at random places: some at one place, and on a bounded grid some far outside."""
    rng = rng or np.random.default_rng([n, len(grid.fields)])
    state = np.zeros(n, Sighted.entity)
    for field, low, high in zip(grid.fields, grid.low, grid.high):
        margin = 0.0 if grid.wrap else 0.5 * (high - low)
        state[field] = rng.uniform(low - margin, high + margin, n)
        state[field][: n // 8] = state[field][n // 8 : 2 * (n // 8)]
    return state
