"""A rollout: what all agents of all worlds saw, did and earned, and its minibatches."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

__all__ = ["Batch", "Minibatch"]


@dataclass
class Minibatch:
    """Decisions of live agents, `n` of them, from `worlds` steps of worlds.

    Attributes:
        observations: float32 `[n, D]`.
        actions: float32 `[n, A]`.
        masks: bool `[n, C]`, or None.
        log_probs, values, advantages, returns: float32 `[n]`.
        world: int64 `[n]`, in `0..worlds-1`: the step of a world that each belongs to.
        worlds: how many there are.
    """

    observations: Tensor
    actions: Tensor
    masks: Tensor | None
    log_probs: Tensor
    values: Tensor
    advantages: Tensor
    returns: Tensor
    world: Tensor
    worlds: int


@dataclass
class Batch:
    """A rollout of `T` steps of `B` worlds with `M` agents each; filled step by step.

    Attributes:
        observations: float32 `[T, B, M, D]`, for which the actions were chosen.
        actions: float32 `[T, B, M, A]`, before the env clips them.
        masks: bool `[T, B, M, C]`, the choices that were allowed, or None.
        log_probs: float32 `[T, B, M]`, of the actions at the rollout.
        rewards, values: float32 `[T, B, M]`; values in the units of rewards.
        following: float32 `[T, B, M]`, value of what each step led to; see `gae.advantages`.
        ended, active: bool `[T, B, M]`; see `gae.advantages`. Where not active, all else is zero.
        advantages, returns: float32 `[T, B, M]`; filled in by the learner.
    """

    observations: Tensor
    actions: Tensor
    masks: Tensor | None
    log_probs: Tensor
    rewards: Tensor
    values: Tensor
    following: Tensor
    ended: Tensor
    active: Tensor
    advantages: Tensor
    returns: Tensor

    @classmethod
    def empty(cls, shape: tuple[int, int, int], observation: int, action: int, choices: int | None) -> Batch:
        """Zeros on the CPU for `shape` (T, B, M), and sizes `D`, `A`, `C`; no masks if `choices` is None."""
        zeros = partial(torch.zeros, device="cpu")
        numbers = ("log_probs", "rewards", "values", "following", "advantages", "returns")
        return cls(
            observations=zeros((*shape, observation)),
            actions=zeros((*shape, action)),
            masks=None if choices is None else zeros((*shape, choices), dtype=torch.bool),
            **{name: zeros(shape) for name in numbers},
            ended=zeros(shape, dtype=torch.bool),
            active=zeros(shape, dtype=torch.bool),
        )

    def to(self, device: torch.device) -> Batch:
        """The batch on a device; itself where it is there."""
        if self.active.device.type == device.type:
            return self
        return Batch.of_tensors({name: tensor.to(device) for name, tensor in self.tensors().items()})

    def tensors(self) -> dict[str, Tensor]:
        """Its fields by name, without masks that are None."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: tensor for name, tensor in fields.items() if tensor is not None}

    @classmethod
    def of_tensors(cls, tensors: Mapping[str, Tensor]) -> Batch:
        """The batch with these fields.

        Raises:
            KeyError: one is missing.
        """
        names = [field.name for field in dataclasses.fields(cls)]
        missing = set(names) - {"masks"} - tensors.keys()
        if missing:
            raise KeyError(f"a batch has {sorted(missing)} too")
        return cls(**{name: tensors.get(name) for name in names})  # type: ignore[arg-type]  # masks may be None

    @classmethod
    def together(cls, batches: Sequence[Batch]) -> Batch:
        """A copy of batches of as many steps, whose worlds follow one another."""
        tensors = [batch.tensors() for batch in batches]
        whole = {name: torch.cat([each[name] for each in tensors], dim=1) for name in tensors[0]}
        return cls.of_tensors(whole)

    def split(self, copies: Sequence[int]) -> list[Batch]:
        """Views of the same memory: the first `copies[0]` worlds, the next `copies[1]`, and so on."""
        split = {name: tensor.split(copies, dim=1) for name, tensor in self.tensors().items()}
        return [
            Batch.of_tensors({name: parts[i] for name, parts in split.items()}) for i in range(len(copies))
        ]

    def flat(self) -> Batch:
        """Its decisions as rows, `[T * B * M, ...]`; views of the same memory where it is in one piece."""
        return Batch.of_tensors({name: tensor.flatten(0, 2) for name, tensor in self.tensors().items()})

    def write(self, t: int, live: np.ndarray, **rows: Tensor | None) -> None:
        """Fill in fields of step `t`, on the CPU, for those who are live (bool `[B, M]`); None is left out.

        Without torch, whose operations give way to other threads each time, however small they are.
        """
        for name, values in rows.items():
            if values is not None:
                getattr(self, name).numpy()[t][live] = values.cpu().numpy()

    def minibatches(self, size: int, group_size: int, generator: torch.Generator) -> Iterator[Minibatch]:
        """Every decision once, in random minibatches of about `size` decisions, never more.

        A minibatch is a random group of at most `group_size` agents at random steps of random worlds, so
        that the critic can pool each step, or a sample of its agents, while memory stays bounded.
        """
        steps, copies, agents = self.active.shape
        flat, plan = self.flat(), []
        shuffled = partial(torch.randperm, generator=generator, device="cpu")
        for group in shuffled(agents).to(self.active.device).split(min(group_size, size)):
            moments = shuffled(steps * copies).to(self.active.device)
            plan += [(chosen, group) for chosen in moments.split(max(1, size // len(group)))]
        for index in shuffled(len(plan)).tolist():
            moments, group = plan[index]
            minibatch = _chosen(flat, moments, group, agents)
            if minibatch is not None:
                yield minibatch


def _chosen(flat: Batch, moments: Tensor, group: Tensor, agents: int) -> Minibatch | None:
    """The live agents of `group` at `moments`, of rows `[T * B * M, ...]`; None if there are none."""
    rows = (moments[:, None] * agents + group).flatten()
    (live,) = flat.active.index_select(0, rows).nonzero(as_tuple=True)
    if not len(live):
        return None

    def of(field: Tensor) -> Tensor:
        return field.index_select(0, rows)

    rows = rows.index_select(0, live)
    return Minibatch(
        observations=of(flat.observations),
        actions=of(flat.actions),
        masks=None if flat.masks is None else of(flat.masks),
        log_probs=of(flat.log_probs),
        values=of(flat.values),
        advantages=of(flat.advantages),
        returns=of(flat.returns),
        world=live // len(group),
        worlds=len(moments),
    )
