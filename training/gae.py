"""Generalised advantage estimation, with terminations, truncations and agents that are not live."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["advantages"]


def advantages(
    rewards: Tensor,
    values: Tensor,
    following: Tensor,
    ended: Tensor,
    active: Tensor,
    discount: float,
    gae_lambda: float,
    weights: Tensor | None = None,
) -> Tensor:
    """GAE (Schulman et al., *High-Dimensional Continuous Control Using GAE*, 2016, eq. 16).

    The two ends of an episode differ in `following` alone: after a termination nothing follows, so it is
    0; a truncation cuts off what would have followed, so it is the value of the episode's final
    observation (Pardo et al., *Time Limits in Reinforcement Learning*, 2018).

    With weights they are V-trace's corrections `v_s - V(x_s)` (Espeholt et al., *IMPALA: Scalable Distributed
    Deep-RL with Importance Weighted Actor-Learner Architectures*, 2018, eq. 1, with lambda as in remark 2).

    Args:
        rewards: float32 `[T, ...]`, of each step.
        values: float32 `[T, ...]`, of the observation that the step's action was chosen for.
        following: float32 `[T, ...]`, of the observation that the step led to.
        ended: bool `[T, ...]`, whether the agent's episode ended in the step, in either way.
        active: bool `[T, ...]`, whether the agent was live before the step.
        discount, gae_lambda: gamma and lambda.
        weights: float32 `[T, ...]`, the actions' probabilities now over those at the rollout, truncated at
            1 (V-trace's rho and c); None for 1 everywhere.

    Returns:
        float32 `[T, ...]`; zeros where not active.
    """
    surprise, decay = rewards + discount * following - values, discount * gae_lambda * ~ended
    if weights is not None:
        surprise, decay = weights * surprise, weights * decay
    result = torch.zeros_like(rewards)
    carried = torch.zeros_like(rewards[0])
    for t in reversed(range(len(rewards))):
        carried = surprise[t] + decay[t] * carried
        carried = torch.where(active[t], carried, 0.0)
        result[t] = carried
    return result
