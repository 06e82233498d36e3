"""Where batches come from: the contract between the trainer and whoever steps worlds under a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor

from seer_env.errors import SeerError
from seer_env.training.buffer import Batch

if TYPE_CHECKING:
    from seer_env.training.mappo import Networks
    from seer_env.training.worlds import Worlds

__all__ = ["SPENT_ON", "Rollout", "Rollouts", "TrainingError", "named", "under"]

#: What a rollout's time is spent on: the networks, the worlds' events and outputs, and what is around them.
SPENT_ON = ("inference", "window", "outputs", "other")


class TrainingError(SeerError, RuntimeError):
    """Training cannot go on; the last checkpoint is as it was."""


@dataclass
class Rollout:
    """A batch without its advantages, and how it was come by.

    Attributes:
        batch: what the agents saw, did and earned.
        version: updates that the networks had had which acted.
        earned: sum of all rewards, without those of neighbours.
        finished: (mean return over agents, length) of each episode that ended.
        seconds: s by `SPENT_ON`; where those overlap, their sum is more than `elapsed_s`.
        elapsed_s: s from the rollout's beginning to its end.
    """

    batch: Batch
    version: int
    earned: float = 0.0
    finished: list[tuple[float, int]] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(SPENT_ON, 0.0))
    elapsed_s: float = 0.0

    def tensors(self) -> dict[str, Tensor]:
        """All that `of_tensors` needs to make it anew."""
        numbers = [float(self.version), self.earned, self.elapsed_s, *map(self.seconds.get, SPENT_ON)]
        return {
            "numbers": torch.tensor(numbers, dtype=torch.float64, device="cpu"),
            "finished": torch.tensor(self.finished, dtype=torch.float64, device="cpu").reshape(-1, 2),
            **named("batch", self.batch.tensors()),
        }

    @classmethod
    def of_tensors(cls, tensors: Mapping[str, Tensor]) -> Rollout:
        """The rollout that `tensors` were made of."""
        version, earned, elapsed_s, *seconds = tensors["numbers"].tolist()
        finished = [(mean, int(length)) for mean, length in tensors["finished"].tolist()]
        batch = Batch.of_tensors(under("batch", tensors))
        return cls(batch, int(version), earned, finished, dict(zip(SPENT_ON, seconds)), elapsed_s)


class Rollouts(Protocol):
    """A source of rollouts, in this thread or elsewhere.

    The trainer publishes the networks before an update, collects `parts` rollouts and trains on each. It
    saves between updates, before it publishes: what was collected is then trained on, and nothing else.

    Attributes:
        parts: rollouts of an update, which are trained on one after the other.
        resumable: whether the last `load` went on where `save` was, or had to begin new episodes.
    """

    parts: int

    @property
    def resumable(self) -> bool:
        """See above."""

    def groups(self) -> Sequence[Worlds]:
        """The worlds that are stepped in this process, in their groups."""

    def reset(self, seed: int) -> None:
        """Begin an episode in every world; world `i` is seeded with `seed + i`."""

    def publish(self, networks: Networks, version: int) -> None:
        """Let networks, which have had `version` updates, act. They do not change until the next update."""

    def collect(self) -> Rollout:
        """The next rollout.

        Raises:
            TrainingError: a reward or an observation is not finite; names the agent.
        """

    def save(self, folder: Path) -> dict[str, Tensor]:
        """Write worlds into `folder`, and return the rest of what `load` needs."""

    def load(self, folder: Path, state: Mapping[str, Tensor], seed: int) -> None:
        """Go on from what `save` wrote and returned; worlds that cannot begin episodes from `seed`.

        Raises:
            KeyError, ValueError, RuntimeError: the state is not of these rollouts.
            BoundaryFileError: a world's file is damaged.
        """

    def close(self) -> None:
        """Release worlds and threads; closing again is allowed."""


def named(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors with `prefix.` before their names."""
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Those tensors whose names begin with `prefix.`, without it."""
    return {k.removeprefix(f"{prefix}."): v for k, v in tensors.items() if k.startswith(f"{prefix}.")}
