"""What it costs to touch memory at random: the reason why events of a large world cost more."""

from __future__ import annotations

import time

import numba
import numpy as np

__all__ = ["Walk"]

LINE = 64
STEPS = 200_000


class Walk:
    """A random tour through as many cache lines as a world of `entities` has in use.

    Each line names the next, so that no access can begin before the one before it has ended.

    Args:
        entities: of the world.
        lines: cache lines that each has in use.
        seed: of the tour.
    """

    def __init__(self, entities: int, lines: int = 3, seed: int = 0):
        size = entities * lines
        order = np.random.default_rng(seed).permutation(size)
        self._next = np.zeros((size, LINE // 8), np.int64)
        self._next[order, 0] = np.roll(order, -1)
        self._at = 0
        walk(self._next, 0, 1)

    def __call__(self) -> dict[str, float]:
        """Nanoseconds per access; goes on where it stopped."""
        started = time.perf_counter_ns()
        self._at = walk(self._next, self._at, STEPS)
        return {"ns/access": (time.perf_counter_ns() - started) / STEPS}


@numba.njit
def walk(following, at, steps):
    """Follow the tour from `at`; where it ends."""
    for _ in range(steps):
        at = following[at, 0]
    return at
