"""The losses of PPO, each a mean over the decisions of a minibatch."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["normalised", "policy_loss", "value_loss"]


def policy_loss(log_ratio: Tensor, advantages: Tensor, clip: float) -> Tensor:
    """The clipped surrogate, negated (Schulman et al., *Proximal Policy Optimization*, 2017, eq. 7).

    Args:
        log_ratio: `[n]`, logarithm of the actions' probability now over that at the rollout.
        advantages: `[n]`.
        clip: epsilon.
    """
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1.0 - clip, 1.0 + clip)
    return -torch.minimum(ratio * advantages, clipped * advantages).mean()


def value_loss(values: Tensor, before: Tensor, targets: Tensor, clip: float) -> Tensor:
    """Half the squared error, or that of the value moved by `clip` at most if it is larger.

    The value that moved too far towards its target gets no gradient (MAPPO, arXiv 2103.01955, appendix A).

    Args:
        values, before: `[n]`, normalised values now and at the rollout.
        targets: `[n]`, normalised returns.
        clip: epsilon.
    """
    near = before + (values - before).clamp(-clip, clip)
    return 0.5 * torch.maximum((values - targets) ** 2, (near - targets) ** 2).mean()


def normalised(advantages: Tensor) -> Tensor:
    """Advantages `[n]` with mean 0 and standard deviation 1."""
    return (advantages - advantages.mean()) / (advantages.std(correction=0) + 1e-8)
