"""Measuring on a machine that others use too: honest intervals, times of calls, what machine it is."""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Callable
from typing import NamedTuple


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

    from seer_env.machine import effective_cpus

    return (
        f"{processor()}, {effective_cpus()} usable cores, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, numba {numba.__version__}, numpy {np.__version__}"
    )


def processor() -> str:
    """The processor's name, where the system tells it."""
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown processor"
