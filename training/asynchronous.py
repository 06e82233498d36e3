"""Rollouts that go on in a thread of their own while training works on an earlier one."""

from __future__ import annotations

import copy
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from seer_env.training.rollouts import Rollout, Rollouts, named, under

if TYPE_CHECKING:
    from seer_env.training.mappo import Networks
    from seer_env.training.worlds import Worlds

__all__ = ["Asynchronous"]


class Asynchronous:
    """Rolls out ahead of training, by a number of updates that is fixed.

    The rollouts of update `u` are made by the networks of version `u - staleness`, or by the first that
    there were. They begin when that version is published, and not before: so no more than `staleness + 1`
    updates' rollouts wait or are in the making, and what comes of a run does not depend on timing. With
    `staleness` 0 they are those of the source itself.

    An error in the thread is raised by the `collect` or the `save` that meets it.

    Args:
        source: of the rollouts. From the first `publish` on the thread alone uses it, but for `save`.
        staleness: how many updates the networks that act are behind those that are trained.
        updates: of the whole run; no rollout is made for later ones.
    """

    def __init__(self, source: Rollouts, staleness: int, updates: int):
        self._source, self._staleness, self._updates = source, staleness, updates
        self.parts = source.parts
        self._acting: Networks | None = None  # the thread's own
        self._published: SimpleQueue[tuple[dict[str, Tensor], int] | None] = SimpleQueue()
        self._made: SimpleQueue[Rollout | BaseException] = SimpleQueue()
        self._waiting: deque[Rollout] = deque()  # taken from `_made`, or from a checkpoint
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()
        self._threads: int | None = None  # of the worlds' steps, where they are told
        self._to_come = 0  # rollouts that the thread makes of what is published, and that are not taken

    @property
    def resumable(self) -> bool:
        """See `Rollouts`."""
        return self._source.resumable

    def groups(self) -> Sequence[Worlds]:
        """See `Rollouts`."""
        return self._source.groups()

    def use_threads(self, count: int) -> None:
        """Step all worlds on `count` threads from the next rollout that begins on, see `Copies.use_threads`.

        The policy then infers on one, whatever training uses.
        """
        self._threads = count

    def reset(self, seed: int) -> None:
        """See `Rollouts`."""
        self._source.reset(seed)

    def publish(self, networks: Networks, version: int) -> None:
        """See `Rollouts`; what the networks are now is copied."""
        if self._acting is None:
            self._acting = copy.deepcopy(networks)
        tensors = {name: tensor.clone() for name, tensor in networks.state_dict().items()}
        self._published.put((tensors, version))
        if self._thread is None:
            first = version + len(self._waiting) // self.parts
            last = min(version + self._staleness + 1, self._updates)  # less, if the run was shortened
            self._to_come = self.parts * max(last - first, 0)
            self._thread = threading.Thread(target=self._run, args=(first,), name="rollouts", daemon=True)
            self._thread.start()
        elif version + self._staleness < self._updates:
            self._to_come += self.parts

    def collect(self) -> Rollout:
        """See `Rollouts`; waits where the thread is behind."""
        return self._waiting.popleft() if self._waiting else self._take()

    def save(self, folder: Path) -> dict[str, Tensor]:
        """See `Rollouts`; waits for the rollouts that are in the making, which are saved too."""
        while self._to_come:
            self._waiting.append(self._take())
        state = named("source", self._source.save(folder))
        for i, rollout in enumerate(self._waiting):
            state |= named(f"waiting.{i}", rollout.tensors())
        return state

    def load(self, folder: Path, state: Mapping[str, Tensor], seed: int) -> None:
        """See `Rollouts`."""
        self._source.load(folder, under("source", state), seed)
        waiting = under("waiting", state)
        count = len({name.partition(".")[0] for name in waiting})
        self._waiting.extend(Rollout.of_tensors(under(str(i), waiting)) for i in range(count))

    def close(self) -> None:
        """See `Rollouts`; a rollout that is in the making is completed first."""
        if self._thread is not None:
            self._closing.set()
            self._published.put(None)  # if it waits for networks
            self._thread.join()
        self._source.close()

    def _take(self) -> Rollout:
        made = self._made.get()
        if isinstance(made, BaseException):
            self._made.put(made)  # whoever asks again meets it again
            raise made
        self._to_come -= 1
        return made

    def _run(self, first: int) -> None:
        """The thread: make the rollouts of the updates from `first` on."""
        assert self._acting is not None
        version = -1
        try:
            for update in range(first, self._updates):
                if version < max(update - self._staleness, 0):
                    published = self._published.get()
                    if published is None:
                        return
                    tensors, version = published
                    self._acting.load_state_dict(tensors)
                    self._source.publish(self._acting, version)
                for _ in range(self.parts):
                    if self._closing.is_set():
                        return
                    self._heed_threads()
                    self._made.put(self._source.collect())
        except BaseException as error:
            self._made.put(error)

    def _heed_threads(self) -> None:
        """No step is under way: let the next ones run on as many threads as were told."""
        if self._threads is not None:
            torch.set_num_threads(1)  # in this thread alone
            for worlds in self._source.groups():
                worlds.use_threads(self._threads)
