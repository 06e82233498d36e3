"""What the env adds to the engine, beside the plainest code that does the same."""

from __future__ import annotations

from time import perf_counter

import numpy as np
import pytest
from worlds import Lamps, Ring

from seer_env.env import SeerParallelEnv
from seer_env.runtime.engine import Committed, Outputs

AGENTS = 5000


def instant(env):
    """Replace the engine's step by one that only makes fresh outputs: what is left is the env."""
    engine, outputs = env._engine, env._engine.outputs

    def step(actions, live):
        fresh = Outputs(*(None if array is None else array.copy() for array in outputs))
        engine._committed = Committed(engine.steps, fresh)
        return fresh

    engine.step = step


def plainest(env, actions):
    """Gather the actions and build the five dicts as directly as a user would who knows numpy."""
    agents = env.possible_agents
    outputs = env._engine.step(np.array([actions[a] for a in agents], np.float64), None)
    if outputs.info is None:
        infos = {a: {} for a in agents}
    else:
        names = outputs.info.dtype.names
        infos = {a: dict(zip(names, row)) for a, row in zip(agents, outputs.info.tolist())}
    return (
        dict(zip(agents, outputs.observations)),
        dict(zip(agents, outputs.rewards.tolist())),
        dict(zip(agents, outputs.terminated.tolist())),
        dict.fromkeys(agents, False),
        infos,
    )


def least_seconds(*calls, repeats=25):
    """The least time of each call, interleaved so that all meet the same neighbours."""
    times = [[] for _ in calls]
    for _ in range(repeats):
        for call, seen in zip(calls, times):
            start = perf_counter()
            result = call()
            seen.append(perf_counter() - start)
            del result
    return [min(seen) for seen in times]


@pytest.mark.parametrize("model", [Ring(AGENTS), Lamps(AGENTS)])
def test_step_costs_at_most_1_3_times_the_plainest_dicts(model):
    env = SeerParallelEnv(model, scheduler="python")
    env.reset(seed=0)
    instant(env)
    actions = {a: env.action_space(a).sample() for a in env.agents}
    assert repr(env.step(actions)) == repr(plainest(env, actions))
    ours, plain = least_seconds(lambda: env.step(actions), lambda: plainest(env, actions))
    assert ours <= 1.3 * plain


def test_step_arrays_adds_a_few_microseconds():
    env = SeerParallelEnv(Ring(100), scheduler="python")
    actions = np.zeros((100, 2))
    env.reset(seed=0)
    instant(env)
    ours, engine = least_seconds(
        lambda: env.step_arrays(actions), lambda: env._engine.step(actions, None), repeats=500
    )
    assert ours - engine <= 15e-6  # 5 measured
