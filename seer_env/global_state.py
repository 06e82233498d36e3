"""The global state of a centralised critic: pooled, in a size that does not grow with the agents, or full."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

__all__ = ["GLOBAL_STATES", "FullState", "PooledState"]


class PooledState:
    """Pools observations `[n, D]` into float32 `[3 * D + 1]`: mean, smallest, largest, live fraction.

    Concatenating all observations, as small worlds do, costs a centralised critic O(M) numbers per
    agent; this costs O(D). Values are clipped to the observation's bounds, which a rounded mean
    could leave by one unit in the last place.

    Args:
        observation_space: one agent's 1-D float32 `Box`; its infinite bounds stay infinite.
        n_agents: `M`; the size of the state does not depend on it.

    Attributes:
        space: the `Box` of pooled states.
    """

    def __init__(self, observation_space: spaces.Box, n_agents: int):
        low, high = observation_space.low, observation_space.high
        self.space = spaces.Box(
            np.concatenate([low, low, low, np.zeros(1, np.float32)]),
            np.concatenate([high, high, high, np.ones(1, np.float32)]),
            dtype=np.float32,
        )

    def __call__(
        self, observations: np.ndarray, rows: slice | np.ndarray, live_fraction: float
    ) -> np.ndarray:
        """Pool the `rows` of observations `[M, D]`; of none, the value nearest to zero in the bounds."""
        observations, size = observations[rows], self.space.shape[0] // 3
        pooled = np.zeros(self.space.shape, np.float64)
        if len(observations):
            pooled[:size] = observations.mean(axis=0, dtype=np.float64)
            pooled[size : 2 * size] = observations.min(axis=0)
            pooled[2 * size : -1] = observations.max(axis=0)
        pooled[-1] = live_fraction
        return np.clip(pooled.astype(np.float32), self.space.low, self.space.high)


class FullState:
    """All agents' observations one after the other, float32 `[M * D]`, in row order.

    What small worlds give a critic: nothing is lost, and it grows with the agents. The rows of agents that
    the boundary does not show are the value nearest to zero inside the bounds.

    Args:
        observation_space: one agent's 1-D float32 `Box`.
        n_agents: `M`.

    Attributes:
        space: the `Box` of full states.
    """

    def __init__(self, observation_space: spaces.Box, n_agents: int):
        low, high = observation_space.low, observation_space.high
        self._nothing = np.clip(np.zeros(low.shape, np.float32), low, high)
        self.space = spaces.Box(np.tile(low, n_agents), np.tile(high, n_agents), dtype=np.float32)

    def __call__(
        self, observations: np.ndarray, rows: slice | np.ndarray, live_fraction: float
    ) -> np.ndarray:
        """Lay out the `rows` of observations `[M, D]`; the live fraction is seen from them."""
        full = np.broadcast_to(self._nothing, observations.shape).copy()
        full[rows] = observations[rows]
        return full.ravel()


#: `SeerParallelEnv(global_state=...)`.
GLOBAL_STATES: dict[str, type[PooledState] | type[FullState]] = {"pooled": PooledState, "full": FullState}
