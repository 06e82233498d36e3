"""Workers that roll out shares of the worlds by themselves, and what each is between two rollouts.

Here they are in this process, one after the other; `processes.ProcessWorkers` and `ray_workers.RayWorkers`
have the same in processes of their own. What they collect is the same.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from torch import Tensor

from seer_env.training.buffer import Batch
from seer_env.training.ring import Members, joined
from seer_env.training.rollouts import Rollout, Rollouts, named, under

__all__ = ["WorkerState", "Workers", "capture", "put_back", "read_states", "together", "write_states"]


class WorkerState(NamedTuple):
    """What a worker is between two rollouts: its worlds' boundaries, its generator, its running episodes.

    Attributes:
        files: what its worlds saved, by name.
        tensors: the rest; see `Rollouts.save`.
    """

    files: dict[str, bytes]
    tensors: dict[str, Tensor]


class Workers(Members[Rollouts]):
    """Workers in this process; in the batch, their worlds follow one another.

    Args:
        members: what each of them rolls out, as many parts each.
    """

    def __init__(self, members: Sequence[Rollouts]):
        super().__init__(members)
        self.parts = members[0].parts

    def collect(self) -> Rollout:
        """See `Rollouts`."""
        start = time.perf_counter()
        return together([member.collect() for member in self._members], start)

    def save(self, folder: Path) -> dict[str, Tensor]:
        """See `Rollouts`."""
        return write_states(folder, [capture(member) for member in self._members])

    def load(self, folder: Path, state: Mapping[str, Tensor], seed: int) -> None:
        """See `Rollouts`."""
        for member, saved in zip(self._members, read_states(folder, state, len(self._members))):
            put_back(member, saved, seed)


def together(rollouts: Sequence[Rollout], start: float) -> Rollout:
    """One rollout of all worlds, in their order, which began at `start` by `perf_counter`."""
    batch = Batch.together([rollout.batch for rollout in rollouts])
    return joined(batch, rollouts, time.perf_counter() - start)


def capture(worker: Rollouts) -> WorkerState:
    """A copy of what a worker is at its boundary."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tensors = {name: tensor.clone() for name, tensor in worker.save(folder).items()}
        return WorkerState({path.name: path.read_bytes() for path in sorted(folder.iterdir())}, tensors)


def put_back(worker: Rollouts, state: WorkerState, seed: int) -> None:
    """Let a worker go on from a state; worlds that cannot begin episodes from `seed`.

    Raises:
        BoundaryFileError: the state is not of such worlds.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, content in state.files.items():
            (folder / file).write_bytes(content)
        worker.load(folder, {name: tensor.clone() for name, tensor in state.tensors.items()}, seed)


def write_states(folder: Path, states: Sequence[WorkerState]) -> dict[str, Tensor]:
    """Write the files of all workers into `folder`; returns their tensors. One alone needs no folder."""
    if len(states) == 1:
        _write(folder, states[0])
        return states[0].tensors
    for index, state in enumerate(states):
        own = folder / f"worker_{index}"
        own.mkdir()
        _write(own, state)
    return {
        key: t for i, state in enumerate(states) for key, t in named(f"worker_{i}", state.tensors).items()
    }


def read_states(folder: Path, tensors: Mapping[str, Tensor], count: int) -> list[WorkerState]:
    """What `write_states` wrote and returned, of `count` workers."""
    if count == 1:
        return [WorkerState(_read(folder), dict(tensors))]
    names = [f"worker_{index}" for index in range(count)]
    return [WorkerState(_read(folder / name), under(name, tensors)) for name in names]


def _write(folder: Path, state: WorkerState) -> None:
    for name, content in state.files.items():
        (folder / name).write_bytes(content)


def _read(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("world_*"))}
