"""Worlds in groups: a ring in which one group's window runs while the policy infers for another."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

import torch
from torch import Tensor

from seer_env.training.buffer import Batch
from seer_env.training.executors import AtOnce, second_thread
from seer_env.training.rollouts import Rollout, Rollouts, named, under

if TYPE_CHECKING:
    from seer_env.training.mappo import Networks, Worker
    from seer_env.training.worlds import Worlds

__all__ = ["InTurn", "Ring"]

Member = TypeVar("Member", bound=Rollouts)


class Members(Generic[Member]):
    """Several sources of rollouts, each with worlds of its own, that are used as one."""

    def __init__(self, members: Sequence[Member]):
        self._members = members

    @property
    def resumable(self) -> bool:
        """See `Rollouts`."""
        return all(member.resumable for member in self._members)

    def groups(self) -> list[Worlds]:
        """See `Rollouts`."""
        return [worlds for member in self._members for worlds in member.groups()]

    def reset(self, seed: int) -> None:
        """See `Rollouts`."""
        for member in self._members:
            member.reset(seed)

    def publish(self, networks: Networks, version: int) -> None:
        """See `Rollouts`."""
        for member in self._members:
            member.publish(networks, version)

    def save(self, folder: Path) -> dict[str, Tensor]:
        """See `Rollouts`."""
        state: dict[str, Tensor] = {}
        for i, member in enumerate(self._members):
            state |= named(str(i), member.save(folder))
        return state

    def load(self, folder: Path, state: Mapping[str, Tensor], seed: int) -> None:
        """See `Rollouts`."""
        for i, member in enumerate(self._members):
            member.load(folder, under(str(i), state), seed)

    def close(self) -> None:
        """See `Rollouts`."""
        for member in self._members:
            member.close()


class Ring(Members["Worker"]):
    """Groups of worlds that take turns: one infers in this thread while another steps in a second one.

    All groups run the same compiled code. One thread runs their windows, one at a time, so they share a
    pool of threads too. Each group draws its actions from a generator of its own: what comes of it is,
    bit for bit, what stepping the groups one after the other gives, whatever the timing.

    Args:
        workers: of the groups, two or more.
        overlap: whether there is a core for the second thread. Without, this one does both.
    """

    parts = 1

    def __init__(self, workers: Sequence[Worker], overlap: bool = True):
        super().__init__(workers)
        self._windows = second_thread("windows") if overlap else AtOnce()

    def collect(self) -> Rollout:
        """See `Rollouts`; the batch holds the worlds of all groups."""
        start, workers = time.perf_counter(), self._members
        sizes = [worker.worlds.copies for worker in workers]
        batch = workers[0].empty_batch(sum(sizes))
        for worker, part in zip(workers, batch.split(sizes)):
            worker.begin(part)
        stepping: list[Future[None]] = []
        try:
            for t in range(len(batch.active)):
                for i, worker in enumerate(workers):
                    if t > 0:
                        stepping[i - len(workers)].result()
                    worker.decide(t)
                    stepping.append(self._windows.submit(worker.step, t))
            for future in stepping[-len(workers) :]:
                future.result()
        finally:  # worlds are left at boundaries, also where one step has raised
            wait(stepping)
        return joined(batch, [worker.end() for worker in workers], time.perf_counter() - start)

    def close(self) -> None:
        """See `Rollouts`."""
        self._windows.shutdown()
        super().close()


class InTurn(Members[Rollouts]):
    """Parts of an update's worlds, rolled out one after the other, so that training can begin on the first.

    Args:
        members: of the parts, each with one rollout.
    """

    def __init__(self, members: Sequence[Rollouts]):
        super().__init__(members)
        self.parts, self._next = len(members), 0

    def collect(self) -> Rollout:
        """See `Rollouts`; that of the part whose turn it is."""
        rollout = self._members[self._next].collect()
        self._next = (self._next + 1) % self.parts
        return rollout

    def save(self, folder: Path) -> dict[str, Tensor]:
        """See `Rollouts`; whose turn it is, too."""
        return super().save(folder) | {"next": torch.tensor(self._next)}

    def load(self, folder: Path, state: Mapping[str, Tensor], seed: int) -> None:
        """See `Rollouts`."""
        super().load(folder, state, seed)
        self._next = int(state["next"])


def joined(batch: Batch, rollouts: Sequence[Rollout], elapsed_s: float) -> Rollout:
    """The rollouts of groups, which have filled parts of `batch`, as one."""
    whole = Rollout(batch, rollouts[0].version, elapsed_s=elapsed_s)
    for rollout in rollouts:
        whole.earned += rollout.earned
        whole.finished += rollout.finished
        for part, seconds in rollout.seconds.items():
            whole.seconds[part] += seconds
    return whole
