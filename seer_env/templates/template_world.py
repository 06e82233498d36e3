"""Agents on a ring that hold tokens or pass them on. Replace the rules by your own.

A world is a row per entity, kinds of event, and a handler per kind. A handler writes its own row `me`
and reaches others by `sim.emit`, with a delay of at least `lookahead`. `seer_env.EventModel` documents
everything that may be declared and used.
"""

from enum import IntEnum

import numpy as np
from gymnasium import spaces

import seer_env
from seer_env import EventModel, handles, output


class Kind(IntEnum):
    ACT = 0  # an agent's action, at the step's start
    TOKEN = 1  # a token arrives


class TemplateWorld(EventModel):
    """Act: 0 hold, 1 pass a token to the right. See: my tokens, the right neighbour's. Reward: 1 for any."""

    name, Kind, action_kind = "template_world", Kind, Kind.ACT
    dt, lookahead, max_cycles = 1.0, 0.5, 100  # time units per step, of the fastest pass; steps
    entity = np.dtype([("tokens", "i8")])
    public = ("tokens",)  # what others may see, as of the last boundary
    action_space = spaces.Discrete(2)

    def __init__(self, n_agents: int = 100, tokens: int = 1):
        self.observation_space = spaces.Box(0.0, n_agents * tokens, (2,), np.float32)  # one may have all
        super().__init__(n_agents, params={"tokens": tokens})

    def reset(self, state, schedule, rng):
        state["tokens"] = self.params["tokens"]

    @handles(Kind.ACT)
    def act(me, event, sim):
        if event.payload[0] == 1.0 and me.tokens > 0:
            me.tokens -= 1
            sim.emit(right_of(sim.me, sim.n_entities), 0.5 + 0.4 * sim.random(), Kind.TOKEN)

    @handles(Kind.TOKEN)
    def receive(me, event, sim):
        me.tokens += 1

    @output
    def observe(me, obs, info, sim):
        obs[0] = me.tokens
        obs[1] = sim.view(right_of(sim.me, sim.n_entities)).tokens

    @output
    def reward(me, info, sim):
        return 1.0 if me.tokens > 0 else 0.0

    def render_frame(self, state, clock):
        """A picture, uint8 [H, W, 3]: a square per agent, row by row, the brighter the more tokens it has."""
        side = int(np.ceil(np.sqrt(len(state))))
        squares = np.zeros(side * side, np.uint8)
        squares[: len(state)] = np.minimum(80 * state["tokens"], 255)
        grey = squares.reshape(side, side).repeat(12, axis=0).repeat(12, axis=1)
        return np.stack([grey] * 3, axis=2)


def right_of(me, n_entities):
    return (me + 1) % n_entities


seer_env.register("template_world_v0", "template_world:TemplateWorld")
