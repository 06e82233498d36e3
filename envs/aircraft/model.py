"""`Aircraft`: the world as an `EventModel`."""

from __future__ import annotations

from enum import IntEnum
from os import PathLike

import numpy as np
from gymnasium import spaces

from seer_env.checks import flag, number, whole
from seer_env.envs.aircraft.constants import (
    COLLISION_H,
    COLLISION_V,
    DISCRETE_LEVELS,
    EACH,
    HORIZON,
    INFO,
    OWN,
    PERFORMANCE,
    PUBLIC,
    SEPARATION_H,
    SEPARATION_V,
    WEIGHTS,
    entity_dtype,
)
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
from seer_env.errors import ModelError
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
        communication: reports between aircraft, or every aircraft for itself (no cross-entity event).
        complexity: segments of the prediction on each report, `>= 1`: the work per event.
        link_delay: s between sending and arrival of a report; the lookahead. With
            `communication=False` no event crosses, and the lookahead is the whole step.
        discrete: actions `MultiDiscrete([5, 5, 5])` for -1, -0.5, 0, 0.5, 1 instead of `Box(-1, 1, (3,))`.
        neighbours: how many urgent neighbours an aircraft keeps and observes.
        receivers: the most receivers of a report. A crowded channel is time-shared: with more
            neighbours in range, each hears every second, third, ... report.
        dt, ticks: s per step, and ticks in it.
        range: m, horizontal reach of reports. reach: m, vertical.
        separation_h, separation_v, horizon: minima (m) and time ahead (s) of a conflict.
        per_region: aircraft in each region of 400 km: the density (see `traffic.py`).
        jitter: m, standard deviation of the shift of what is not flown as recorded.
        wind: m/s at the ceiling, of the mean wind; its pattern comes from `wind_seed`.
        routes: a routes file, `Routes`, or None for the bundled ones.
        **parameters: any of `PERFORMANCE` and `WEIGHTS`, of `collision_h`, `collision_v` (m), and
            `expiry` (steps for which a report counts).

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

    def __init__(
        self,
        n_agents: int = 400,
        *,
        communication: bool = True,
        complexity: int = 8,
        link_delay: float = 0.5,
        discrete: bool = False,
        neighbours: int = 6,
        receivers: int = 24,
        dt: float = 5.0,
        ticks: int = 5,
        range: float = 75_000.0,
        reach: float = 2_000.0,
        separation_h: float = SEPARATION_H,
        separation_v: float = SEPARATION_V,
        horizon: float = HORIZON,
        per_region: int = 100,
        jitter: float = 2_000.0,
        wind: float = 15.0,
        wind_seed: int = 0,
        routes: Routes | str | PathLike | None = None,
        **parameters: float,
    ):
        positive = dict(
            n_agents=n_agents, complexity=complexity, link_delay=link_delay, neighbours=neighbours,
            receivers=receivers, dt=dt, ticks=ticks, range=range, reach=reach, separation_h=separation_h,
            separation_v=separation_v, horizon=horizon, per_region=per_region,
        )  # fmt: skip
        extra = PERFORMANCE | WEIGHTS | {"collision_h": COLLISION_H, "collision_v": COLLISION_V, "expiry": 6}
        _check(positive, parameters, extra)
        communication, discrete = flag("communication", communication), flag("discrete", discrete)
        wind, wind_seed = number("wind", wind), whole("wind_seed", wind_seed, 0)
        if 0.5 * dt / ticks + link_delay >= dt:
            raise ModelError(
                f"link_delay={link_delay} s: a report must arrive within the step it is sent in, so "
                f"below dt - dt / ticks / 2 = {dt - 0.5 * dt / ticks:g} s"
            )
        self.routes = routes if isinstance(routes, Routes) else load_routes(routes or BUNDLED)
        self.per_region, self.jitter, self.discrete = int(per_region), number("jitter", jitter, 0.0), discrete
        self.communication, self.neighbours = communication, int(neighbours)
        self.dt, self.lookahead = float(dt), float(link_delay if communication else dt)
        self.half = REGION * regions_per_side(n_agents, per_region) / 2
        self.grid = Grid(("x", "y"), range / 3, (-self.half, -self.half), (self.half, self.half))
        self.entity = entity_dtype(self.neighbours)
        self.observation_space = spaces.Box(-1.0, 1.0, (OWN + EACH * self.neighbours,), np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (3,), np.float32)
        if discrete:
            self.action_space = spaces.MultiDiscrete([DISCRETE_LEVELS] * 3)
        self.policies, self.measures = POLICIES, Flown
        params: dict[str, float] = {
            "communication": self.communication, "discrete": self.discrete, "complexity": int(complexity),
            "neighbours": self.neighbours, "receivers": int(receivers), "ticks": int(ticks),
            "tick": dt / ticks, "step": self.dt, "link_delay": float(link_delay), "range": float(range),
            "reach": float(reach), "separation_h": float(separation_h), "separation_v": float(separation_v),
            "horizon": float(horizon), "wind_low": -self.half, "wind_inverse": 1.0 / WIND_SPACING,
        }  # fmt: skip
        params |= {name: type(value)(parameters.get(name, value)) for name, value in extra.items()}
        # Closer than this, two aircraft may have met since the boundary before.
        params["near"] = max(params["separation_h"], params["collision_h"] + 2.5 * params["max_speed"] * dt)
        super().__init__(n_agents, params=params, tables=self._tables(wind, wind_seed))

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


#: Arguments that count something, and the most of it.
WHOLE = dict(n_agents=None, complexity=1_000_000, neighbours=32, receivers=None, ticks=1_000, per_region=None)


def _check(positive: dict[str, float], given: dict[str, float], known: dict[str, float]) -> None:
    for name, value in positive.items():
        if name in WHOLE:
            whole(name, value, most=WHOLE[name])
        else:
            number(name, value, positive=True)
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise ModelError(f"unknown parameters {unknown}; choose from {sorted(positive)} or {sorted(known)}")
    values = known | given
    for name, value in given.items():
        number(name, value, 0.0)
    if not 0 < values["min_speed"] < values["max_speed"]:
        raise ModelError(f"min_speed={values['min_speed']} must be above 0 and below max_speed")
