"""The compiled pass over a block of actions: checks every number, clips, and places rows by agent."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numba
import numpy as np
from numba import types

from seer_env.runtime.compile import cached_njit, package_fingerprint

__all__ = ["CLIP", "PLAIN", "STRICT", "WHOLE", "legalise"]

#: What makes a number legal: whole and in bounds; finite, in bounds or brought there; finite.
WHOLE, STRICT, CLIP, PLAIN = range(4)


def legalise(
    values: np.ndarray, live: np.ndarray, low: np.ndarray, high: np.ndarray, rule: int, legal: np.ndarray
) -> int:
    """Write the legal actions of the live agents into `legal`, zeros for the others.

    Args:
        values: float32 or float64, C-contiguous: a row per agent `[M, A]`, or per live agent `[L, A]`.
        live: bool `[M]`.
        low, high: float64 `[A]`.
        rule: `WHOLE`, `STRICT`, `CLIP` or `PLAIN`.
        legal: float64 `[M, A]`.

    Returns:
        The first row of `values` that is not legal, or -1.
    """
    return _kernel(values.dtype.itemsize)(values, live, low, high, rule, legal)


def _legalise(values, live, low, high, rule, legal):
    agents, size = legal.shape
    packed = len(values) != agents
    row = 0
    for agent in range(agents):
        if not live[agent]:
            legal[agent] = 0.0
            row += 0 if packed else 1
            continue
        for d in range(size):
            value = np.float64(values[row, d])
            if not np.isfinite(value):
                return row
            if rule != PLAIN:
                clipped = min(max(value, low[d]), high[d])
                if rule != CLIP and clipped != value:
                    return row
                if rule == WHOLE and np.rint(value) != value:
                    return row
                value = clipped
            legal[agent, d] = value
        row += 1
    return -1


@lru_cache(maxsize=2)
def _kernel(itemsize: int) -> Callable:
    if numba.config.DISABLE_JIT:  # `scheduler="python"` works without a compiler
        return _legalise
    value = types.float32 if itemsize == 4 else types.float64
    live, bounds = types.Array(types.boolean, 1, "C", readonly=True), types.float64[::1]
    arguments = (
        types.Array(value, 2, "C", readonly=True),
        live,
        bounds,
        bounds,
        types.int64,
        types.float64[:, ::1],
    )
    return cached_njit(_legalise, types.int64(*arguments), package_fingerprint())
