"""Action distributions of a gymnasium space: Gaussian for a `Box`, categorical for discrete spaces."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor, nn

from seer_env.errors import SeerError

__all__ = ["Categorical", "Distribution", "Gaussian", "Head", "UnsupportedSpace", "make_head"]


class UnsupportedSpace(SeerError, ValueError):
    """An action or observation space that MAPPO here has no network for."""


class Distribution(Protocol):
    """Distributions of `n` agents' actions, each of `A` numbers, in the units of the action space."""

    def sample(self, generator: torch.Generator) -> Tensor:
        """Random actions, float32 `[n, A]`, without gradient."""

    def mode(self) -> Tensor:
        """The likeliest actions, float32 `[n, A]`, without gradient."""

    def log_prob(self, actions: Tensor) -> Tensor:
        """Logarithm of the density or probability of actions `[n, A]`; float32 `[n]`."""

    def entropy(self) -> Tensor:
        """In nats, float32 `[n]`."""


class Gaussian:
    """Independent normal distributions. What leaves the box is the env's to clip; densities are of before.

    Args:
        mean: float32 `[n, A]`.
        std: float32 `[A]`, the same for all agents and observations, as in PPO's own experiments
            (Schulman et al., *Proximal Policy Optimization Algorithms*, 2017, section 6.1).
    """

    def __init__(self, mean: Tensor, std: Tensor):
        self.mean, self.std = mean, std

    def sample(self, generator: torch.Generator) -> Tensor:
        """See `Distribution`."""
        noise = torch.randn(self.mean.shape, generator=generator, device=self.mean.device)
        return (self.mean + self.std * noise).detach()

    def mode(self) -> Tensor:
        """See `Distribution`."""
        return self.mean.detach()

    def log_prob(self, actions: Tensor) -> Tensor:
        """See `Distribution`."""
        z = (actions - self.mean) / self.std
        return (-0.5 * z * z - self.std.log() - 0.5 * math.log(2.0 * math.pi)).sum(dim=-1)

    def entropy(self) -> Tensor:
        """See `Distribution`."""
        each = self.std.log() + 0.5 * math.log(2.0 * math.pi * math.e)
        return each.sum().expand(self.mean.shape[0])


class Categorical:
    """Independent categorical distributions, one for each number of the action.

    Args:
        logits: float32 `[n, sum of sizes]`.
        sizes: choices of each number.
        starts: float32 `[A]`, the action that is choice 0.
        mask: bool, as `logits`, or None: False makes a choice impossible, by a logit of -1e9 (Huang and
            Ontanon, *A Closer Look at Invalid Action Masking in Policy Gradient Algorithms*, 2022). A row
            without any True leaves all equally likely.
    """

    def __init__(self, logits: Tensor, sizes: tuple[int, ...], starts: Tensor, mask: Tensor | None = None):
        if mask is not None:
            logits = logits.masked_fill(~mask, -1e9)
        choices_first = logits.t().contiguous()  # torch is slow along a short last axis; the actor's are so
        self._logs = [part.log_softmax(dim=0) for part in choices_first.split(sizes)]
        self._starts = starts

    def sample(self, generator: torch.Generator) -> Tensor:
        """See `Distribution`. A choice is where the sums of the probabilities reach a uniform number.

        That is in (0, 1], a part of the whole sum: a choice of probability 0 adds nothing, and is never made.
        """

        def choice(logs: Tensor) -> Tensor:
            sums = logs.exp().cumsum_(dim=0)
            uniform = 1.0 - torch.rand(sums.shape[1], generator=generator, device=sums.device)
            return (sums < uniform * sums[-1]).sum(dim=0)

        return self._actions(choice)

    def mode(self) -> Tensor:
        """See `Distribution`."""
        return self._actions(lambda logs: logs.argmax(dim=0))

    def log_prob(self, actions: Tensor) -> Tensor:
        """See `Distribution`."""
        choices = (actions - self._starts).long().t().split(1)
        return torch.cat([logs.gather(0, chosen) for logs, chosen in zip(self._logs, choices)]).sum(dim=0)

    def entropy(self) -> Tensor:
        """See `Distribution`."""
        return torch.stack([-(logs.exp() * logs).sum(dim=0) for logs in self._logs]).sum(dim=0)

    def _actions(self, choose: Callable[[Tensor], Tensor]) -> Tensor:
        choices = torch.stack([choose(logs.detach()) for logs in self._logs], dim=-1)
        return choices.float() + self._starts


class GaussianHead(nn.Module):
    """From network outputs `[n, A]` to Gaussians in the units of a `Box`; `log_std` is learned.

    An output of -1 and 1 is the low and the high end of a bounded number, whose standard deviation is half
    its width times `exp(log_std)`; an unbounded number is taken as it is.

    Attributes:
        inputs, actions: network outputs per agent, and numbers in an action.
    """

    centre: Tensor
    half_width: Tensor

    def __init__(self, space: spaces.Box, log_std: float):
        super().__init__()
        low, high = space.low.astype(np.float64).ravel(), space.high.astype(np.float64).ravel()
        bounded = np.isfinite(low) & np.isfinite(high)
        with np.errstate(invalid="ignore"):
            centre = np.where(bounded, (low + high) / 2.0, 0.0)
            half = np.where(bounded, (high - low) / 2.0, 1.0)
        self.inputs = self.actions = len(low)
        self.log_std = nn.Parameter(torch.full((len(low),), log_std))
        self.register_buffer("centre", torch.as_tensor(centre, dtype=torch.float32), persistent=False)
        self.register_buffer("half_width", torch.as_tensor(half, dtype=torch.float32), persistent=False)

    def forward(self, outputs: Tensor, mask: Tensor | None = None) -> Gaussian:
        """The distributions; continuous actions have no mask."""
        return Gaussian(self.centre + self.half_width * outputs, self.half_width * self.log_std.exp())


class CategoricalHead(nn.Module):
    """From network outputs, one per choice of each number, to categorical distributions.

    Attributes:
        inputs, actions: network outputs per agent, and numbers in an action.
    """

    starts: Tensor

    def __init__(self, sizes: tuple[int, ...], starts: np.ndarray):
        super().__init__()
        self.sizes, self.inputs, self.actions = sizes, sum(sizes), len(sizes)
        self.register_buffer("starts", torch.as_tensor(starts, dtype=torch.float32), persistent=False)

    def forward(self, outputs: Tensor, mask: Tensor | None = None) -> Categorical:
        """The distributions, with the choices that `mask` (bool, as `outputs`) leaves."""
        return Categorical(outputs, self.sizes, self.starts, mask)


Head = GaussianHead | CategoricalHead


def make_head(space: spaces.Space, log_std: float) -> Head:
    """The head for a space.

    Args:
        space: `Box` (1-D), `Discrete` or `MultiDiscrete` (1-D).
        log_std: initial logarithm of a Gaussian's standard deviation, in half widths of the box.

    Raises:
        UnsupportedSpace: it is another one.
    """
    if isinstance(space, spaces.Box) and len(space.shape) == 1:
        return GaussianHead(space, log_std)
    if isinstance(space, spaces.Discrete):
        return CategoricalHead((int(space.n),), np.array([space.start]))
    if isinstance(space, spaces.MultiDiscrete) and space.nvec.ndim == 1:
        return CategoricalHead(tuple(int(n) for n in space.nvec), np.asarray(space.start))
    raise UnsupportedSpace(f"action space {space}: expected a 1-D Box, Discrete or 1-D MultiDiscrete")
