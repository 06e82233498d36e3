"""A PettingZoo `ParallelEnv` as arrays, for policies and MAPPO what a world of seer_env is."""

from __future__ import annotations

import copy
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

from seer_env.episode import StepArrays
from seer_env.errors import BoundaryFileError, SeerError

__all__ = ["ParallelEpisode", "WorldsError"]


class WorldsError(SeerError, ValueError):
    """Worlds in which agents cannot be trained together; says why."""


class ParallelEpisode:
    """One env and its running episode, read as a `seer_env.episode.Episode` is.

    Args:
        env: its agents have the same spaces.
        max_cycles: steps after which an episode is truncated, whatever the env says; None for never.

    Attributes:
        env: the env itself.
        possible_agents: names of the `M` agents; `agents` are those that are live.
        observation_size, action_space: `D`, and one agent's space.
        observations: float32 `[M, D]`, each agent's last one.
        live: bool `[M]`.
        masks: bool `[M, C]`, the choices that are allowed, or None where actions are not choices.

    Raises:
        WorldsError: its agents differ in their spaces, or it has none; later, that it breaks PettingZoo's
            contract.
    """

    def __init__(self, env: ParallelEnv, max_cycles: int | None = None):
        self.env, self._max_cycles = env, max_cycles
        self.possible_agents = list(env.possible_agents)
        self._space, self.action_space = _common_spaces(env)
        self._choices, self._drawn = _choices(self.action_space), copy.deepcopy(self.action_space)
        self._size = int(np.prod(self.action_space.shape or ()))
        self._row = {name: i for i, name in enumerate(self.possible_agents)}
        try:
            self.observation_size = spaces.flatdim(self._space)
        except (ValueError, NotImplementedError) as error:  # of a Sequence, a Graph, a Text
            raise WorldsError(
                f"{env}: observations of {self._space} are no fixed number of numbers"
            ) from error
        self.observations = np.zeros((len(self._row), self.observation_size), np.float32)
        self.live = np.zeros(len(self._row), bool)
        shape = len(self._row), self._choices
        self.masks = np.ones(shape, bool) if self._choices else None
        self._cycles, self._seed = 0, 0
        self._seeds = np.random.default_rng(0)
        self._taken: list[np.ndarray] = []

    @property
    def agents(self) -> list[str]:
        """Names of the live agents; none when the episode has ended."""
        return [name for name, live in zip(self.possible_agents, self.live.tolist()) if live]

    @property
    def info_arrays(self) -> np.ndarray | None:
        """The action masks as `Episode.info_arrays` has them, structured `[M]`, or None."""
        if self.masks is None:
            return None
        info = np.zeros(len(self.masks), [("action_mask", np.int8, (self._choices,))])
        info["action_mask"] = self.masks
        return info

    @property
    def policies(self) -> dict[str, Callable[[Any], np.ndarray]]:
        """The baselines: `random` alone."""
        return {"random": ParallelEpisode.random_actions}

    def reset_arrays(self, seed: int | None = None) -> np.ndarray:
        """Begin an episode; returns the observations, float32 `[M, D]`.

        Args:
            seed: the env's; later episodes have theirs drawn from it, so that each can be played again.
        """
        if seed is None:
            self._begin(int(self._seeds.integers(1 << 31)))
        else:
            self._seeds = np.random.default_rng(seed)
            self._drawn.seed(seed)
            self._begin(seed)
        return self.observations

    def _begin(self, seed: int) -> None:
        self._cycles, self._seed, self._taken = 0, seed, []
        self.observations, self.live = np.zeros_like(self.observations), np.zeros_like(self.live)
        self._show(*self.env.reset(seed=seed))
        if not self.live.any():
            raise WorldsError(f"{self.env}: no agent is live after reset")

    def step_arrays(self, actions: np.ndarray) -> StepArrays:
        """Step with numbers `[M, A]`; rows of agents that are not live are ignored."""
        acting = {name: self._action(actions[self._row[name]]) for name in self.agents}
        self._taken.append(np.array(actions, np.float32))
        observations, earned, ended, cut, infos = self.env.step(acting)
        self._cycles += 1
        over = self._max_cycles is not None and self._cycles >= self._max_cycles
        rewards = np.zeros(len(self._row))
        terminated, truncated = np.zeros_like(self.live), np.zeros_like(self.live)
        for name in acting:
            row = self._row[name]
            rewards[row] = self._of(name, earned, "reward")
            terminated[row] = self._of(name, ended, "termination")
            truncated[row] = self._of(name, cut, "truncation") or over
        self.observations, self.live = np.zeros_like(self.observations), np.zeros_like(self.live)
        self._show(observations, infos)
        self.live &= ~(terminated | truncated)
        return StepArrays(self.observations, rewards, terminated, truncated, self.live)

    def random_actions(self) -> np.ndarray:
        """Every agent's action drawn from its space, of the choices that its mask leaves; `[M, A]`."""
        masks = np.ones((len(self._row), 0), bool) if self.masks is None else self.masks
        return np.stack([np.reshape(self._drawn.sample(self._split(mask)), -1) for mask in masks])

    def save(self, path: Path) -> None:
        """Write what plays the running episode again: its seed and its actions."""
        taken = np.reshape(self._taken, (-1, len(self._row), self._size)).astype(np.float32)
        seeds = np.array(json.dumps(self._seeds.bit_generator.state))
        with path.open("wb") as file:
            np.savez(
                file, seed=np.int64(self._seed), taken=taken, seeds=seeds, observations=self.observations
            )

    def load(self, path: Path) -> bool:
        """Play an episode again that was saved; whether it came to the same, as seeded envs should.

        Raises:
            BoundaryFileError: the file is damaged, or of another env.
        """
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as saved:
                seed, taken, shown = int(saved["seed"]), saved["taken"], saved["observations"]
                state = json.loads(str(saved["seeds"]))
            self._seeds.bit_generator.state = state
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            raise BoundaryFileError(f"{path}: damaged: {error!r}") from error
        if shown.shape != self.observations.shape or taken.shape[1:] != (len(self._row), self._size):
            raise BoundaryFileError(f"{path}: of an env with other agents or spaces")
        self._begin(seed)
        for actions in taken:
            if not self.agents:
                return False
            self.step_arrays(actions)
        return bool(self.agents) and np.array_equal(self.observations, shown, equal_nan=True)

    def close(self) -> None:
        """Close the env."""
        self.env.close()

    def _show(self, observations: Mapping[str, Any], infos: Mapping[str, Any]) -> None:
        """Take in what the env shows of its agents."""
        live = set(self.env.agents)
        for name, observation in observations.items():
            row = self._of(name, self._row, "place among the possible_agents")
            self.observations[row] = np.asarray(spaces.flatten(self._space, observation))
            self.live[row] = name in live
            mask = infos.get(name, {}).get("action_mask")
            if mask is None and isinstance(observation, Mapping):  # PettingZoo's games have it there
                mask = observation.get("action_mask")
            self._allow(name, mask)
        for name in live - observations.keys():
            self._of(name, observations, "observation")

    def _allow(self, name: str, mask: Any) -> None:
        """Take in an agent's mask; None allows everything."""
        if mask is None:
            mask = np.ones(self._choices, np.int8)
        flat = (
            np.concatenate([np.ravel(part) for part in mask]) if isinstance(mask, tuple) else np.ravel(mask)
        )
        if len(flat) != self._choices:
            raise WorldsError(
                f"{self.env}: the action_mask of agent {name!r} has {len(flat)} entries, but "
                f"{self.action_space} {self._choices} choices"
            )
        if self.masks is not None:
            self.masks[self._row[name]] = flat != 0

    def _of(self, name: str, values: Mapping[str, Any], what: str) -> Any:
        """The agent's value, which the env must give."""
        if name not in values:
            raise WorldsError(f"{self.env}: agent {name!r} has no {what} in step {self._cycles}")
        return values[name]

    def _action(self, numbers: np.ndarray) -> Any:
        """One agent's action, of its space."""
        space = self.action_space
        if isinstance(space, spaces.Discrete):
            return int(numbers[0])
        if isinstance(space, spaces.MultiDiscrete):
            return numbers.reshape(space.shape).astype(space.dtype)
        assert isinstance(space, spaces.Box)
        if np.issubdtype(space.dtype, np.integer):
            numbers = np.rint(numbers)
        return np.clip(numbers.reshape(space.shape), space.low, space.high).astype(space.dtype)

    def _split(self, mask: np.ndarray) -> Any:
        """A mask as `Space.sample` wants it; None where it allows everything."""
        if mask.all():
            return None
        flat = mask.astype(np.int8)
        if isinstance(self.action_space, spaces.MultiDiscrete):
            return tuple(np.split(flat, np.cumsum(self.action_space.nvec)[:-1]))
        return flat


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


def _choices(space: spaces.Space) -> int:
    """How many entries a mask has, 0 where actions are not choices."""
    if isinstance(space, spaces.Discrete):
        return int(space.n)
    return int(np.sum(space.nvec)) if isinstance(space, spaces.MultiDiscrete) else 0
