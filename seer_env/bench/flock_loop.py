"""The yardstick of `bench flock`: the rules of `seer_env.envs.flock_v0` as a hand-written numba loop.

What a good user writes for a step-synchronous world: move every agent, sort the agents by cell,
let each look through the 3 x 3 cells around it. Positions and velocities are copied in cell order,
so that neighbours are near in memory, and observations go into one array that every step reuses.
Built twice from one source: serial, and parallel with numba's `prange` in the moving and the
looking (a counting sort does not share well).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numba
import numpy as np

from seer_env.envs.flock_v0 import COLLISION, DT, RADIUS
from seer_env.runtime.entry import start_layer

OBSERVATION = 18


class FlockLoop:
    """A flock stepped by the loop.

    Args:
        state: rows of `Flock.entity`, `[N]`, `N >= 18` (fewer fit no 3 x 3 cells); copied.
        side: edge of the torus.
        parallel: the `prange` build, on as many threads as `numba.set_num_threads` says.

    Attributes:
        observations: float32 `[N, 18]`, overwritten by every step.
        rewards: float32 `[N]`, overwritten by every step.
    """

    def __init__(self, state: np.ndarray, side: float, parallel: bool = False):
        n, self._side, self._cells = len(state), side, int(side / RADIUS)
        if self._cells < 3:
            raise ValueError(f"the loop needs at least 3 cells a side, a torus of {side} has {self._cells}")
        self._positions = np.stack([state["x"], state["y"]], axis=1)
        self._velocities = np.stack([state["vx"], state["vy"]], axis=1)
        self._cell, self._order = np.zeros(n, np.int32), np.zeros(n, np.int32)
        self._starts = np.zeros(self._cells**2 + 2, np.int32)
        self._sorted_positions, self._sorted_velocities = np.zeros((n, 2)), np.zeros((n, 2))
        self.observations, self.rewards = np.zeros((n, OBSERVATION), np.float32), np.zeros(n, np.float32)
        self._move, self._look = _kernels(parallel)

    def step(self, actions: np.ndarray) -> None:
        """Move by `actions`, float32 `[N, 2]`, clipped to -1..1; then look."""
        self._move(self._positions, self._velocities, actions, self._cell, self._side, self._cells)
        index = (self._cell, self._starts, self._order)
        copies = (self._sorted_positions, self._sorted_velocities)
        sort(*index, self._positions, self._velocities, *copies)
        self._look(*index, *copies, self.observations, self.rewards, self._side, self._cells)


@cache
def _kernels(parallel: bool) -> tuple[Callable, Callable]:
    """`move` and `look` of one build. Not cached on disk: numba's cache takes the builds for one."""
    if parallel:
        start_layer()  # not in this thread, whose torch would notice
    build = numba.njit(parallel=parallel)
    return build(move), build(look)


def move(positions, velocities, actions, cell, side, cells):
    """Accelerate, move, wrap, and note each agent's cell (row by row)."""
    scale = cells / side
    for i in numba.prange(len(positions)):
        for d in range(2):
            v = 0.95 * velocities[i, d] + DT * min(max(actions[i, d], -1.0), 1.0)
            p = positions[i, d] + DT * v
            if p < 0.0:
                p += side
            elif p >= side:
                p -= side
            if p >= side:  # a tiny negative p rounds up to side
                p = 0.0
            velocities[i, d], positions[i, d] = v, p
        column = min(int(positions[i, 0] * scale), cells - 1)
        cell[i] = min(int(positions[i, 1] * scale), cells - 1) * cells + column


@numba.njit(cache=True)
def sort(cell, starts, order, positions, velocities, sorted_positions, sorted_velocities):
    """Counting sort by cell. Afterwards cell c holds ranks `starts[c + 1]` to `starts[c + 2]`."""
    starts[:] = 0
    for i in range(cell.size):
        starts[cell[i] + 1] += 1
    for c in range(1, starts.size):
        starts[c] += starts[c - 1]
    for i in range(cell.size - 1, -1, -1):  # from the back: stable, and ends become starts
        starts[cell[i] + 1] -= 1
        rank = starts[cell[i] + 1]
        order[rank] = i
        for d in range(2):
            sorted_positions[rank, d] = positions[i, d]
            sorted_velocities[rank, d] = velocities[i, d]


def look(cell, starts, order, positions, velocities, observations, rewards, side, cells):
    """Count who is in sight, find the four nearest, write observation and reward."""
    for j in numba.prange(order.size):
        i, x, y = order[j], positions[j, 0], positions[j, 1]
        count, q0, k0, k1, k2, k3 = neighbours(j, cell[i], x, y, starts, positions, side, cells)
        seen = observations[i]
        seen[0], seen[1], at = velocities[j, 0], velocities[j, 1], 2
        for k in (k0, k1, k2, k3):
            if k < 0:
                seen[at] = seen[at + 1] = seen[at + 2] = seen[at + 3] = 0.0
            else:
                seen[at] = around(positions[k, 0] - x, side)
                seen[at + 1] = around(positions[k, 1] - y, side)
                seen[at + 2] = velocities[k, 0] - velocities[j, 0]
                seen[at + 3] = velocities[k, 1] - velocities[j, 1]
            at += 4
        rewards[i] = 0.1 * count - (1.0 if q0 < COLLISION * COLLISION else 0.0)


@numba.njit(inline="always")
def neighbours(j, cell, x, y, starts, positions, side, cells):
    """Others in sight of rank `j`, squared distance of the nearest, ranks of the four nearest (or -1)."""
    column, row, count = cell % cells, cell // cells, -1  # the agent counts itself
    q0 = q1 = q2 = q3 = RADIUS * RADIUS
    k0 = k1 = k2 = k3 = -1
    for r in range(3):
        base, shift_y = row + r - 1, -y
        if base < 0:
            base, shift_y = base + cells, -y - side
        elif base >= cells:
            base, shift_y = base - cells, side - y
        for part in range(2):  # three cells in a row are one run of ranks, two at the seam
            shift_x = -x
            if part == 0:
                first, last = max(column - 1, 0), min(column + 1, cells - 1)
            elif column == 0:
                first, last, shift_x = cells - 1, cells - 1, -x - side
            elif column == cells - 1:
                first, last, shift_x = 0, 0, side - x
            else:
                break
            for k in range(starts[base * cells + first + 1], starts[base * cells + last + 2]):
                dx, dy = positions[k, 0] + shift_x, positions[k, 1] + shift_y
                q = dx * dx + dy * dy
                count += q < RADIUS * RADIUS
                if q < q3 and k != j:
                    q3, k3 = q, k
                    if q < q2:
                        q3, k3, q2, k2 = q2, k2, q, k
                        if q < q1:
                            q2, k2, q1, k1 = q1, k1, q, k
                            if q < q0:
                                q1, k1, q0, k0 = q0, k0, q, k
    return count, q0, k0, k1, k2, k3


@numba.njit(inline="always")
def around(delta, side):
    """`delta` by the shortest way round the torus."""
    if delta > 0.5 * side:
        return delta - side
    return delta + side if delta < -0.5 * side else delta
