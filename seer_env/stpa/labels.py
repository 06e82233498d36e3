"""What the right thread count of a sweep is, what a wrong one costs, and how sweeps are split.

A count is chosen on a random half of a sweep's turns and scored on the other half: chosen and scored on the
same turns, it would profit from their noise. The label is the smallest count within 1 % of the best.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seer_env.stpa.dataset import SERIAL, Sweep

__all__ = ["choices", "halves", "label", "label_noise", "log_ratio", "snapped", "time_of"]

#: Times within this share of the best are as good.
TIE = 0.01


def choices(sweep: Sweep) -> tuple[int, ...]:
    """Thread counts to choose from: the candidates up to twice the effective CPUs, 1 being `serial`."""
    return (1, *(k for k in sweep.candidates if 1 < k <= 2 * sweep.cpus))


def time_of(sweep: Sweep, turns: np.ndarray | slice = slice(None)) -> dict[int, float]:
    """Median seconds of a step over some turns, by choice."""
    times = dict(zip(sweep.candidates, sweep.times(turns)))
    return {k: float(times[SERIAL if k == 1 else k]) for k in choices(sweep)}


def label(sweep: Sweep, turns: np.ndarray | slice = slice(None)) -> int:
    """The smallest thread count within `TIE` of the best."""
    times = time_of(sweep, turns)
    good = (1.0 + TIE) * min(times.values())
    return min(k for k, seconds in times.items() if seconds <= good)


def log_ratio(threads: float, sweep: Sweep) -> float:
    """The normalised thread count: log2 of threads per effective CPU."""
    return float(np.log2(threads / sweep.cpus))


def snapped(threads: float, sweep: Sweep) -> int:
    """The choice nearest to a real number of threads, by ratio; the smaller of two as near."""
    return min(choices(sweep), key=lambda k: (abs(np.log2(k / max(threads, 1e-9))), k))


def halves(turns: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A random half of the turns to choose on, and the other one to score on."""
    order = rng.permutation(turns)
    return np.sort(order[: turns // 2]), np.sort(order[turns // 2 :])


def label_noise(sweeps: Sequence[Sweep], rng: np.random.Generator) -> tuple[float, float]:
    """How far the labels of a sweep's two halves agree.

    Returns:
        Share of sweeps whose halves disagree; mean |log2| distance between the two labels.
    """
    apart = []
    for sweep in sweeps:
        one, two = halves(len(sweep.seconds), rng)
        apart.append(abs(np.log2(label(sweep, one) / label(sweep, two))))
    return float(np.mean(np.array(apart) > 0.0)), float(np.mean(apart))
