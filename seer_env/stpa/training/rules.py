"""Thread counts without learning: rules, a scalability law, and the guarded search."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seer_env.stpa.dataset import SERIAL, Sweep
from seer_env.stpa.labels import choices, label, snapped, time_of
from seer_env.stpa.search import GuardedSearch
from seer_env.threads import SHARED_WORK

__all__ = ["BUDGET_S", "Chosen", "logical_cores", "oracle", "physical_cores", "ratio", "search", "usl"]

#: Seconds that a preflight may take, or two steps where they are longer.
BUDGET_S = 0.2
#: Points that the universal scalability law is fitted to, and steps for each.
POINTS, STEPS = 5, 3


class Chosen(NamedTuple):
    """What a method says: threads, a real number, and the seconds that it measured for it."""

    threads: float
    seconds: float = 0.0


def physical_cores(sweep: Sweep) -> Chosen:
    """As many as physical cores."""
    return Chosen(sweep.static.cores)


def logical_cores(sweep: Sweep) -> Chosen:
    """As many as CPUs in the affinity mask."""
    return Chosen(min(sweep.static.logical, 2.0 * sweep.cpus))


def ratio(sweep: Sweep) -> Chosen:
    """A thread for every `SHARED_WORK` entities or agents that a phase may hold, up to the CPUs."""
    shareable = max(sweep.static.agents, sweep.static.entities * sweep.static.lookahead_share)
    return Chosen(float(np.clip(shareable // SHARED_WORK, 1, sweep.cpus)))


def oracle(sweep: Sweep, turns: np.ndarray) -> Chosen:
    """The best of all choices on the turns, every one of them measured."""
    return Chosen(label(sweep, turns))


def usl(sweep: Sweep, turn: int) -> Chosen:
    """The optimum of Gunther's universal scalability law, fitted to five points of the ladder.

    Speedup `C(k) = k / (1 + a (k - 1) + b k (k - 1))`, so `k / C - 1` is linear in `a` and `b`, both of which
    are at least 0; the optimum is `sqrt((1 - a) / b)` (Gunther, "Guerrilla Capacity Planning", 2007). The few
    steps that it takes are of one turn.
    """
    times = time_of(sweep, np.array([turn]))
    ladder = sorted(times)
    points = sorted({ladder[round(i)] for i in np.linspace(0, len(ladder) - 1, POINTS)})
    k = np.array([p for p in points if p > 1], float)
    excess = k * np.array([times[int(p)] for p in k]) / times[1] - 1.0
    a, b = _non_negative(np.stack([k - 1.0, k * (k - 1.0)], axis=1), excess)
    best = np.sqrt(max(0.0, 1.0 - a) / b) if b > 1e-12 else (float(ladder[-1]) if a < 1.0 else 1.0)
    cost = sum(STEPS * times[int(p)] for p in points)
    return Chosen(float(np.clip(best, 1.0, ladder[-1])), cost)


def _non_negative(matrix: np.ndarray, target: np.ndarray) -> tuple[float, float]:
    """Least squares with both of two coefficients at least 0."""
    options = []
    for kept in ([0, 1], [0], [1]):
        solution = np.linalg.lstsq(matrix[:, kept], target, rcond=None)[0]
        full = np.zeros(2)
        full[kept] = solution
        if (full >= 0.0).all():
            options.append((float(np.square(matrix @ full - target).sum()), full.tolist()))
    return tuple(min(options)[1]) if options else (0.0, 0.0)


def search(
    sweep: Sweep, turns: np.ndarray, start: float, favoured: float = 1.0, budget_s: float = BUDGET_S
) -> Chosen:
    """The guarded search of `threads="auto"` on a sweep's times.

    Args:
        turns: int `[MOST_ROUNDS]`; the n-th blocks of all candidates are of the n-th of these turns. Of an
            episode they would lie close together, and a turn lasted as long as two blocks.
        start, favoured: of the search.
        budget_s: seconds of steps after which it ends, or after two steps.
    """
    ladder = choices(sweep)
    column = {k: sweep.candidates.index(SERIAL if k == 1 else k) for k in ladder}
    times = {k: sweep.seconds[turns, column[k]].tolist() for k in ladder}
    guarded, spent, steps = GuardedSearch(ladder, snapped(start, sweep), favoured=favoured), 0.0, 0
    while not guarded.finished and (spent < budget_s or steps < 2):
        threads = guarded.threads
        seconds = times[threads][len(guarded.blocks[threads])]
        guarded.stepped(seconds)
        spent, steps = spent + seconds, steps + 1
    return Chosen(guarded.choice, spent)
