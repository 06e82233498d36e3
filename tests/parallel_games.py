"""Small games as PettingZoo `ParallelEnv`s, whose best play is known."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

OBSERVATIONS = spaces.Box(0.0, 1.0, (3,), np.float32)


class Patience(ParallelEnv):
    """Two decisions each. Taking the sweet (0) in the first earns 1 and ends the episode; waiting (1) earns
    nothing then, and 3 for a 1 in the second decision. In each, choice 2 earns 10, but a mask forbids it.

    So the best return is 3, and 1 the best for who looks one step ahead.
    """

    metadata = {"name": "patience"}  # noqa: RUF012 - as PettingZoo has it

    def __init__(self, players: int = 2, render_mode: str | None = None):
        self.possible_agents = [f"player_{i}" for i in range(players)]
        self.agents: list[str] = []

    def observation_space(self, agent):
        return OBSERVATIONS

    def action_space(self, agent):
        return spaces.Discrete(3)

    def reset(self, seed=None, options=None):
        self.agents, self.waited = list(self.possible_agents), False
        return self._seen(self.agents), self._infos(self.agents)

    def step(self, actions):
        acted, first = self.agents, not self.waited
        self.waited = True
        rewards = {a: self._reward(first, actions[a]) for a in acted}
        ended = {a: not first or actions[a] == 0 for a in acted}
        self.agents = [a for a in acted if not ended[a]]
        return self._seen(acted), rewards, ended, dict.fromkeys(acted, False), self._infos(acted)

    def _reward(self, first, action):
        return 10.0 if action == 2 else float(action == 0) if first else 3.0 * (action == 1)

    def _seen(self, agents):
        row = np.array([not self.waited, self.waited, 1.0], np.float32)
        return {a: row for a in agents}

    def _infos(self, agents):
        return {a: {"action_mask": np.array([1, 1, 0], np.int8)} for a in agents}


class Endless(ParallelEnv):
    """Everyone earns 1 in every step, and is cut off after four; `broken` earns NaN in the third, in episodes
    of the seed `unlucky` alone if there is one.

    `blind` sees NaN when an episode begins.
    """

    metadata = {"name": "endless"}  # noqa: RUF012 - as PettingZoo has it

    def __init__(self, broken: str | None = None, sizes=(1, 1), blind: str | None = None, unlucky=None):
        self.possible_agents, self.agents, self.broken = ["anna", "berta"], [], broken
        self.blind, self.unlucky = blind, unlucky
        self.sizes = dict(zip(self.possible_agents, sizes))

    def observation_space(self, agent):
        return OBSERVATIONS

    def action_space(self, agent):
        return spaces.Box(-1.0, 1.0, (self.sizes[agent],), np.float32)

    def reset(self, seed=None, options=None):
        self.agents, self.cycle, self.taken = list(self.possible_agents), 0, []
        self.lucky = self.unlucky not in (None, seed)
        seen = self._seen()
        if self.blind is not None:
            seen[self.blind][1] = np.nan
        return seen, {a: {} for a in self.agents}

    def step(self, actions):
        self.cycle += 1
        self.taken.append(actions)
        agents, cut = self.agents, self.cycle == 4
        broken = self.broken if self.cycle == 3 and not self.lucky else None
        rewards = {a: float("nan") if a == broken else 1.0 for a in agents}
        self.agents = [] if cut else agents
        ended, infos = dict.fromkeys(agents, False), {a: {} for a in agents}
        return self._seen(agents), rewards, ended, dict.fromkeys(agents, cut), infos

    def _seen(self, agents=None):
        return {a: np.array([self.cycle / 4, 0.0, 0.0], np.float32) for a in agents or self.agents}


class Wandering(Endless):
    """Its observations show a random walk that the seed and the actions decide; unless it is `moody`."""

    metadata = {"name": "wandering"}  # noqa: RUF012 - as PettingZoo has it

    def __init__(self, moody: bool = False):
        super().__init__()
        self.moody = moody

    def reset(self, seed=None, options=None):
        self.random = np.random.default_rng(None if self.moody else seed)
        self.place = self.random.random()
        return super().reset(seed, options)

    def step(self, actions):
        self.place += self.random.normal() + float(sum(action[0] for action in actions.values()))
        return super().step(actions)

    def _seen(self, agents=None):
        return {a: np.array([self.cycle / 4, self.place, 0.0], np.float32) for a in agents or self.agents}


class Deadly(Wandering):
    """Its third step kills the process, while there is the file `trigger`; `once` removes it before."""

    metadata = {"name": "deadly"}  # noqa: RUF012 - as PettingZoo has it

    def __init__(self, trigger: str, once: bool = True):
        super().__init__()
        self.trigger, self.once = Path(trigger), once

    def step(self, actions):
        if self.cycle == 2 and self.trigger.exists():
            if self.once:
                self.trigger.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().step(actions)
