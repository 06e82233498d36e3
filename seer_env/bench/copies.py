"""Copies in one engine beside as many envs stepped one after the other, with the same seeds and actions."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from seer_env.registration import make

__all__ = ["CASES", "GAIN", "SEPARATE", "TOGETHER", "Case", "Pair", "seconds_per_step"]

#: Contenders, and what the second gains.
SEPARATE, TOGETHER, GAIN = "separate envs", "copies", "envs / copies"

#: Steps of an episode: both contenders play the same ones again and again, from the same resets.
EPISODE = 100


class Case(NamedTuple):
    """A world of `agents` agents, `copies` times, on `threads` threads."""

    world: str
    agents: int
    copies: int
    threads: int

    def __str__(self) -> str:
        return f"{self.copies} copies of {self.world}, {self.agents} agents, {self.threads} threads"


CASES = tuple(
    Case(world, agents, copies, threads)
    for world, agents, copies in (
        ("flock_v0", 50, 8),
        ("flock_v0", 500, 8),
        ("flock_v0", 500, 32),
        ("aircraft_v0", 100, 8),
    )
    for threads in (1, 2)
)


def seconds_per_step(reset: Callable[[], object], step: Callable, at_least_s: float) -> float:
    """Mean wall seconds of a step, over as many episodes as fill `at_least_s`; resets are not counted."""
    elapsed, episodes = 0.0, 0
    while elapsed < at_least_s:
        reset()
        start = time.perf_counter()
        for k in range(EPISODE):
            step(k)
        elapsed += time.perf_counter() - start
        episodes += 1
    return elapsed / (episodes * EPISODE)


class Pair:
    """Copies, and envs that start from the same seeds and are given the same actions."""

    def __init__(self, case: Case, seed: int):
        how: dict[str, Any] = {
            "n_agents": case.agents,
            "threads": case.threads,
            "scheduler": "serial" if case.threads == 1 else "seer",
        }
        self._seed = seed
        self._copies = make(case.world, copies=case.copies, **how)
        self._envs = [make(case.world, **how) for _ in range(case.copies)]
        shape = (EPISODE, case.copies, case.agents, self._copies.model.action_size)
        # Legal in the worlds of `CASES`.
        self._actions = np.random.default_rng(seed).uniform(-1.0, 1.0, shape).astype(np.float32)

    def reset_envs(self) -> None:
        """Start an episode in every env."""
        for i, env in enumerate(self._envs):
            env.reset_arrays(self._seed + i)

    def reset_copies(self) -> None:
        """Start an episode in every copy."""
        self._copies.reset_arrays(self._seed)

    def step_envs(self, k: int) -> None:
        """The k-th step of every env, one after the other."""
        for env, actions in zip(self._envs, self._actions[k]):
            env.step_arrays(actions)

    def step_copies(self, k: int) -> None:
        """The k-th step of all copies."""
        self._copies.step_arrays(self._actions[k])

    def equal_after_an_episode(self) -> bool:
        """Play an episode; whether every copy then has its env's digest."""
        self.reset_envs()
        self.reset_copies()
        for k in range(EPISODE):
            self.step_envs(k)
            self.step_copies(k)
        return all(self._copies.digest(i) == env.digest() for i, env in enumerate(self._envs))

    def close(self) -> None:
        """Release the engines."""
        self._copies.close()
        for env in self._envs:
            env.close()
