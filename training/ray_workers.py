"""Workers as Ray actors, on one machine or many; if one dies, no sample is lost or counted twice.

What a worker collects follows from the networks and from its state at the boundary where it begins. Each
rollout comes with the state behind it, which is kept here. A worker that dies has handed over nothing of the
rollout that it was at, so another one, put back to the last state, collects the very same.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import ray
import torch
from ray.exceptions import ObjectLostError, RayActorError, RayTaskError
from torch import Tensor

from seer_env.commands.output import CommandError
from seer_env.errors import SeerError
from seer_env.training.config import ConfigError, TrainConfig
from seer_env.training.mappo import Networks, TrainingError
from seer_env.training.rollouts import Rollout, Rollouts
from seer_env.training.sources import open_share
from seer_env.training.workers import WorkerState, capture, put_back, read_states, together, write_states
from seer_env.training.worlds import Worlds

__all__ = ["RESTARTS", "RayWorkers"]

#: How often in a row a worker is replaced before training gives up.
RESTARTS = 3

#: What says that a worker, or the machine that has its answer, is gone.
GONE = (RayActorError, ObjectLostError)


class RemoteWorker:
    """A worker in an actor's process."""

    def __init__(self, config: TrainConfig, index: int):
        self._config, self._index = config, index

    @cached_property
    def _opened(self) -> tuple[Networks, Rollouts]:
        """Opened when first needed: errors of `__init__` would look like the actor's death."""
        torch.set_num_threads(self._config.torch_threads or 1)
        return open_share(self._config, self._index)

    def reset(self, seed: int) -> WorkerState:
        """Begin episodes; the state then."""
        _, worker = self._opened
        worker.reset(seed)
        return capture(worker)

    def load(self, state: WorkerState, seed: int) -> bool:
        """Go on from a state; whether every world did."""
        _, worker = self._opened
        put_back(worker, state, seed)
        return worker.resumable

    def collect(
        self, tensors: Mapping[str, Tensor], version: int, state: WorkerState | None, seed: int
    ) -> tuple[Rollout, WorkerState]:
        """A rollout under networks of these tensors, from `state` on if there is one; the state behind it."""
        networks, worker = self._opened
        if state is not None:
            put_back(worker, state, seed)
        networks.load_state_dict(tensors)
        worker.publish(networks, version)
        return worker.collect(), capture(worker)


class RayWorkers:
    """Workers in processes of their own, a `Rollouts`; in the batch, their worlds follow one another.

    Ray is joined as `ray.init` does it: the cluster that is connected already, the one that the environment
    variable RAY_ADDRESS or `ray start` on this machine names, or else a new one on this machine, which is
    stopped at the end.

    Args:
        config: the settings.

    Raises:
        ConfigError: there is no such cluster, or it has fewer CPUs than the workers need.
    """

    def __init__(self, config: TrainConfig):
        self._config, self.resumable, self.parts = config, True, config.micro_batches
        self._started = not ray.is_initialized()
        if self._started:
            _join()
        self._actors: list[Any] = []
        try:
            _require_cpus(config)
            self._actors = [self._new(index) for index in range(config.workers)]
        except BaseException:
            self.close()
            raise
        self._states: list[WorkerState] = []
        self._stands = [False] * config.workers  # whether an actor is at its state
        self._published: tuple[Any, int] | None = None

    def groups(self) -> Sequence[Worlds]:
        """See `Rollouts`; none, all are elsewhere."""
        return ()

    def reset(self, seed: int) -> None:
        """See `Rollouts`."""
        self._states = self._ask(lambda index: self._actors[index].reset.remote(seed))
        self._stands = [True] * len(self._actors)

    def publish(self, networks: Networks, version: int) -> None:
        """See `Rollouts`."""
        tensors = {name: tensor.detach().cpu() for name, tensor in networks.state_dict().items()}
        self._published = ray.put(tensors), version

    def collect(self) -> Rollout:
        """See `Rollouts`.

        Raises:
            TrainingError: besides, a worker died again and again.
        """
        assert self._published is not None, "networks come before rollouts"
        start, (networks, version) = time.perf_counter(), self._published

        def ask(index: int) -> Any:
            state = None if self._stands[index] else self._states[index]
            self._stands[index] = False  # until all answers are here
            seed = self._config.seed + version
            return self._actors[index].collect.remote(networks, version, state, seed)

        answers = self._ask(ask)
        self._states, self._stands = [state for _, state in answers], [True] * len(answers)
        return together([rollout for rollout, _ in answers], start)

    def save(self, folder: Path) -> dict[str, Tensor]:
        """See `Rollouts`."""
        return write_states(folder, self._states)

    def load(self, folder: Path, state: Mapping[str, Tensor], seed: int) -> None:
        """See `Rollouts`."""
        self._states = read_states(folder, state, len(self._actors))
        loaded = self._ask(lambda index: self._actors[index].load.remote(self._states[index], seed))
        self.resumable, self._stands = all(loaded), [True] * len(self._actors)

    def close(self) -> None:
        """See `Rollouts`."""
        for actor in self._actors:
            ray.kill(actor)
        self._actors = []
        if self._started:
            self._started = False
            ray.shutdown()

    def _new(self, index: int) -> Any:
        actor = ray.remote(num_cpus=_cpus(self._config), max_restarts=0)(RemoteWorker)
        return actor.remote(self._config, index)

    def _ask(self, ask: Callable[[int], Any]) -> list[Any]:
        """What all workers answer, who work at the same time; `ask` gives one of them something to do."""
        answers, failed = [], []
        for index, pending in enumerate([ask(index) for index in range(len(self._actors))]):
            try:
                answers.append(self._answer(index, pending, ask))
            except Exception as error:  # all are heard first: Ray reports errors that nobody asked for
                failed.append(error)
        if failed:
            raise failed[0]
        return answers

    def _answer(self, index: int, pending: Any, ask: Callable[[int], Any]) -> Any:
        """What one worker answers, or the one that replaces it."""
        deaths = 0
        while True:
            try:
                return ray.get(pending)
            except RayTaskError as error:
                if isinstance(error.cause, (SeerError, CommandError)):
                    raise error.cause from error
                raise
            except GONE as error:
                deaths, reason = deaths + 1, str(error).splitlines()[-1].strip()
                if deaths > RESTARTS:
                    raise TrainingError(f"worker {index} died {deaths} times in a row: {reason}") from error
                print(
                    f"worker {index} died and is replaced; its rollout begins again: {reason}",
                    file=sys.stderr,
                )
                ray.kill(self._actors[index])  # if it only seems to be gone, it must not go on
                self._actors[index] = self._new(index)
                pending = ask(index)


def _join() -> None:
    try:
        ray.init(include_dashboard=False, logging_level=logging.WARNING)
    except ConnectionError as error:
        raise ConfigError(
            f"engine: ray: {error}; RAY_ADDRESS is {os.environ.get('RAY_ADDRESS')!r}"
        ) from error


def _cpus(config: TrainConfig) -> int:
    """CPUs of one worker."""
    return max(config.threads or 1, config.torch_threads or 1)


def _require_cpus(config: TrainConfig) -> None:
    """Refuse what would wait for ever."""
    need, have = config.workers * _cpus(config), int(ray.cluster_resources().get("CPU", 0))
    if need > have:
        raise ConfigError(
            f"workers: {config.workers} need {need} CPUs, and Ray has {have}: name fewer, or start a larger "
            "cluster (ray start --head --num-cpus N, and RAY_ADDRESS=auto)"
        )
