"""What rolls out a run's worlds: how they are shared among workers, and grouped and arranged in each."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from itertools import pairwise

import numpy as np
import torch

from seer_env.machine import effective_cpus
from seer_env.training.asynchronous import Asynchronous
from seer_env.training.config import ConfigError, TrainConfig
from seer_env.training.devices import open_device
from seer_env.training.mappo import Networks, Worker
from seer_env.training.processes import ProcessWorker, ProcessWorkers
from seer_env.training.ring import InTurn, Ring
from seer_env.training.rollouts import Rollouts
from seer_env.training.workers import Workers
from seer_env.training.worlds import Worlds, open_worlds

__all__ = ["open_groups", "open_rollouts", "open_share"]


def open_rollouts(config: TrainConfig) -> tuple[Networks, Rollouts]:
    """The rollouts of new worlds, which are not reset yet, and networks for them; both follow from `config`.

    Raises:
        ConfigError: the worlds or the workers are not possible.
        WorldsError: agents differ.
    """
    if config.engine == "local":
        shares = [open_share(config, index) for index in range(config.workers)]
        networks = shares[0][0]
        rollouts = shares[0][1] if len(shares) == 1 else Workers([share for _, share in shares])
    else:
        networks = _open_networks(config)
        rollouts = _open_ray(config) if config.engine == "ray" else _open_processes(config)
    if config.staleness or config.micro_batches > 1:
        rollouts = Asynchronous(rollouts, config.staleness, config.updates)
    return networks, rollouts


def open_share(config: TrainConfig, index: int) -> tuple[Networks, Rollouts]:
    """What the `index`-th worker of a run rolls out, and networks for it, the same in every worker."""
    groups = open_groups(config, index)
    networks = _new_networks(groups[0], config)
    _, acting, _ = np.random.SeedSequence(config.seed).generate_state(3).tolist()
    workers = [
        Worker(worlds, networks, torch.Generator(config.device).manual_seed(acting + group), config)
        for group, worlds in enumerate(groups, start=index * len(groups))
    ]
    parts = [workers[i : i + config.ring] for i in range(0, len(workers), config.ring)]
    training = (config.torch_threads or 1) if config.staleness else 0
    overlap = effective_cpus() - training > 1
    members = [Ring(part, overlap) if len(part) > 1 else part[0] for part in parts]
    return networks, members[0] if len(members) == 1 else InTurn(members)


def open_groups(config: TrainConfig, index: int = 0) -> list[Worlds]:
    """A worker's worlds, in the groups that it rolls out by themselves; sizes differ by one at most."""
    own = config.ring * config.micro_batches
    groups = config.workers * own
    ends = [config.copies * i // groups for i in range(groups + 1)][index * own : (index + 1) * own + 1]
    alone = replace(config, workers=1, ring=1, micro_batches=1)
    return [open_worlds(replace(alone, copies=end - first), first) for first, end in pairwise(ends)]


def _new_networks(worlds: Worlds, config: TrainConfig) -> Networks:
    initial = np.random.SeedSequence(config.seed).generate_state(1).tolist()[0]
    device = open_device(config)
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):  # the same weights for every device
        torch.manual_seed(initial)
        networks = Networks(worlds, config)
    return networks.to(device)


def _open_networks(config: TrainConfig) -> Networks:
    """Networks of a run whose worlds are elsewhere; one is opened here too, for its spaces."""
    worlds = open_worlds(replace(config, copies=1, workers=1, ring=1, micro_batches=1))
    networks = _new_networks(worlds, config)
    worlds.close()
    return networks


def _open_processes(config: TrainConfig) -> Rollouts:
    workers = [ProcessWorker(replace(config, device="cpu"), index) for index in range(config.workers)]
    return workers[0] if len(workers) == 1 else ProcessWorkers(workers)


def _open_ray(config: TrainConfig) -> Rollouts:
    """Workers as Ray actors."""
    if importlib.util.find_spec("ray") is None:
        raise ConfigError('engine: ray is not installed: pip install "seer-env[ray]"')
    from seer_env.training.ray_workers import RayWorkers

    return RayWorkers(replace(config, device="cpu"))
