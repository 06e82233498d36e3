"""Worlds that a benchmark steps with random actions: ours by arrays or by dicts, and MAgent2's battle."""

from __future__ import annotations

import time
from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium import spaces

from seer_env.registration import make

__all__ = ["ArrayPlayer", "DictPlayer", "Pace", "Player", "pace"]

#: An episode is begun anew when fewer than this share of the agents live.
LIVING = 0.9
#: Cycles that no measurement reaches: episodes end by their own rules.
ENDLESS = 1 << 40


class Pace(NamedTuple):
    """What a measurement counted, and the wall seconds that steps took: choosing actions is not counted."""

    steps: int
    agent_steps: int
    events: int
    seconds: float


class Player(Protocol):
    """A world that can be stepped with random actions.

    Attributes:
        agents: agents at the start of an episode.
    """

    agents: int

    @property
    def living(self) -> int:
        """Agents that act in the next step; 0 before an episode."""

    @property
    def events(self) -> int:
        """Events of the last step; 0 where there are none."""

    def begin(self) -> None:
        """Begin an episode."""

    def choose(self) -> None:
        """Draw the actions of the next step."""

    def step(self) -> None:
        """Step with the actions drawn."""

    def close(self) -> None:
        """Release the world."""


def pace(player: Player, at_least_s: float) -> Pace:
    """Step until the steps alone have taken `at_least_s` seconds; a fresh episode where many have died."""
    steps, agent_steps, events, seconds = 0, 0, 0, 0.0
    while seconds < at_least_s:
        if player.living < LIVING * player.agents:
            player.begin()
        player.choose()
        living, start = player.living, time.perf_counter()
        player.step()
        seconds += time.perf_counter() - start
        steps, agent_steps, events = steps + 1, agent_steps + living, events + player.events
    return Pace(steps, agent_steps, events, seconds)


class ArrayPlayer:
    """An env stepped by `step_arrays`: `serial` on one thread, else `seer`; `arguments` are the world's."""

    def __init__(
        self, world: str, n_agents: int, threads: int, seed: int = 0, scheduler: str = "", **arguments: Any
    ):
        self.env: Any = make(
            world,
            n_agents=n_agents,
            threads=threads,
            scheduler=scheduler or ("serial" if threads == 1 else "seer"),
            max_cycles=ENDLESS,
            **arguments,
        )
        self.agents, self._seed = n_agents, seed
        self._random = self.env.policies["random"]
        self._actions: Any = None

    @property
    def living(self) -> int:
        return len(self.env.agents)

    @property
    def events(self) -> int:
        return self.env.last_step_stats.events

    def begin(self) -> None:
        self.env.reset_arrays(self._seed)

    def choose(self) -> None:
        self._actions = self._drawn()

    def _drawn(self) -> np.ndarray:
        """Random actions `[M, A]` in the dtype of the action space, as a policy would give them."""
        return self._random(self.env).astype(self.env.model.action_space.dtype)

    def step(self) -> None:
        self.env.step_arrays(self._actions)

    def close(self) -> None:
        self.env.close()


class DictPlayer(ArrayPlayer):
    """The same, stepped by `step`."""

    def choose(self) -> None:
        block = self._drawn()[self.env.live]
        scalar = isinstance(self.env.model.action_space, spaces.Discrete)
        self._actions = dict(zip(self.env.agents, block[:, 0].tolist() if scalar else block))

    def step(self) -> None:
        self.env.step(self._actions)
