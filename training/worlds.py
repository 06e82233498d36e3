"""What MAPPO trains in: `B` worlds of `M` like agents as arrays, of seer_env or of any PettingZoo env."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

from seer_env.model import EventModel
from seer_env.registration import UnknownWorldError, assemble, find_entry_point, make, registry
from seer_env.training.config import ConfigError, TrainConfig
from seer_env.training.parallel import ParallelEpisode, WorldsError

__all__ = [
    "ParallelWorlds",
    "SeerWorlds",
    "WorldStep",
    "Worlds",
    "WorldsError",
    "count_agents",
    "foreign_env",
    "open_worlds",
]


class WorldStep(NamedTuple):
    """A step of all worlds; rows of agents not live before it are zeros.

    Attributes:
        rewards: float64 `[B, M]`.
        terminated, truncated: bool `[B, M]`.
        final: float32 `[B, M, D]`, the observations that the step led to. Where an episode ended, they are
            its last; `Worlds.observations` then shows the next one's first.
        window_s, outputs_s: time (s) in the events, and in the outputs where they are timed apart.
    """

    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    final: np.ndarray
    window_s: float
    outputs_s: float


class Worlds(Protocol):
    """Worlds that are stepped together. One whose agents' episodes all ended begins the next at once.

    Attributes:
        copies, names: `B`, and the names of the `M` agents of each.
        first: number of the first of them in the run.
        observation_size: `D`.
        action_space: one agent's.
        observations: float32 `[B, M, D]`, at the current boundaries.
        live: bool `[B, M]`.
        masks: bool `[B, M, C]`, the choices that are allowed, or None where all are.
        graph: int64 `[2, E]`, agents and their neighbours, or None where the world is no graph of agents.
        threads, most_threads: those of a step, and the most that `use_threads` takes.
    """

    copies: int
    names: list[str]
    first: int
    observation_size: int
    action_space: spaces.Space
    observations: np.ndarray
    live: np.ndarray
    masks: np.ndarray | None
    graph: np.ndarray | None

    @property
    def threads(self) -> int:
        """See above."""

    @property
    def most_threads(self) -> int:
        """See above."""

    def use_threads(self, count: int) -> None:
        """Step on `count` threads from the next step on.

        Raises:
            ValueError: it is out of range.
        """

    def reset(self, seed: int) -> None:
        """Begin an episode in every world; world `i` of the run is seeded with `seed + i`."""

    def step(self, actions: np.ndarray) -> WorldStep:
        """Step every world with float32 `[B, M, A]`; rows of agents that are not live are ignored."""

    def save(self, folder: Path) -> None:
        """Write what `load` needs into `folder`."""

    def load(self, folder: Path, seed: int) -> np.ndarray:
        """Go on from `folder`; bool `[B]`, which worlds did. The others have begun episodes from `seed`."""

    def close(self) -> None:
        """Release what the worlds hold."""


class SeerWorlds:
    """Copies of a seer_env world in one engine.

    Args:
        config: names the world and its arguments.
        first: number of the first of them in the run.
    """

    def __init__(self, config: TrainConfig, first: int = 0):
        self.first = first
        self._copies = make(
            config.env,
            copies=config.copies,
            threads="auto" if config.threads is None else config.threads,
            max_cycles=config.max_cycles,
            **config.world,
        )
        model = self._copies.model
        self.copies, self.names = config.copies, list(model.agent_names)
        self.observation_size, self.action_space = model.observation_size, model.action_space
        self.graph = None
        if hasattr(model, "topology"):
            offsets, neighbours = model.topology.offsets, model.topology.neighbours
            self.graph = np.stack([np.repeat(np.arange(model.n_agents), np.diff(offsets)), neighbours])

    @property
    def threads(self) -> int:
        """See `Worlds`."""
        return self._copies.threads

    @property
    def most_threads(self) -> int:
        """See `Worlds`."""
        return self._copies.most_threads

    def use_threads(self, count: int) -> None:
        """See `Worlds`."""
        self._copies.use_threads(count)

    def reset(self, seed: int) -> None:
        """See `Worlds`."""
        self._copies.reset_arrays(seed=seed + self.first)
        self._look()

    def step(self, actions: np.ndarray) -> WorldStep:
        """See `Worlds`."""
        step = self._copies.step_arrays(actions)
        stats = self._copies.last_step_stats
        for copy in np.flatnonzero(~step.live.any(axis=1)).tolist():
            self._copies.reset_copy(copy)
        self._look()
        return WorldStep(
            step.rewards, step.terminated, step.truncated, step.observations, stats.window_s, stats.outputs_s
        )

    def save(self, folder: Path) -> None:
        """See `Worlds`; a boundary file for each copy."""
        for copy in range(self.copies):
            self._copies.save(copy, folder / f"world_{self.first + copy}.npz")

    def load(self, folder: Path, seed: int) -> np.ndarray:
        """See `Worlds`."""
        for copy in range(self.copies):
            self._copies.load(copy, folder / f"world_{self.first + copy}.npz")
        self._look()
        return np.ones(self.copies, bool)

    def close(self) -> None:
        """See `Worlds`."""
        self._copies.close()

    def _look(self) -> None:
        self.observations, self.live = self._copies.observations, self._copies.live
        info = self._copies.info_arrays
        masked = info is not None and "action_mask" in (info.dtype.names or ())
        self.masks = info["action_mask"] != 0 if info is not None and masked else None


class ParallelWorlds:
    """PettingZoo `ParallelEnv`s side by side, see `ParallelEpisode`.

    Args:
        make_env: makes one.
        copies: how many.
        max_cycles: steps after which an episode is truncated, whatever the env says; None for never.
        first: number of the first of them in the run.

    Raises:
        WorldsError: its agents differ in their spaces, or it has none.
    """

    graph: np.ndarray | None = None
    threads = most_threads = 1

    def __init__(
        self, make_env: Callable[[], ParallelEnv], copies: int, max_cycles: int | None = None, first: int = 0
    ):
        self.first = first
        self._episodes = [ParallelEpisode(make_env(), max_cycles) for _ in range(copies)]
        sample = self._episodes[0]
        self.copies, self.names = copies, sample.possible_agents
        self.observation_size, self.action_space = sample.observation_size, sample.action_space
        self.masks: np.ndarray | None = None

    def use_threads(self, count: int) -> None:
        """See `Worlds`."""
        if count != 1:
            raise ValueError(f"PettingZoo envs are stepped by one thread, got {count}")

    def reset(self, seed: int) -> None:
        """See `Worlds`."""
        for world, episode in enumerate(self._episodes, start=self.first):
            episode.reset_arrays(seed + world)
        self._look()

    def step(self, actions: np.ndarray) -> WorldStep:
        """See `Worlds`."""
        start = time.perf_counter()
        steps = [episode.step_arrays(acting) for episode, acting in zip(self._episodes, actions)]
        for episode in self._episodes:
            if not episode.live.any():
                episode.reset_arrays()
        self._look()
        final, rewards, terminated, truncated, _ = map(np.stack, zip(*steps))
        return WorldStep(rewards, terminated, truncated, final, time.perf_counter() - start, 0.0)

    def save(self, folder: Path) -> None:
        """See `Worlds`; the seed and the actions of each running episode."""
        for world, episode in enumerate(self._episodes, start=self.first):
            episode.save(folder / f"world_{world}.npz")

    def load(self, folder: Path, seed: int) -> np.ndarray:
        """See `Worlds`; an env goes on if its episode, played again, comes to the same."""
        numbered = list(enumerate(self._episodes, start=self.first))
        went_on = np.array([episode.load(folder / f"world_{world}.npz") for world, episode in numbered])
        for copy in np.flatnonzero(~went_on).tolist():
            self._episodes[copy].reset_arrays(seed + self.first + copy)
        self._look()
        return went_on

    def close(self) -> None:
        """See `Worlds`."""
        for episode in self._episodes:
            episode.close()

    def _look(self) -> None:
        self.observations = np.stack([episode.observations for episode in self._episodes])
        self.live = np.stack([episode.live for episode in self._episodes])
        masks = [episode.masks for episode in self._episodes if episode.masks is not None]
        self.masks = np.stack(masks) if masks else None


def foreign_env(config: TrainConfig) -> Callable[..., ParallelEnv] | None:
    """What makes the PettingZoo env that `config` names, with further arguments; None for seer_env's worlds.

    Raises:
        ConfigError: there is no such world, or its arguments are not possible.
    """
    if config.env in registry:
        return None
    try:
        entry_point = find_entry_point(config.env)
        sample = entry_point(**config.world)
    except UnknownWorldError as error:
        raise ConfigError(str(error)) from error
    except (TypeError, ValueError, ImportError) as error:
        raise ConfigError(f"env {config.env}: {error}") from error
    if isinstance(sample, EventModel):
        return None
    if not isinstance(sample, ParallelEnv):
        raise ConfigError(f"env {config.env}: made {type(sample).__name__}, no EventModel and no ParallelEnv")
    sample.close()
    return lambda **more: entry_point(**config.world, **more)


def count_agents(config: TrainConfig) -> int:
    """How many agents the world that `config` names has; nothing is compiled for it.

    Raises:
        ConfigError: there is no such world, or its arguments are not possible.
    """
    make_env = foreign_env(config)
    if make_env is not None:
        env = make_env()
        env.close()
        return len(env.possible_agents)
    try:
        return assemble(config.env, config.world)[0].n_agents
    except (TypeError, ValueError, ImportError) as error:
        raise ConfigError(f"env {config.env}: {error}") from error


def open_worlds(config: TrainConfig, first: int = 0) -> Worlds:
    """The worlds that `config` names; the first of them is number `first` of the run.

    Raises:
        ConfigError: there is no such world, or its arguments are not possible.
        WorldsError: its agents differ.
    """
    make_env = foreign_env(config)
    if make_env is not None:
        if config.elastic:
            raise ConfigError(
                f"elastic: {config.env} is a PettingZoo env, whose steps have no threads to give"
            )
        return ParallelWorlds(make_env, config.copies, config.max_cycles, first)
    try:
        return SeerWorlds(config, first)
    except (TypeError, ValueError, ImportError) as error:
        raise ConfigError(f"env {config.env}: {error}") from error
