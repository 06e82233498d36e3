"""The default global state: what the agents' observations say together, in a size that does not grow."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

__all__ = ["PooledState"]


class PooledState:
    """Pools observations `[n, D]` into float32 `[3 * D + 1]`: mean, smallest, largest, live fraction.

    Concatenating all observations, as small worlds do, costs a centralised critic O(M) numbers per
    agent; this costs O(D). Values are clipped to the observation's bounds, which a rounded mean
    could leave by one unit in the last place.

    Args:
        observation_space: one agent's 1-D float32 `Box`; its infinite bounds stay infinite.

    Attributes:
        space: the `Box` of pooled states.
    """

    def __init__(self, observation_space: spaces.Box):
        low, high = observation_space.low, observation_space.high
        self.space = spaces.Box(
            np.concatenate([low, low, low, np.zeros(1, np.float32)]),
            np.concatenate([high, high, high, np.ones(1, np.float32)]),
            dtype=np.float32,
        )

    def __call__(self, observations: np.ndarray, live_fraction: float) -> np.ndarray:
        """Pool observations `[n, D]`; for `n = 0` the value nearest to zero inside the bounds."""
        size = self.space.shape[0] // 3
        pooled = np.zeros(self.space.shape, np.float64)
        if len(observations):
            pooled[:size] = observations.mean(axis=0, dtype=np.float64)
            pooled[size : 2 * size] = observations.min(axis=0)
            pooled[2 * size : -1] = observations.max(axis=0)
        pooled[-1] = live_fraction
        return np.clip(pooled.astype(np.float32), self.space.low, self.space.high)
