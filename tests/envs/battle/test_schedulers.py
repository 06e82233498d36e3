"""Every scheduler and thread count gives the oracle's bytes on this world."""

from __future__ import annotations

import numpy as np
import pytest
from runtime_worlds import share_everything

from seer_env.env import SeerParallelEnv
from seer_env.envs.battle.model import Battle
from seer_env.envs.battle.policies import rush

AGENTS, STEPS = 72, 25


def digests(scheduler, threads):
    """Digests of the boundaries of a fight in which half of the agents rush and the others wander."""
    env = SeerParallelEnv(Battle(AGENTS), scheduler=scheduler, threads=threads)
    if scheduler == "seer":
        share_everything(env._engine)
    env.reset_arrays(seed=5)
    rng, seen = np.random.default_rng(2), []
    for _ in range(STEPS):
        wander = rng.integers(0, 21, (AGENTS, 1))
        env.step_arrays(np.where(rng.random((AGENTS, 1)) < 0.5, rush(env), wander))
        seen.append(env.digest())
    assert env.info_arrays["kills"].sum() > 0
    return seen


@pytest.fixture(scope="module")
def oracle():
    return digests("python", 1)


@pytest.mark.parametrize(
    ("scheduler", "threads"), [("serial", 1), ("heap", 1), *(("seer", t) for t in (1, 2, 3, 4, 8))]
)
def test_compiled_steps_are_the_oracles(oracle, scheduler, threads):
    assert digests(scheduler, threads) == oracle
