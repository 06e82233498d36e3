"""The global state: pooled in a fixed size, or full."""

from __future__ import annotations

import copy
import re

import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo.test.state_test import state_test
from pettingzoo.utils import parallel_to_aec
from worlds import Lamps, Ring

from seer_env.env import SeerParallelEnv

WORLDS = {"ring": lambda: Ring(patience=12), "lamps": lambda: Lamps(life=4)}


def make_env(model=None, **arguments):
    return SeerParallelEnv(model or Ring(), **{"scheduler": "python", **arguments})


def steps(env):
    """Step to the end of the episode by random actions, stopping at each boundary."""
    env.reset(seed=0)
    while env.agents:
        env.step({agent: env.action_space(agent).sample() for agent in env.agents})
        yield


def test_pooled_is_mean_least_and_greatest_of_the_observations_and_the_live_fraction():
    env = make_env()
    block = np.array(list(env.reset(seed=0)[0].values()))
    expected = np.concatenate([block.mean(0), block.min(0), block.max(0), [1.0]])
    assert env.state() == pytest.approx(expected, abs=1e-6)


def test_pooled_does_not_grow_with_the_agents_and_full_does():
    shapes = {
        k: [make_env(Ring(n), global_state=k).state_space.shape for n in (4, 40)] for k in ("pooled", "full")
    }
    assert shapes["pooled"][0] == shapes["pooled"][1]
    assert 10 * shapes["full"][0][0] == shapes["full"][1][0]


def test_full_is_all_observations_in_row_order():
    env = make_env(global_state="full")
    observations = env.reset(seed=0)[0]
    assert env.state().tolist() == np.concatenate([observations[a] for a in env.possible_agents]).tolist()


def test_full_shows_nothing_of_an_agent_that_is_gone():
    env = make_env(Lamps(life=4), global_state="full", max_cycles=9)
    for _ in steps(env):
        gone = ~env._shown.live
        assert not env.state().reshape(len(gone), -1)[gone].any()


@pytest.mark.parametrize("kind", ["pooled", "full"])
@pytest.mark.parametrize("world", sorted(WORLDS))
def test_the_state_is_in_its_space_at_every_boundary_also_without_live_agents(world, kind):
    env = make_env(WORLDS[world](), max_cycles=9, global_state=kind)
    assert env.state_space.contains(env.state())
    for _ in steps(env):
        assert env.state_space.contains(env.state())
    assert np.any(env.state() != 0.0)


@pytest.mark.parametrize("kind", ["pooled", "full"])
def test_it_passes_pettingzoos_own_state_test(kind):
    env = make_env(global_state=kind, max_cycles=9)
    state_test(parallel_to_aec(env), copy.deepcopy(env), num_cycles=10)


def test_the_space_is_infinite_where_the_observation_is():
    class Open(Ring):
        observation_space = spaces.Box(
            np.array([-np.inf, -1, -np.inf, 2], "f4"), np.array([np.inf, np.inf, 1, 3], "f4")
        )

    env = make_env(Open())
    assert env.state_space.low.tolist() == [-np.inf, -1, -np.inf, 2] * 3 + [0]
    assert env.state_space.high.tolist() == [np.inf, np.inf, 1, 3] * 3 + [1]
    assert env.state_space.contains(env.state())
    full = make_env(Open(), global_state="full")
    assert full.state_space.contains(full.state())


@pytest.mark.parametrize("kind", ["mean", ["full"], None])
def test_another_kind_is_refused_by_name(kind):
    message = f"global_state must be one of ['pooled', 'full'], got {kind!r}"
    with pytest.raises(ValueError, match=re.escape(message)):
        make_env(global_state=kind)
