"""A policy acting in a world, step by step, and where the time of a step goes.

observations  from what the env returned to the network's input
inference     the shared actor of `seer_env.training`, on torch's threads
window        actions handed in, events executed
outputs       observations, rewards and flags at the boundary, and dicts where the env gives some
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from seer_env.env import SeerParallelEnv

__all__ = ["PARTS", "ActorPolicy", "ByArrays", "ByDicts", "EndToEnd", "measure_parts", "torch_missing"]

PARTS = ("observations", "inference", "window", "outputs")
#: Steps after which an episode is begun again: in longer ones flights end and armies shrink, and contenders
#: that make more steps in a measurement would have less to do.
EPISODE = 50


def torch_missing() -> str | None:
    """Why no policy can infer here and what to do, or None if it can."""
    try:
        import torch  # noqa: F401 - whether it can be imported is the question
    except ImportError:
        return "policies infer with torch, which is not installed: pip install 'seer-env[train]'"
    return None


class ActorPolicy:
    """MAPPO's actor, untrained: what inference costs does not depend on its weights.

    Args:
        observation_size: numbers in an observation.
        action_space: one agent's.
        seed: of the weights.
    """

    def __init__(self, observation_size: int, action_space: Any, seed: int = 0):
        import torch

        from seer_env.training.networks import Actor

        torch.manual_seed(seed)
        self._torch, self._discrete = torch, action_space.dtype.kind in "iu"
        self._actor = Actor(observation_size, action_space).eval()

    def __call__(self, observations: np.ndarray) -> np.ndarray:
        """The likeliest actions `[M, A]` for observations `[M, D]`."""
        with self._torch.no_grad():
            actions = self._actor(self._torch.from_numpy(observations)).mode().numpy()
        return actions.astype(np.int64) if self._discrete else actions


class EndToEnd(Protocol):
    """A world that is stepped with a policy."""

    def step(self) -> tuple[float, ...]:
        """Observe, infer, step; seconds of each of `PARTS`."""


class ByArrays:
    """An env stepped by `step_arrays`; an episode is followed by the same one."""

    def __init__(self, env: SeerParallelEnv, policy: Callable[[np.ndarray], np.ndarray], seed: int):
        self.env, self._policy, self._seed = env, policy, seed
        self._begin()

    def _begin(self) -> None:
        self._left, self._observations = EPISODE, self.env.reset_arrays(self._seed)

    def step(self) -> tuple[float, ...]:
        """See `EndToEnd`."""
        started = perf_counter()
        actions = self._policy(self._observations)
        inferred = perf_counter()
        self._observations = self.env.step_arrays(actions).observations
        ended = perf_counter()
        outputs = self.env.last_step_stats.outputs_s
        self._left -= 1
        if not self.env.agents or not self._left:
            self._begin()
        return 0.0, inferred - started, ended - inferred - outputs, outputs


class ByDicts:
    """An env, ours or another's, stepped by dicts. Where it does not tell its parts, all is `window`."""

    def __init__(self, env: Any, policy: Callable[[np.ndarray], np.ndarray], seed: int):
        self.env, self._policy, self._seed = env, policy, seed
        self._discrete = env.action_space(env.possible_agents[0]).shape == ()
        self._begin()

    def _begin(self) -> None:
        self._left, (self._observations, _) = EPISODE, self.env.reset(self._seed)

    def step(self) -> tuple[float, ...]:
        """See `EndToEnd`."""
        started = perf_counter()
        names = list(self._observations)
        block = np.stack([observation.ravel() for observation in self._observations.values()])
        gathered = perf_counter()
        chosen = self._policy(block)
        inferred = perf_counter()
        actions = dict(zip(names, chosen[:, 0].tolist() if self._discrete else chosen))
        self._observations = self.env.step(actions)[0]
        ended = perf_counter()
        outputs = 0.0
        if isinstance(self.env, SeerParallelEnv):
            outputs = self.env.last_step_stats.outputs_s + self.env.last_step_stats.dicts_s
        self._left -= 1
        if not self.env.agents or not self._left:
            self._begin()
        elif len(self.env.agents) < len(self._observations):
            self._observations = {name: self._observations[name] for name in self.env.agents}
        return gathered - started, inferred - gathered, ended - inferred - outputs, outputs


def measure_parts(loop: EndToEnd, at_least_s: float) -> dict[str, float]:
    """Step for a while: mean milliseconds of each part and of a step, `total`; steps per second."""
    sums, steps, started = np.zeros(len(PARTS)), 0, perf_counter()
    while perf_counter() - started < at_least_s:
        sums += loop.step()
        steps += 1
    parts = 1e3 * sums / steps
    total = float(parts.sum())
    return {**dict(zip(PARTS, parts.tolist())), "total": total, "steps/s": 1e3 / total}
