"""TimesURL's losses on representations `[B, T, D]` of two views (Liu and Chen, AAAI 2024, section 3)."""

from __future__ import annotations

import torch
from torch.nn import functional

from seer_env.stpa.training.augment import universum

__all__ = ["contrast", "hierarchical", "reconstruction"]

#: Share of the instance loss in each level of the hierarchy; the rest is temporal.
INSTANCE = 0.8


def contrast(left: torch.Tensor, right: torch.Tensor, negatives: torch.Tensor) -> torch.Tensor:
    """Symmetric InfoNCE by dot product, temperature 1, averaged over everything.

    Args:
        left, right: `[G, n, D]`; in each group, `left[:, i]` and `right[:, i]` belong together, and all
            others of both views are negatives.
        negatives: `[G, m, D]`, further negatives of all.
    """
    n = left.shape[1]
    anchors = torch.cat([left, right], dim=1)
    similarity = anchors @ torch.cat([anchors, negatives], dim=1).transpose(1, 2)
    itself = torch.eye(2 * n, similarity.shape[2], dtype=torch.bool)
    similarity = similarity.masked_fill(itself, float("-inf"))
    partner = torch.arange(2 * n).roll(n).expand(len(anchors), -1)
    return functional.cross_entropy(similarity.flatten(0, 1), partner.flatten())


def hierarchical(left: torch.Tensor, right: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Instance and temporal losses with their universums, at every scale of time, averaged.

    Scales are halved by max pooling until one step is left, at which there is no temporal loss.
    """
    levels = []
    while True:
        across = torch.cat([universum(z, 0, generator) for z in (left, right)])  # [2B, T, D]
        by_instance = contrast(left.transpose(0, 1), right.transpose(0, 1), across.transpose(0, 1))
        if left.shape[1] == 1:
            levels.append(INSTANCE * by_instance)
            return torch.stack(levels).mean()
        along = torch.cat([universum(z, 1, generator) for z in (left, right)], dim=1)
        by_time = contrast(left, right, along)
        levels.append(INSTANCE * by_instance + (1.0 - INSTANCE) * by_time)
        left, right = (functional.max_pool1d(z.transpose(1, 2), 2).transpose(1, 2) for z in (left, right))


def reconstruction(restored: torch.Tensor, x: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
    """Mean squared error on hidden positions that were known; 0 if there are none."""
    errors = (restored - x)[hidden]
    return errors.square().mean() if len(errors) else restored.sum() * 0.0
