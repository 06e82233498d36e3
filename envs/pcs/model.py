"""`Pcs`: the world as an `EventModel`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from gymnasium import spaces

from seer_env.checks import divided
from seer_env.envs.pcs.arguments import Arguments, make_topology
from seer_env.envs.pcs.constants import EACH, INFO, LEVELS, OWN, SHOWN, Kind, cell_dtype
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
        **arguments: fields of `Arguments`, and any of `RADIO` and `WEIGHTS`.

    Raises:
        ModelError: a value that cannot work; names it.
    """

    name = "pcs"
    agent_prefix = "station"
    Kind = Kind
    info = INFO
    action_kind = Kind.ACTION
    max_cycles = 360  # an hour at 10 s

    def __init__(self, n_agents: int = 400, **arguments: Any):
        own, parameters = divided(Arguments, arguments)
        given = Arguments(n_agents=n_agents, parameters=parameters, **own)
        self.channels, self.static_guard = given.channels, given.static_guard
        self.discrete, self.warm = given.discrete, given.warm
        self.topology = make_topology(given.n_agents, given.topology, given.wrap, given.positions)
        self.dt = given.dt
        self.lookahead = given.link_delay if given.mobility or given.communication else given.dt
        self.entity = cell_dtype(self.channels, max(self.topology.degree, 1))
        shown = min(self.topology.degree, SHOWN)
        self.observation_space = spaces.Box(-1.0, 1.0, (OWN + EACH * shown,), np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (3,), np.float32)
        if self.discrete:
            self.action_space = spaces.MultiDiscrete([LEVELS, given.max_guard + 1, LEVELS])
        self.policies, self.measures = POLICIES, Served
        tables = {
            "offsets": self.topology.offsets,
            "neighbours": self.topology.neighbours,
            "slots": self.topology.slots,
            "weights": hotspot_weights(self.topology, given.hotspot, given.skew, given.moving),
            "profile": day_profile(given.diurnal),
        }
        super().__init__(given.n_agents, params=given.params(), tables=tables)

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
