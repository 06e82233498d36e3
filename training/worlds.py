"""What MAPPO trains in: `B` worlds of `M` like agents as arrays, of seer_env or of any PettingZoo env."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

from seer_env.entry_points import load
from seer_env.errors import SeerError
from seer_env.model import EventModel
from seer_env.registration import make, registry
from seer_env.training.config import ConfigError, TrainConfig

__all__ = ["ParallelWorlds", "SeerWorlds", "WorldStep", "Worlds", "WorldsError", "open_worlds"]


class WorldsError(SeerError, ValueError):
    """Worlds in which agents cannot be trained together; says why."""


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
        observation_size: `D`.
        action_space: one agent's.
        resumable: whether `load` goes on where `save` was, or begins new episodes.
        observations: float32 `[B, M, D]`, at the current boundaries.
        live: bool `[B, M]`.
        masks: bool `[B, M, C]`, the choices that are allowed, or None where all are.
        graph: int64 `[2, E]`, agents and their neighbours, or None where the world is no graph of agents.
    """

    copies: int
    names: list[str]
    observation_size: int
    action_space: spaces.Space
    resumable: bool
    observations: np.ndarray
    live: np.ndarray
    masks: np.ndarray | None
    graph: np.ndarray | None

    def reset(self, seed: int) -> None:
        """Begin an episode in every world."""

    def step(self, actions: np.ndarray) -> WorldStep:
        """Step every world with float32 `[B, M, A]`; rows of agents that are not live are ignored."""

    def save(self, folder: Path) -> None:
        """Write what `load` needs into `folder`."""

    def load(self, folder: Path, seed: int) -> None:
        """Go on from `folder`; worlds that are not `resumable` begin episodes from `seed`."""

    def close(self) -> None:
        """Release what the worlds hold."""


class SeerWorlds:
    """Copies of a seer_env world in one engine."""

    resumable = True

    def __init__(self, config: TrainConfig):
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

    def reset(self, seed: int) -> None:
        """See `Worlds`; world `i` is seeded with `seed + i`."""
        self._copies.reset_arrays(seed=seed)
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
            self._copies.save(copy, folder / f"world_{copy}.npz")

    def load(self, folder: Path, seed: int) -> None:
        """See `Worlds`."""
        for copy in range(self.copies):
            self._copies.load(copy, folder / f"world_{copy}.npz")
        self._look()

    def close(self) -> None:
        """See `Worlds`."""
        self._copies.close()

    def _look(self) -> None:
        self.observations, self.live = self._copies.observations, self._copies.live
        info = self._copies.info_arrays
        masked = info is not None and "action_mask" in (info.dtype.names or ())
        self.masks = info["action_mask"] != 0 if info is not None and masked else None


class ParallelWorlds:
    """PettingZoo `ParallelEnv`s side by side, from dicts to arrays and back.

    Args:
        make_env: makes one.
        copies: how many.
        max_cycles: steps after which an episode is truncated, whatever the env says; None for never.

    Raises:
        WorldsError: its agents differ in their spaces, or it has none.
    """

    resumable = False
    graph: np.ndarray | None = None

    def __init__(self, make_env: Callable[[], ParallelEnv], copies: int, max_cycles: int | None = None):
        self._envs = [make_env() for _ in range(copies)]
        first = self._envs[0]
        self.copies, self.names, self._max_cycles = copies, list(first.possible_agents), max_cycles
        self._space, self.action_space = _common_spaces(first)
        self.observation_size = spaces.flatdim(self._space)
        self._row = {name: i for i, name in enumerate(self.names)}
        shape = copies, len(self.names)
        self.observations = np.zeros((*shape, self.observation_size), np.float32)
        self.live = np.zeros(shape, bool)
        self.masks: np.ndarray | None = None
        self._cycles = np.zeros(copies, np.int64)

    def reset(self, seed: int) -> None:
        """See `Worlds`; world `i` is seeded with `seed + i`."""
        for copy in range(self.copies):
            self._begin(copy, seed + copy)

    def step(self, actions: np.ndarray) -> WorldStep:
        """See `Worlds`."""
        start = time.perf_counter()
        rewards = np.zeros(self.live.shape)
        terminated, truncated = np.zeros(self.live.shape, bool), np.zeros(self.live.shape, bool)
        self.observations, self.live = np.zeros_like(self.observations), np.zeros_like(self.live)
        for copy, env in enumerate(self._envs):
            acting = {name: self._action(actions[copy, self._row[name]]) for name in env.agents}
            observations, earned, ended, cut, infos = env.step(acting)
            self._cycles[copy] += 1
            over = self._max_cycles is not None and self._cycles[copy] >= self._max_cycles
            for name in acting:
                row = copy, self._row[name]
                rewards[row], terminated[row], truncated[row] = earned[name], ended[name], cut[name] or over
            self._show(copy, observations, infos)
            self.live[copy] &= ~(terminated[copy] | truncated[copy])
        final = self.observations.copy()
        for copy in np.flatnonzero(~self.live.any(axis=1)).tolist():
            self._begin(copy, None)
        return WorldStep(rewards, terminated, truncated, final, time.perf_counter() - start, 0.0)

    def save(self, folder: Path) -> None:
        """See `Worlds`; a `ParallelEnv` has no way to be saved."""

    def load(self, folder: Path, seed: int) -> None:
        """See `Worlds`; begins new episodes."""
        self.reset(seed)

    def close(self) -> None:
        """See `Worlds`."""
        for env in self._envs:
            env.close()

    def _begin(self, copy: int, seed: int | None) -> None:
        self._cycles[copy] = 0
        self.live[copy] = False
        self._show(copy, *self._envs[copy].reset(seed=seed))

    def _show(self, copy: int, observations: dict[str, Any], infos: dict[str, dict]) -> None:
        live = set(self._envs[copy].agents)
        for name, observation in observations.items():
            row = copy, self._row[name]
            self.observations[row] = np.asarray(spaces.flatten(self._space, observation))
            self.live[row] = name in live
            mask = infos.get(name, {}).get("action_mask")
            if mask is not None:
                if self.masks is None:
                    self.masks = np.ones((*self.live.shape, len(mask)), bool)
                self.masks[row] = np.asarray(mask) != 0

    def _action(self, numbers: np.ndarray) -> Any:
        """One agent's action, of its space."""
        if isinstance(self.action_space, spaces.Discrete):
            return int(numbers[0])
        if isinstance(self.action_space, spaces.MultiDiscrete):
            return numbers.astype(self.action_space.dtype)
        assert isinstance(self.action_space, spaces.Box)
        space = self.action_space
        return np.clip(numbers.reshape(space.shape), space.low, space.high).astype(space.dtype)


def open_worlds(config: TrainConfig) -> Worlds:
    """The worlds that `config` names.

    Raises:
        ConfigError: there is no such world, or its arguments are not possible.
        WorldsError: its agents differ.
    """
    try:
        if config.env in registry:
            return SeerWorlds(config)
        entry_point = load(config.env)
        sample = entry_point(**config.world)
        if isinstance(sample, EventModel):
            return SeerWorlds(config)
        if isinstance(sample, ParallelEnv):
            sample.close()
            return ParallelWorlds(lambda: entry_point(**config.world), config.copies, config.max_cycles)
    except (TypeError, ValueError, ImportError) as error:
        raise ConfigError(f"env {config.env}: {error}") from error
    raise ConfigError(f"env {config.env}: made {type(sample).__name__}, no EventModel and no ParallelEnv")


def _common_spaces(env: ParallelEnv) -> tuple[spaces.Space, spaces.Space]:
    if not env.possible_agents:
        raise WorldsError(f"{env}: has no agents")
    first = env.possible_agents[0]
    shared = env.observation_space(first), env.action_space(first)
    for name in env.possible_agents:
        if (env.observation_space(name), env.action_space(name)) != shared:
            raise WorldsError(
                f"agents that share a policy need the same spaces, but {name!r} has "
                f"{env.observation_space(name)} and {env.action_space(name)}, {first!r} {shared[0]} and "
                f"{shared[1]}: SuperSuit's pad_observations_v0 and pad_action_space_v0 make them alike"
            )
    return shared
