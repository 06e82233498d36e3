"""A world in mid-episode for tests of what a recorded step shows."""

from __future__ import annotations

import math

import numpy as np
from runtime_worlds import share_everything
from worlds import Ring

from seer_env.env import SeerParallelEnv

#: Few enough for one worker to do any phase alone.
AGENTS = 200


def running(scheduler="seer", threads=2, share=True, **options) -> SeerParallelEnv:
    """A ring of 200 agents after its reset; all its phases are published to all workers, or none."""
    env = SeerParallelEnv(Ring(AGENTS), scheduler=scheduler, threads=threads, **options)
    if share:
        share_everything(env._engine)
    elif scheduler != "python":
        env._engine._memory.control["share_ns"] = math.inf
    env.reset_arrays(seed=5)
    return env


def chosen() -> np.ndarray:
    """Actions of all agents."""
    return np.random.default_rng(1).uniform(-1.0, 1.0, (AGENTS, 2))
