"""Envs of small worlds, and players for them, that the tests of the env share."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces
from worlds import Lamps, Ring

from seer_env.env import SeerParallelEnv

SCHEDULERS = ("python", "serial", "heap", "seer", "ross-t", "nbse", "root-sim")

with_both_worlds = pytest.mark.parametrize(
    "world", [lambda: Ring(patience=12), lambda: Lamps(life=4)], ids=["ring", "lamps"]
)
with_every_scheduler = pytest.mark.parametrize("scheduler", SCHEDULERS)


def make_env(model=None, **arguments):
    return SeerParallelEnv(model or Ring(), **{"scheduler": "python", **arguments})


def sampled(env):
    return {agent: env.action_space(agent).sample() for agent in env.agents}


def drawn(env, rng):
    """The same actions for the same generator, in every process."""
    rows = env._reader.sample(rng)
    if isinstance(env.model.action_space, spaces.Discrete):
        return {a: int(rows[env.possible_agents.index(a), 0]) for a in env.agents}
    return {a: rows[env.possible_agents.index(a)] for a in env.agents}


def transcript(env, seed, steps):
    """Digests of every boundary of `steps` steps, episodes following each other."""
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    digests = [env.digest()]
    for _ in range(steps):
        if not env.agents:
            env.reset()
        env.step(drawn(env, rng))
        digests.append(env.digest())
    return digests
