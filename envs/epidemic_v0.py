"""Epidemic: people who may avoid meetings, and an infection that travels by events. A tutorial world."""

from enum import IntEnum

import numpy as np
from gymnasium import spaces

from seer_env.checks import number, pairs, whole
from seer_env.model import EventModel, handles, output

Kind = IntEnum("Kind", "KEEP_DISTANCE CATCH HEAR", start=0)
DELAY = 0.25  # days that an infection, or word of it, is under way


class Epidemic(EventModel):
    """Act: share of meetings to avoid. See: am I ill, was I, how many neighbours said that they are ill."""

    name, Kind, action_kind, lookahead, max_cycles = "epidemic", Kind, Kind.KEEP_DISTANCE, DELAY, 100
    entity = np.dtype([("distance", "f8"), ("ill_nearby", "i8"), ("well_at", "f8")])  # 0 until the illness
    action_space = spaces.Box(0.0, 1.0, (1,))

    def __init__(self, n_agents=500, patients=5, gap=14.0, illness=7.0, edges=None):
        """Days to the first meeting on an edge (`gap`) and of `illness`: means. `edges`: int `[E, 2]`."""
        n_agents, patients = whole("n_agents", n_agents), whole("patients", patients, 0, n_agents)
        gap, illness = number("gap", gap, positive=True), number("illness", illness, positive=True)
        if edges is None:
            edges = np.random.default_rng(0).integers(n_agents, size=(3 * n_agents, 2))
        edges = pairs("edges", edges, n_agents)
        ends = np.unique(np.concatenate([edges, edges[:, ::-1]]), axis=0)  # sorted: a block per person
        ends = ends[ends[:, 0] != ends[:, 1]]  # nobody meets themselves
        tables = {"start": np.searchsorted(ends[:, 0], np.arange(n_agents + 1)), "neighbour": ends[:, 1]}
        self.observation_space = spaces.Box(0.0, np.array([1, 1, np.diff(tables["start"]).max()], np.float32))
        super().__init__(n_agents, None, {"patients": patients, "gap": gap, "illness": illness}, tables)

    def reset(self, state, schedule, rng):
        schedule(rng.choice(self.n_agents, self.params["patients"], replace=False), 0.0, Kind.CATCH)

    @handles(Kind.KEEP_DISTANCE)
    def keep_distance(me, event, sim):
        me.distance = event.payload[0]

    @handles(Kind.CATCH)
    def catch(me, event, sim):
        if me.well_at == 0.0 and sim.random() >= me.distance * event.payload[0]:
            days = sim.exponential(sim.params.illness)
            me.well_at = sim.now + days
            for n in range(sim.tables.start[sim.me], sim.tables.start[sim.me + 1]):
                other, meeting = sim.tables.neighbour[n], sim.exponential(sim.params.gap)
                sim.emit(other, DELAY, Kind.HEAR, 1.0)
                sim.emit(other, DELAY + days, Kind.HEAR, -1.0)
                if meeting < days:
                    sim.emit(other, DELAY + meeting, Kind.CATCH, 1.0)

    @handles(Kind.HEAR)
    def hear(me, event, sim):
        me.ill_nearby += int(event.payload[0])

    @output
    def observe(me, obs, info, sim):
        obs[0], obs[1], obs[2] = sim.now < me.well_at, me.well_at > 0.0, me.ill_nearby

    @output
    def reward(me, info, sim):
        return -0.2 * me.distance - (1.0 if sim.now < me.well_at else 0.0)
