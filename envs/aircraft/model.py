"""`Aircraft`: the world as an `EventModel`."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from gymnasium import spaces

from seer_env.checks import divided
from seer_env.envs.aircraft.arguments import Arguments
from seer_env.envs.aircraft.constants import DISCRETE_LEVELS, EACH, INFO, OWN, PUBLIC, entity_dtype
from seer_env.envs.aircraft.handling import advise, begin_step, hear, set_targets
from seer_env.envs.aircraft.kinematics import advance, follow
from seer_env.envs.aircraft.measures import Flown
from seer_env.envs.aircraft.observing import assess, observe_neighbours, observe_own
from seer_env.envs.aircraft.policies import POLICIES, wind_over
from seer_env.envs.aircraft.tracks import BUNDLED, Routes, load_routes
from seer_env.envs.aircraft.traffic import (
    REGION,
    WIND_SPACING,
    draw_routes,
    regions_per_side,
    separated_start,
    wind_tables,
)
from seer_env.envs.aircraft.viewer import render_frame
from seer_env.model import EventModel, Grid, Schedule, handles, output

__all__ = ["Aircraft"]


class Aircraft(EventModel):
    """Aircraft on routes of real flights, which tell each other where they are and keep apart.

    A step: every live agent's action sets its targets; in the first tick every aircraft sends its
    position to neighbours in range (`communication=True`, `Kind.REPORT`, arriving `link_delay` later) or
    senses theirs in the last boundary (`communication=False`, `Kind.SENSE`, an event of its own); on each
    it predicts the closest approach and keeps the most urgent neighbours; at a loss of separation the
    pair exchanges `Kind.RESOLVE`. Ticks integrate the motion.

    Args:
        n_agents: aircraft; every entity is one.
        **arguments: fields of `Arguments`, any of `PERFORMANCE` and `WEIGHTS`, `collision_h` and
            `collision_v` (m), and `expiry` (steps for which a report counts).

    Raises:
        ModelError: a value that cannot work; names it.
    """

    name = "aircraft"
    agent_prefix = "aircraft"

    class Kind(IntEnum):
        ACTION = 0
        TICK = 1
        REPORT = 2
        RESOLVE = 3
        SENSE = 4

    info = INFO
    public = PUBLIC
    payload = 10
    action_kind = Kind.ACTION
    max_cycles = 300  # 25 minutes at 5 s

    def __init__(self, n_agents: int = 400, **arguments: Any):
        own, parameters = divided(Arguments, arguments)
        given = Arguments(n_agents=n_agents, parameters=parameters, **own)
        routes = given.routes
        self.routes = routes if isinstance(routes, Routes) else load_routes(routes or BUNDLED)
        self.per_region, self.jitter, self.discrete = given.per_region, given.jitter, given.discrete
        self.communication, self.neighbours = given.communication, given.neighbours
        self.dt, self.lookahead = given.dt, given.link_delay if given.communication else given.dt
        self.half = REGION * regions_per_side(given.n_agents, given.per_region) / 2
        self.grid = Grid(("x", "y"), given.range / 3, (-self.half, -self.half), (self.half, self.half))
        self.entity = entity_dtype(self.neighbours)
        self.observation_space = spaces.Box(-1.0, 1.0, (OWN + EACH * self.neighbours,), np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (3,), np.float32)
        if self.discrete:
            self.action_space = spaces.MultiDiscrete([DISCRETE_LEVELS] * 3)
        self.policies, self.measures = POLICIES, Flown
        params = given.params() | {"wind_low": -self.half, "wind_inverse": 1.0 / WIND_SPACING}
        tables = self._tables(given.wind, given.wind_seed)
        super().__init__(given.n_agents, params=params, tables=tables)

    def _tables(self, wind: float, wind_seed: int) -> dict[str, np.ndarray]:
        routes = self.routes
        length = np.r_[0.0, np.hypot(np.diff(routes.x), np.diff(routes.y))]
        length[routes.offsets[:-1]] = 0.0
        done = np.cumsum(length)
        total = np.repeat(done[routes.offsets[1:] - 1], np.diff(routes.offsets))
        wind_u, wind_v = wind_tables(self.half, wind, np.random.default_rng(wind_seed))
        return {
            "route_offset": routes.offsets, "route_x": routes.x, "route_y": routes.y, "route_z": routes.z,
            "route_t": routes.t, "route_to_go": total - done, "wind_u": wind_u, "wind_v": wind_v,
        }  # fmt: skip

    def reset(self, state: np.ndarray, schedule: Schedule, rng: np.random.Generator) -> None:
        """Meet `n_agents` flights at random moments, on course, and start their ticks."""
        n, params = self.n_agents, self.params
        chosen = draw_routes(n, len(self.routes), self.per_region, self.jitter, rng)
        minima = params["separation_h"], params["separation_v"]
        point, xyz, velocity = separated_start(self.routes, chosen, *minima, rng)
        for name in chosen.dtype.names[1:]:
            state[name] = chosen[name]
        state["x"], state["y"], state["z"] = xyz.T
        state["vx"], state["vy"] = velocity[:, :2].T
        state["climb"] = np.clip(velocity[:, 2], -params["max_climb"], params["max_climb"])
        state["point"], state["last"] = point, self.routes.offsets[chosen["route"] + 1] - 1
        state["active"], state["near_id"] = 1, -1
        self._align(state)
        schedule(np.arange(n), 0.5 * params["tick"], self.Kind.TICK, 0.0)

    def _align(self, state: np.ndarray) -> None:
        """Point the aircraft so that with the wind they fly along their legs; find their way to go."""
        wind = wind_over(self, state)
        state["wind_x"], state["wind_y"] = wind
        air = state["vx"] - wind[0], state["vy"] - wind[1]
        state["heading"] = np.arctan2(air[1], air[0])
        state["speed"] = np.clip(np.hypot(*air), self.params["min_speed"], self.params["max_speed"])
        state["vx"] = state["speed"] * np.cos(state["heading"]) + wind[0]
        state["vy"] = state["speed"] * np.sin(state["heading"]) + wind[1]
        for target in ("heading", "speed", "climb"):
            state[f"target_{target}"] = state[target]
        route = [self.tables[f"route_{name}"][state["point"]] for name in ("x", "y", "z", "to_go")]
        x = state["mirror_x"] * route[0] + state["shift_x"]
        y = state["mirror_y"] * route[1] + state["shift_y"]
        state["level"] = route[2] + state["shift_z"]
        state["to_go"] = np.hypot(x - state["x"], y - state["y"]) + route[3]
        state["to_go_before"] = state["to_go"]

    def render_frame(self, state: np.ndarray, clock: float, size: tuple[int, int] = (900, 900)) -> np.ndarray:
        """The world as a picture, uint8 `[height, width, 3]`; see `viewer.render_frame`."""
        return render_frame(self, state, clock, size)

    # -- events ------------------------------------------------------------------------------------

    @handles(Kind.ACTION)
    def act(me, event, sim):
        set_targets(me, event.payload, sim.params)

    @handles(Kind.TICK)
    def tick(me, event, sim):
        first = event.payload[0] == 0.0
        if first:
            begin_step(me, sim)
        if me.active == 1:
            advance(me, sim.now, sim.params, sim.tables)
            follow(me, sim.params, sim.tables)
            following = (event.payload[0] + 1.0) % sim.params.ticks
            sim.emit(sim.me, sim.params.tick, 1, following)

    @handles(Kind.REPORT)
    def report(me, event, sim):
        hear(me, event.payload, sim)

    @handles(Kind.RESOLVE)
    def resolve(me, event, sim):
        advise(me, event.payload[0], sim.now, sim.params)

    @handles(Kind.SENSE)
    def sense(me, event, sim):
        hear(me, event.payload, sim)

    # -- outputs -----------------------------------------------------------------------------------

    @output
    def observe(me, obs, info, sim):
        assess(me, info, sim)
        observe_own(me, obs, info, sim.now, sim.params, sim.tables)
        observe_neighbours(me, obs, sim.params)

    @output
    def reward(me, info, sim):
        return info.progress + info.separation + info.alerts + info.effort

    @output
    def terminated(me, info, sim):
        return me.active == 0 or info.collided == 1
