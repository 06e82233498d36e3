"""Running normalisation: of observations, and of the critic's targets (PopArt)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["PopArt", "RunningNorm"]


class RunningNorm(nn.Module):
    """Brings observations to mean 0 and standard deviation 1, of all that it has been shown.

    Moments are merged exactly (Chan, Golub and LeVeque, *Updating formulae and a pairwise algorithm for
    computing sample variances*, 1979). They change in `update` only, so a rollout and the gradient steps
    on it see the same numbers.

    Args:
        size: numbers in an observation, `D`.
        clip: largest normalised magnitude; rare features would otherwise dominate.
    """

    mean: Tensor
    variance: Tensor
    count: Tensor

    def __init__(self, size: int, clip: float = 5.0):
        super().__init__()
        self.clip = clip
        self.register_buffer("mean", torch.zeros(size, dtype=torch.float64))
        self.register_buffer("variance", torch.ones(size, dtype=torch.float64))
        self.register_buffer("count", torch.zeros((), dtype=torch.float64))

    def forward(self, observations: Tensor) -> Tensor:
        """Normalise float32 `[n, D]`; the identity before the first `update`, but for clipping."""
        std = (self.variance + 1e-6).sqrt().float()
        return ((observations - self.mean.float()) / std).clamp(-self.clip, self.clip)

    @torch.no_grad()
    def update(self, observations: Tensor) -> None:
        """Take in observations `[n, D]`, `n >= 1`."""
        count, mean = len(observations), observations.mean(dim=0, dtype=torch.float64)
        centred = observations - mean.to(observations.dtype)
        # torch's `var` takes many times as long
        variance = centred.square_().mean(dim=0, dtype=torch.float64)
        total = self.count + count
        shift, share = mean - self.mean, count / total
        self.variance.copy_(
            (1.0 - share) * self.variance + share * variance + share * (1.0 - share) * shift * shift
        )
        self.mean.add_(share * shift)
        self.count.copy_(total)


class PopArt(nn.Module):
    """A critic's last layer, whose outputs are values in units of the targets' mean and deviation.

    When the moments move, weights and bias move against them, so that no value changes (van Hasselt et
    al., *Learning values across many orders of magnitude*, 2016). The moments are exponential averages
    that are corrected for their start, as in MAPPO (Yu et al., *The Surprising Effectiveness of PPO in
    Cooperative Multi-Agent Games*, arXiv 2103.01955).

    Args:
        inputs: features.
        decay: weight that the earlier moments keep at each update.
    """

    mean: Tensor
    square: Tensor
    weight: Tensor

    def __init__(self, inputs: int, decay: float = 0.99):
        super().__init__()
        self.decay = decay
        self.linear = nn.Linear(inputs, 1)
        self.register_buffer("mean", torch.zeros((), dtype=torch.float64))
        self.register_buffer("square", torch.zeros((), dtype=torch.float64))
        self.register_buffer("weight", torch.zeros((), dtype=torch.float64))

    def forward(self, features: Tensor) -> Tensor:
        """Normalised values, float32 `[n]`, of features `[n, inputs]`."""
        return self.linear(features).squeeze(-1)

    @property
    def moments(self) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation of the targets so far; 0 and 1 before any."""
        if self.weight == 0.0:
            return torch.zeros_like(self.mean), torch.ones_like(self.mean)
        mean = self.mean / self.weight
        variance = (self.square / self.weight - mean * mean).clamp_min(1e-4)  # returns may all be equal
        return mean, variance.sqrt()

    def normalise(self, values: Tensor) -> Tensor:
        """From the units of rewards to the layer's."""
        mean, std = self.moments
        return ((values - mean) / std).float()

    def denormalise(self, values: Tensor) -> Tensor:
        """From the layer's units to those of rewards."""
        mean, std = self.moments
        return (values * std + mean).float()

    @torch.no_grad()
    def update(self, targets: Tensor) -> None:
        """Take in targets `[n]`, `n >= 1`, in the units of rewards; what `denormalise` gives stays."""
        old_mean, old_std = self.moments
        targets = targets.double()
        self.mean.mul_(self.decay).add_((1.0 - self.decay) * targets.mean())
        self.square.mul_(self.decay).add_((1.0 - self.decay) * (targets * targets).mean())
        self.weight.mul_(self.decay).add_(1.0 - self.decay)
        mean, std = self.moments
        self.linear.weight.mul_((old_std / std).float())
        self.linear.bias.copy_(((old_std * self.linear.bias.double() + old_mean - mean) / std).float())
