"""Measuring on a machine that others use too: in turn, with honest intervals; and what machine it is."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Callable, Hashable, Mapping
from typing import NamedTuple, TypeVar

Name = TypeVar("Name", bound=Hashable)
Value = TypeVar("Value")


class Interval(NamedTuple):
    """A confidence interval of a median.

    Attributes:
        low, high: its bounds, two of the measured values.
        coverage: probability that it covers the true median, whatever the distribution.
    """

    low: float
    high: float
    coverage: float


def median_interval(values: list[float], level: float = 0.95) -> Interval:
    """The narrowest interval of order statistics that covers the median with at least `level`.

    With few values none does: then the interval is all of them, and `coverage` says what that is
    worth (0.75 for 3 values, 0.94 for 5). Coverage is the binomial one of the sign test: see
    Conover, "Practical Nonparametric Statistics", on confidence intervals for quantiles.

    Args:
        values: independent measurements, at least one.
        level: wanted coverage, in (0, 1).
    """
    ordered, n = sorted(values), len(values)
    best = Interval(ordered[0], ordered[-1], 1.0 - 2.0 * 0.5**n if n > 1 else 0.0)
    for trim in range(1, (n + 1) // 2):
        tail = sum(math.comb(n, k) for k in range(trim + 1)) * 0.5**n
        if 1.0 - 2.0 * tail < level:
            break
        best = Interval(ordered[trim], ordered[-1 - trim], 1.0 - 2.0 * tail)
    return best


def in_turn(cases: Mapping[Name, Callable[[], Value]], turn: int) -> dict[Name, Value]:
    """Run every case once; in reverse on every other turn, so that none always runs behind the same one.

    A slow minute then hits all cases alike, over several turns.

    Returns:
        What each returned, in the order of `cases`.
    """
    order = list(cases) if turn % 2 == 0 else list(cases)[::-1]
    values = {name: cases[name]() for name in order}
    return {name: values[name] for name in cases}


def interleaved(
    cases: Mapping[Name, Callable[[], Value]], repeats: int, done: Callable[[], object] = lambda: None
) -> dict[Name, list[Value]]:
    """Run every case `repeats` times, `in_turn`; every case's measurements by turn.

    Args:
        cases: by name, a function that runs once and returns its measurement.
        repeats: turns, at least 1.
        done: called after every turn, for a progress bar.
    """
    values: dict[Name, list[Value]] = {name: [] for name in cases}
    for turn in range(repeats):
        for name, value in in_turn(cases, turn).items():
            values[name].append(value)
        done()
    return values


def seconds_per_call(function: Callable[[], object], at_least_s: float, batch: int = 1) -> float:
    """Mean wall seconds of a call, over as many batches of calls as fill `at_least_s`."""
    calls, start = 0, time.perf_counter()
    while True:
        for _ in range(batch):
            function()
        calls += batch
        elapsed = time.perf_counter() - start
        if elapsed >= at_least_s:
            return elapsed / calls


def machine() -> str:
    """One line on what the figures were measured on: processor, usable cores, versions."""
    import numba
    import numpy as np

    from seer_env.machine import effective_cpus, processor

    return (
        f"{processor()}, {effective_cpus()} usable cores, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, numba {numba.__version__}, numpy {np.__version__}"
    )
