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
) -> Tensor:
    """GAE (Schulman et al., *High-Dimensional Continuous Control Using GAE*, 2016, eq. 16).

    The two ends of an episode differ in `following` alone: after a termination nothing follows, so it is
    0; a truncation cuts off what would have followed, so it is the value of the episode's final
    observation (Pardo et al., *Time Limits in Reinforcement Learning*, 2018).

    Args:
        rewards: float32 `[T, ...]`, of each step.
        values: float32 `[T, ...]`, of the observation that the step's action was chosen for.
        following: float32 `[T, ...]`, of the observation that the step led to.
        ended: bool `[T, ...]`, whether the agent's episode ended in the step, in either way.
        active: bool `[T, ...]`, whether the agent was live before the step.
        discount, gae_lambda: gamma and lambda.

    Returns:
        float32 `[T, ...]`; zeros where not active.
    """
    surprise = rewards + discount * following - values
    result = torch.zeros_like(rewards)
    carried = torch.zeros_like(rewards[0])
    for t in reversed(range(len(rewards))):
        carried = surprise[t] + discount * gae_lambda * carried * ~ended[t]
        carried = torch.where(active[t], carried, 0.0)
        result[t] = carried
    return result
