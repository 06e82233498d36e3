"""Textbook teletraffic: what a cell must do on average, found without simulation."""

from __future__ import annotations

import numpy as np


def erlang_b(channels: int, load: float) -> float:
    """Blocking of `load` Erlang on `channels` (Erlang 1917), by the stable recursion."""
    blocking = 1.0
    for c in range(1, channels + 1):
        blocking = load * blocking / (c + load * blocking)
    return blocking


def guarded(channels: int, guard: int, new: float, handoffs: float, service: float) -> np.ndarray:
    """Stationary probabilities of 0..channels busy channels; float64 `[channels + 1]`.

    A birth-death chain: new calls at rate `new` are admitted below `channels - guard` busy channels,
    handoffs at rate `handoffs` below `channels`, and each call leaves its channel at rate `service`
    (Hong and Rappaport 1986).
    """
    up = np.where(np.arange(channels) < channels - guard, new + handoffs, handoffs)
    down = service * np.arange(1, channels + 1)
    p = np.r_[1.0, np.cumprod(up / down)]
    return p / p.sum()


def torus(channels: int, guard: int, new: float, duration: float, residence: float) -> tuple[float, float]:
    """Blocking of new calls and dropping of handoffs in every cell of a symmetric torus.

    The rate of handoffs is the fixed point of flow balance: as many come as leave, and a busy channel
    sends one at rate `1 / residence`.
    """
    handoffs = 0.0
    for _ in range(1000):
        p = guarded(channels, guard, new, handoffs, 1.0 / duration + 1.0 / residence)
        handoffs = (p * np.arange(channels + 1)).sum() / residence
    return p[channels - guard :].sum(), p[channels]
