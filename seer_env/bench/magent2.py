"""MAgent2's `battle_v4` as a contender beside our `battle_v0`: the same game, random actions.

MAgent2 is not a dependency: `pip install magent2==0.3.4 pygame`.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from seer_env.bench.players import ENDLESS
from seer_env.commands.output import CommandError
from seer_env.envs.battle.field import SMALLEST_MAP, capacity

__all__ = ["MAgent2Battle", "closest_map", "equal_terms", "why_absent"]

MODULE, VERSION = "magent2.environments.battle_v4", "0.3.4"
ACTIONS = 21
#: MAgent2 keeps `max_cycles` in 32 bits.
LONGEST = min(ENDLESS, 1 << 30)


def why_absent() -> str | None:
    """Why MAgent2 cannot be measured here and what to do, or None if it can."""
    try:
        importlib.import_module(MODULE)
    except ImportError as error:
        return f"it cannot be imported ({error}): pip install magent2=={VERSION} pygame"
    return None


def closest_map(agents: int) -> int:
    """Edge of the map on which MAgent2 starts the number of agents that is closest to `agents`."""
    sizes = range(SMALLEST_MAP, SMALLEST_MAP + 5 * int(agents**0.5))
    return min(sizes, key=lambda size: (abs(2 * capacity(size) - agents), size))


def equal_terms(agents: int) -> dict[str, Any]:
    """Arguments that give `battle_v0` the agents and the map of `MAgent2Battle(agents)`, and empty infos."""
    size = closest_map(agents)
    return {"n_agents": 2 * capacity(size), "map_size": size, "infos": False}


class MAgent2Battle:
    """A `players.Player`: MAgent2's battle on the map with about as many agents as asked for.

    Args:
        agents: agents of both armies; MAgent2 starts as many as its formation on the map has.
        seed: of the actions.

    Raises:
        CommandError: magent2 is not installed.
    """

    events = 0

    def __init__(self, agents: int, seed: int = 0):
        absent = why_absent()
        if absent is not None:
            raise CommandError(f"MAgent2: {absent}")
        battle: Any = importlib.import_module(MODULE)
        self.env = battle.parallel_env(map_size=closest_map(agents), max_cycles=LONGEST)
        self.agents = len(self.env.possible_agents)
        self._random = np.random.default_rng(seed)
        self._actions: dict[str, int] = {}
        self.env.agents = []

    @property
    def living(self) -> int:
        return len(self.env.agents)

    def begin(self) -> None:
        self.env.reset(seed=0)

    def choose(self) -> None:
        drawn = self._random.integers(0, ACTIONS, self.living)
        self._actions = dict(zip(self.env.agents, drawn.tolist()))

    def step(self) -> None:
        self.env.step(self._actions)

    def close(self) -> None:
        self.env.close()
