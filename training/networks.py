"""The actor that all agents share, and the centralised critic that pools what all of them see."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor, nn
from torch.nn.functional import linear

from seer_env.training.distributions import Distribution, make_head
from seer_env.training.normalising import PopArt, RunningNorm

__all__ = ["Actor", "Critic", "Tanh", "pooled_mean"]


class Actor(nn.Module):
    """One policy for every agent: it sees an agent's own observation and nothing else.

    Its size does not depend on the number of agents, so it acts for any number of them.

    Args:
        observation_size: `D`.
        action_space: one agent's, see `make_head`.
        hidden: units of each hidden layer.
        normalise: normalise observations by their running moments.
        log_std: initial logarithm of the standard deviation of continuous actions.
    """

    def __init__(
        self,
        observation_size: int,
        action_space: spaces.Space,
        hidden: tuple[int, ...] = (64, 64),
        normalise: bool = True,
        log_std: float = -0.5,
    ):
        super().__init__()
        self.norm = RunningNorm(observation_size) if normalise else nn.Identity()
        self.body = mlp(observation_size, *hidden)
        self.head = make_head(action_space, log_std)
        # Nearly uniform, or centred, at first (Andrychowicz et al., What Matters In On-Policy RL, 2021).
        self.last = orthogonal(nn.Linear(hidden[-1], self.head.inputs), gain=0.01)

    def forward(self, observations: Tensor, mask: Tensor | None = None) -> Distribution:
        """The distributions of actions, for float32 `[n, D]`, of the choices that `mask` leaves."""
        return self.act(self.norm(observations), mask)

    def act(self, normalised: Tensor, mask: Tensor | None = None) -> Distribution:
        """As `forward`, for observations that are normalised already."""
        # Few outputs: the product of the transposed is 2 to 3 times as fast.
        outputs = torch.addmm(self.last.bias[:, None], self.last.weight, self.body(normalised).t()).t()
        return self.head(outputs, mask)


class Critic(nn.Module):
    """The value of an agent's future, given its own observation and those of all live agents together.

    A deep set (Zaheer et al., *Deep Sets*, 2017): each observation is embedded, the embeddings of a world
    are averaged, and an agent's value follows from its own and the average. So the order of agents does
    not matter, and the cost is linear in them. Concatenating all observations for each agent, as critics
    of few agents do, is quadratic.

    Args:
        observation_size, hidden, normalise: as the actor's.
    """

    def __init__(self, observation_size: int, hidden: tuple[int, ...] = (64, 64), normalise: bool = True):
        super().__init__()
        self.norm = RunningNorm(observation_size) if normalise else nn.Identity()
        self.embed = mlp(observation_size, *hidden)
        self.body = mlp(2 * hidden[-1], hidden[-1])
        self.last = PopArt(hidden[-1])
        orthogonal(self.last.linear, gain=1.0)

    def forward(self, observations: Tensor, world: Tensor, worlds: int) -> Tensor:
        """Normalised values, float32 `[n]`.

        Args:
            observations: float32 `[n, D]`, of live agents only: others then have no influence.
            world: int64 `[n]`, in `0..worlds-1`: whose average each row belongs to, a world at a step.
        """
        return self.judge(self.norm(observations), world, worlds)

    def judge(self, normalised: Tensor, world: Tensor, worlds: int) -> Tensor:
        """As `forward`, for observations that are normalised already.

        The body's first layer sees a row's embedding beside its world's average. What it makes of an average
        is the same for all rows of a world, so it is computed once for each world.
        """
        own = self.embed(normalised)
        first, *rest = self.body
        assert isinstance(first, nn.Linear)
        of_own, of_average = first.weight.split(own.shape[1], dim=1)
        shared = linear(pooled_mean(own, world, worlds), of_average, first.bias)
        features = linear(own, of_own) + shared.index_select(0, world)
        for layer in rest:
            features = layer(features)
        return self.last(features)

    def values(self, observations: Tensor, world: Tensor, worlds: int) -> Tensor:
        """As `forward`, in the units of rewards and without gradient."""
        with torch.no_grad():
            return self.last.denormalise(self(observations, world, worlds))


def pooled_mean(rows: Tensor, world: Tensor, worlds: int) -> Tensor:
    """The mean over each world's rows, `[worlds, H]`; zeros for a world without any.

    Args:
        rows: `[n, H]`.
        world: int64 `[n]`.
    """
    sums = rows.new_zeros(worlds, rows.shape[1]).index_add(0, world, rows)
    count = torch.bincount(world, minlength=worlds).clamp_min(1)
    return sums / count[:, None]


def mlp(*sizes: int) -> nn.Sequential:
    """Linear layers of these sizes, a tanh behind each."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        layers += [orthogonal(nn.Linear(inputs, outputs), gain=2.0**0.5), Tanh()]
    return nn.Sequential(*layers)


class Tanh(nn.Module):
    """The hyperbolic tangent; on the CPU by NumPy, whose is many times as fast as torch's."""

    def forward(self, inputs: Tensor) -> Tensor:
        """Elementwise."""
        if inputs.device.type != "cpu":
            return inputs.tanh()
        return _Tanh.apply(inputs) if inputs.requires_grad else numpys_tanh(inputs)


def numpys_tanh(inputs: Tensor) -> Tensor:
    """The hyperbolic tangent, elementwise and without gradient."""
    return torch.from_numpy(np.tanh(inputs.detach().numpy()))


class _Tanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor) -> Tensor:
        outputs = numpys_tanh(inputs)
        ctx.save_for_backward(outputs)
        return outputs

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (outputs,) = ctx.saved_tensors
        return torch.ops.aten.tanh_backward(gradient, outputs)


def orthogonal(layer: nn.Linear, gain: float) -> nn.Linear:
    """Initialise to an orthogonal matrix times `gain`, bias 0 (Saxe, McClelland and Ganguli, 2014)."""
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer
