"""A trained policy beside a world's baselines, or in battles against them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from seer_env.env import SeerParallelEnv
from seer_env.episode import Policy
from seer_env.errors import SeerError
from seer_env.training.parallel import ParallelEpisode
from seer_env.training.policies import facing

__all__ = ["Battles", "EvaluationError", "Interval", "bootstrap", "fight", "play_episode", "wilson"]

#: 95 % of a normal distribution lie within so many standard deviations.
Z = 1.959964


class EvaluationError(SeerError, RuntimeError):
    """A world whose policies cannot be compared."""


class Interval(NamedTuple):
    """An estimate and the ends of its 95 % confidence interval."""

    estimate: float
    low: float
    high: float


class Battles(NamedTuple):
    """Outcomes of battles, counted.

    Attributes:
        won: with more agents standing at the end than the opponent has (as Yang et al., *Mean Field
            Multi-Agent Reinforcement Learning*, 2018, judge MAgent's battle).
        lost, drawn: with fewer, or as many.
        outright: of those won, with no opponent standing.
    """

    won: int
    lost: int
    drawn: int
    outright: int


def play_episode(
    env: SeerParallelEnv | ParallelEpisode, policy: Callable[[Any], np.ndarray], seed: int
) -> dict[str, float]:
    """Play one episode.

    Returns:
        `reward`, the mean over all decisions; `return`, the mean over agents of their rewards' sums; and the
        figures of the model's `measures`, if it has any.

    Raises:
        EvaluationError: a reward is not finite; names the agent.
    """
    env.reset_arrays(seed=seed)
    make_measures = getattr(getattr(env, "model", None), "measures", None)
    measures = None if make_measures is None else make_measures(env)
    total, decisions, steps = 0.0, 0, 0
    while env.agents:
        decisions += len(env.agents)
        steps += 1
        rewards = env.step_arrays(policy(env)).rewards
        for agent in np.flatnonzero(~np.isfinite(rewards)).tolist():
            raise EvaluationError(
                f"the reward of agent {env.possible_agents[agent]!r} is not finite in step {steps} of the "
                f"episode of seed {seed}: {rewards[agent]}"
            )
        total += float(rewards.sum())
        if measures is not None:
            measures.step(env)
    figures = {} if measures is None else measures.figures()
    return {"reward": total / decisions, "return": total / len(env.possible_agents), **figures}


def fight(env: SeerParallelEnv, policy: Policy, opponent: Policy, seed: int) -> Battles:
    """A battle in a world whose model has `sides`; the policy has the second at odd seeds, else the first."""
    own = seed % 2
    players = facing(env, policy, opponent, own)
    env.reset_arrays(seed=seed)
    while env.agents:
        env.step_arrays(players(env))
    standing = env.model.standing(env.entities)  # type: ignore[attr-defined]  # comes with `sides`
    mine, others = standing[own], standing[1 - own]
    return Battles(int(mine > others), int(mine < others), int(mine == others), int(mine > others == 0))


def bootstrap(values: Sequence[float], resamples: int = 10_000) -> Interval:
    """Mean of `values` with a percentile bootstrap interval (Efron, *Bootstrap Methods*, 1979)."""
    sample = np.asarray(values, float)
    drawn = np.random.default_rng(0).integers(len(sample), size=(resamples, len(sample)))
    low, high = np.percentile(sample[drawn].mean(axis=1), [2.5, 97.5])
    return Interval(float(sample.mean()), float(low), float(high))


def wilson(successes: int, trials: int) -> Interval:
    """Share of successes with Wilson's score interval (1927), which fits shares near 0 and 1 too."""
    share, z2 = successes / trials, Z * Z
    centre = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = Z * math.sqrt(share * (1 - share) / trials + z2 / (4 * trials * trials)) / (1 + z2 / trials)
    return Interval(share, max(0.0, centre - half), min(1.0, centre + half))
