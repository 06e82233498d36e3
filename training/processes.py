"""Workers in processes of their own on this machine, so that rollouts and training share no Python lock.

A process answers one request after the other. Networks go to it as arrays; batches come back through memory
that both sides see. What a worker collects is, bit for bit, what it collects in this process.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, multiprocessing

from seer_env.commands.output import CommandError
from seer_env.errors import SeerError
from seer_env.training.config import TrainConfig
from seer_env.training.mappo import Networks, TrainingError
from seer_env.training.rollouts import Rollout, Rollouts, named
from seer_env.training.workers import Workers, together
from seer_env.training.worlds import Worlds

__all__ = ["ProcessWorker", "ProcessWorkers"]

Arrays = dict[str, np.ndarray]

#: Errors that are answers.
OURS = (SeerError, CommandError)


class ProcessWorker:
    """A worker in a process, a `Rollouts`.

    Args:
        config: the settings.
        index: which of the run's workers it is.
    """

    def __init__(self, config: TrainConfig, index: int):
        self.parts, self.resumable, self._index = config.micro_batches, True, index
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, config, index), daemon=True)
        self._process.start()
        theirs.close()
        self._shared: dict[torch.Size, dict[str, Tensor]] = {}  # the process writes batches of a shape here

    def groups(self) -> Sequence[Worlds]:
        """See `Rollouts`; none, all are elsewhere."""
        return ()

    def reset(self, seed: int) -> None:
        """See `Rollouts`."""
        self._call("reset", seed)

    def publish(self, networks: Networks, version: int) -> None:
        """See `Rollouts`."""
        self._call("publish", arrays_of(networks.state_dict()), version)

    def collect(self) -> Rollout:
        """See `Rollouts`.

        Raises:
            TrainingError: besides, the process has ended.
        """
        self.begin()
        return self.end()

    def begin(self) -> None:
        """Let the process begin a rollout."""
        self._ask("collect")

    def end(self) -> Rollout:
        """Wait for the rollout that was begun; the memory of its batch is this process's own."""
        numbers, shape, shared = self._answer()
        if shared is not None:
            self._shared[shape] = shared
        batch = {name: tensor.clone() for name, tensor in self._shared[shape].items()}
        return Rollout.of_tensors(tensors_of(numbers) | named("batch", batch))

    def save(self, folder: Path) -> dict[str, Tensor]:
        """See `Rollouts`."""
        return tensors_of(self._call("save", folder))

    def load(self, folder: Path, state: Mapping[str, Tensor], seed: int) -> None:
        """See `Rollouts`."""
        self.resumable = self._call("load", folder, arrays_of(state), seed)

    def close(self) -> None:
        """See `Rollouts`; ends the process."""
        self._pipe.close()
        self._process.join(timeout=10.0)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _call(self, method: str, *arguments: Any) -> Any:
        self._ask(method, *arguments)
        return self._answer()

    def _ask(self, method: str, *arguments: Any) -> None:
        with self._missed():
            self._pipe.send((method, arguments))

    def _answer(self) -> Any:
        with self._missed():
            answer = self._pipe.recv()
        if isinstance(answer, Exception):
            raise answer
        return answer

    @contextmanager
    def _missed(self) -> Iterator[None]:
        """The process is needed inside the block; what its pipe has against it becomes a `TrainingError`."""
        try:
            yield
        except (EOFError, ConnectionError):
            self._process.join()
            raise TrainingError(
                f"the process of worker {self._index} ended with status {self._process.exitcode}; "
                "--resume goes on from the last checkpoint"
            ) from None


class ProcessWorkers(Workers):
    """Workers in a process each, which roll out at the same time; their worlds follow one another.

    Args:
        members: the workers, two or more.
    """

    def __init__(self, members: Sequence[ProcessWorker]):
        super().__init__(members)
        self._workers = members

    def collect(self) -> Rollout:
        """See `Rollouts`; errors are raised behind everyone's answer, so that none is left over."""
        start, rollouts, errors = time.perf_counter(), [], []
        for worker in self._workers:
            worker.begin()
        for worker in self._workers:
            try:
                rollouts.append(worker.end())
            except OURS as error:
                errors.append(error)
        if errors:
            raise errors[0]
        return together(rollouts, start)


class Served:
    """The worker in its own process; its methods are what can be asked for.

    Args:
        config, index: see `ProcessWorker`.
    """

    def __init__(self, config: TrainConfig, index: int):
        self._config, self._index = config, index
        self._shared: dict[torch.Size, dict[str, Tensor]] = {}

    @cached_property
    def _opened(self) -> tuple[Networks, Rollouts]:
        """Opened when first needed, so that an error is an answer."""
        from seer_env.training.sources import open_share  # which imports this module

        torch.set_num_threads(1)
        return open_share(self._config, self._index)

    def reset(self, seed: int) -> None:
        self._opened[1].reset(seed)

    def publish(self, arrays: Arrays, version: int) -> None:
        networks, worker = self._opened
        networks.load_state_dict(tensors_of(arrays))
        worker.publish(networks, version)

    def collect(self) -> tuple[Arrays, torch.Size, dict[str, Tensor] | None]:
        """What is not the batch of a rollout; the batch's shape; and its memory, where that is new."""
        rollout = self._opened[1].collect()
        batch, shape = rollout.batch.tensors(), rollout.batch.active.shape
        new = shape not in self._shared
        if new:
            self._shared[shape] = {name: torch.empty_like(t).share_memory_() for name, t in batch.items()}
        for name, tensor in self._shared[shape].items():
            tensor.copy_(batch[name])
        numbers = {name: t for name, t in rollout.tensors().items() if not name.startswith("batch.")}
        return arrays_of(numbers), shape, self._shared[shape] if new else None

    def save(self, folder: Path) -> Arrays:
        return arrays_of(self._opened[1].save(folder))

    def load(self, folder: Path, state: Arrays, seed: int) -> bool:
        _, worker = self._opened
        worker.load(folder, tensors_of(state), seed)
        return worker.resumable

    def close(self) -> None:
        if "_opened" in vars(self):  # else never asked for, or not possible
            self._opened[1].close()


def serve(pipe: Connection, config: TrainConfig, index: int) -> None:
    """The process: answer until the other side is closed. Errors that are not ours end it, printed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that trains, which ends this one
    worker = Served(config, index)
    try:
        while True:
            method, arguments = pipe.recv()
            try:
                answer = getattr(worker, method)(*arguments)
            except OURS as error:
                answer = error
            except (KeyError, ValueError, RuntimeError, OSError) as error:
                if method != "load":  # which has these for a state that is not of its worlds
                    raise
                answer = error
            pipe.send(answer)
    except (EOFError, ConnectionError):
        worker.close()


def arrays_of(tensors: Mapping[str, Tensor]) -> Arrays:
    """Tensors as arrays, which a pipe copies; tensors would each open a file."""
    return {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}


def tensors_of(arrays: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    """The other way round."""
    return {name: torch.from_numpy(array) for name, array in arrays.items()}
