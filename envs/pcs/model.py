"""`Pcs`: the world as an `EventModel`."""

from __future__ import annotations

import math

import numpy as np
from gymnasium import spaces

from seer_env.checks import flag, whole
from seer_env.envs.pcs.arguments import check_numbers, make_topology
from seer_env.envs.pcs.constants import (
    EACH,
    INFO,
    LEVELS,
    MAX_GUARD,
    MOST_CHANNELS,
    MOST_PATHS,
    OWN,
    RADIO,
    SHOWN,
    STATIC_GUARD,
    WEIGHTS,
    Kind,
    cell_dtype,
)
from seer_env.envs.pcs.demand import day_profile, hotspot_weights
from seer_env.envs.pcs.handling import (
    announce,
    arrive,
    begin_step,
    complete,
    hear,
    leave,
    next_arrival,
    receive,
    recheck,
    set_controls,
)
from seer_env.envs.pcs.measures import Served
from seer_env.envs.pcs.observing import assess, observe_neighbours, observe_own
from seer_env.envs.pcs.policies import POLICIES
from seer_env.envs.pcs.viewer import render_frame
from seer_env.envs.pcs.warm import start_calls
from seer_env.model import EventModel, Schedule, handles, output

__all__ = ["Pcs"]


class Pcs(EventModel):
    """A Personal Communication System: base stations that carry calls and hand them to each other.

    A step: every station's action sets its power level, guard channels and admission threshold; it
    announces load, queue and power to its neighbours. New calls arrive (`Kind.ARRIVAL`), are completed
    (`COMPLETION`), or move with their mobile (`HANDOFF_LEAVE`) and ask for a channel next door
    (`HANDOFF_RECEIVE`); now and then power is allocated anew (`FADING`).

    Args:
        n_agents: cells; every entity is one.
        topology: "hexagonal" or "square", the most square grid of so many cells; or a graph in CSR form
            `(offsets, neighbours)`.
        wrap: a grid on a torus, or one with borders.
        positions: of the cells of a graph, `[n_agents, 2]`; on a circle if None.
        channels: of each cell.
        interarrival: s between new calls of a cell, the mean over cells. duration, residence: mean s of
            a call, and of a mobile's stay in a cell.
        mobility: with it calls move. Without, no call leaves its cell.
        fading: with it gains change, every `recheck` s. Without, they are 1 and no call is lost to it.
        communication: with it stations announce. Without this and `mobility` no event crosses, and
            the lookahead is the whole step.
        complexity: paths that make up a gain, `>= 1`: the work per event.
        link_delay: s that a handoff or an announcement takes; the lookahead.
        dt: s per step.
        discrete: actions `MultiDiscrete([5, max_guard + 1, 5])` instead of `Box(-1, 1, (3,))`.
        max_guard: the most guard channels that an action can keep; `MAX_GUARD` or all channels if None.
        hotspot, skew: share of cells in the hot spot, and how many times the load of the others they
            have; the mean over cells does not change.
        tour: s in which the hot spot crosses the world; 0: it stands still.
        diurnal: the load follows the hours of a week; `day`: s in a day; `start_hour`: at reset.
        load_interval: s for which a changing load is held constant.
        warm: begin with calls in progress, from the stationary law, or with none.
        static_guard: guard channels of the policy `guard`; `STATIC_GUARD` or `max_guard` if None.
        **parameters: any of `RADIO` and `WEIGHTS`.

    Raises:
        ModelError: a value that cannot work; names it.
    """

    name = "pcs"
    agent_prefix = "station"
    Kind = Kind
    info = INFO
    action_kind = Kind.ACTION
    max_cycles = 360  # an hour at 10 s

    def __init__(
        self,
        n_agents: int = 400,
        *,
        topology: str | tuple = "hexagonal",
        wrap: bool = True,
        positions: np.ndarray | None = None,
        channels: int = 70,
        interarrival: float = 1.0,
        duration: float = 60.0,
        residence: float = 150.0,
        mobility: bool = True,
        fading: bool = True,
        recheck: float = 60.0,
        communication: bool = True,
        complexity: int = 8,
        link_delay: float = 0.5,
        dt: float = 10.0,
        discrete: bool = False,
        max_guard: int | None = None,
        hotspot: float = 0.1,
        skew: float = 1.5,
        tour: float = 3600.0,
        diurnal: bool = False,
        day: float = 86_400.0,
        start_hour: float = 8.0,
        load_interval: float = 60.0,
        warm: bool = True,
        static_guard: int | None = None,
        **parameters: float,
    ):
        n_agents, complexity = whole("n_agents", n_agents), whole("complexity", complexity, most=MOST_PATHS)
        self.channels = whole("channels", channels, most=MOST_CHANNELS)
        max_guard = min(MAX_GUARD, self.channels) if max_guard is None else max_guard
        max_guard = whole("max_guard", max_guard, most=self.channels)
        static_guard = min(STATIC_GUARD, max_guard) if static_guard is None else static_guard
        self.static_guard = whole("static_guard", static_guard, 0, max_guard)
        numbers = dict(
            interarrival=interarrival, duration=duration, residence=residence, recheck=recheck,
            link_delay=link_delay, dt=dt, skew=skew, tour=tour, hotspot=hotspot, day=day,
            start_hour=start_hour, load_interval=load_interval,
        )  # fmt: skip
        check_numbers(numbers, parameters)
        mobility, fading = flag("mobility", mobility), flag("fading", fading)
        communication, diurnal = flag("communication", communication), flag("diurnal", diurnal)
        self.discrete, self.warm = flag("discrete", discrete), flag("warm", warm)
        self.topology = make_topology(n_agents, topology, flag("wrap", wrap), positions)
        moving = tour > 0 and hotspot > 0 and skew != 1
        self.dt = float(dt)
        self.lookahead = float(link_delay if mobility or communication else dt)
        self.entity = cell_dtype(self.channels, max(self.topology.degree, 1))
        shown = min(self.topology.degree, SHOWN)
        self.observation_space = spaces.Box(-1.0, 1.0, (OWN + EACH * shown,), np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (3,), np.float32)
        if discrete:
            self.action_space = spaces.MultiDiscrete([LEVELS, max_guard + 1, LEVELS])
        self.policies, self.measures = POLICIES, Served
        params: dict[str, float] = {
            "channels": self.channels, "interarrival": float(interarrival), "duration": float(duration),
            "residence": float(residence), "mobility": mobility, "fading": fading,
            "recheck": float(recheck), "communication": communication, "complexity": complexity,
            "link_delay": float(link_delay), "step": self.dt, "discrete": self.discrete,
            "max_guard": max_guard, "tour": float(tour) if moving else 1.0, "day": float(day),
            "start": start_hour / 24.0 * day, "load_interval": float(load_interval),
            "constant": not (moving or diurnal),
        }  # fmt: skip
        params |= {name: float(parameters.get(name, value)) for name, value in (RADIO | WEIGHTS).items()}
        tables = {
            "offsets": self.topology.offsets,
            "neighbours": self.topology.neighbours,
            "slots": self.topology.slots,
            "weights": hotspot_weights(self.topology, float(hotspot), float(skew), moving),
            "profile": day_profile(diurnal),
        }
        super().__init__(n_agents, params=params, tables=tables)

    def reset(self, state: np.ndarray, schedule: Schedule, rng: np.random.Generator) -> None:
        """Begin with calls in progress (`warm`) or none, middle power, no guard channels, all admitted."""
        n, params = self.n_agents, self.params
        state["cap"] = math.sqrt(params["low_cap"] * params["high_cap"])
        state["threshold"] = 1.0
        state["in_use"] = state["place"] = np.arange(self.channels)
        state["bound"] = -1
        if self.warm:
            start_calls(self, state, schedule, rng)
        schedule(np.arange(n), 0.0, Kind.ARRIVAL, 0.0, 0.0)
        if params["fading"]:
            schedule(np.arange(n), rng.uniform(0.0, params["recheck"], n), Kind.FADING)

    def arrival_rates(self, clock: float) -> np.ndarray:
        """New calls per s of every cell at a time (s since reset), float64 `[n_agents]`."""
        return (
            self.tables["profile"][self.half_hour(clock)] * self.weights(clock) / self.params["interarrival"]
        )

    def weights(self, clock: float) -> np.ndarray:
        """Every cell's share of the load, relative to the mean, at a time; float64 `[n_agents]`."""
        params, weights = self.params, self.tables["weights"]
        since = clock // params["load_interval"] * params["load_interval"]
        return weights[int(since / params["tour"] * len(weights)) % len(weights)]

    def half_hour(self, clock: float) -> int:
        """Half-hour of the week at a time."""
        params = self.params
        since = clock // params["load_interval"] * params["load_interval"]
        return int((params["start"] + since) / params["day"] * 48.0) % len(self.tables["profile"])

    def render_frame(
        self, state: np.ndarray, clock: float, size: tuple[int, int] = (1000, 900)
    ) -> np.ndarray:
        """The world as a picture, uint8 `[height, width, 3]`; see `viewer.render_frame`."""
        return render_frame(self, state, clock, size)

    # -- events ------------------------------------------------------------------------------------

    @handles(Kind.ACTION)
    def act(me, event, sim):
        begin_step(me, sim)
        set_controls(me, event.payload, sim.params)
        if sim.params.communication:
            announce(me, sim)

    @handles(Kind.ARRIVAL)
    def arrival(me, event, sim):
        if event.payload[1] != 0.0:
            arrive(me, sim)
        next_arrival(sim, int(event.payload[0]))

    @handles(Kind.COMPLETION)
    def completion(me, event, sim):
        complete(me, int(event.payload[0]), event.payload[1], sim.now)

    @handles(Kind.HANDOFF_LEAVE)
    def handoff_leave(me, event, sim):
        leave(me, int(event.payload[0]), event.payload[1], sim)

    @handles(Kind.HANDOFF_RECEIVE)
    def handoff_receive(me, event, sim):
        receive(me, event.payload[0], sim)

    @handles(Kind.FADING)
    def fading(me, event, sim):
        recheck(me, sim)
        sim.emit(sim.me, sim.params.recheck, Kind.FADING)

    @handles(Kind.ANNOUNCE)
    def announcement(me, event, sim):
        hear(me, event.payload)

    # -- outputs -----------------------------------------------------------------------------------

    @output
    def observe(me, obs, info, sim):
        degree = sim.tables.offsets[sim.me + 1] - sim.tables.offsets[sim.me]
        assess(me, info, sim.now, sim.params)
        observe_own(me, obs, info, sim.now, degree, sim.params)
        observe_neighbours(me, obs, degree, sim.params)

    @output
    def reward(me, info, sim):
        return info.carried + info.blocked + info.dropped + info.power
