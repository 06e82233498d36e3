"""The env by arrays, failed steps, and copies made by `copy` and `pickle`."""

from __future__ import annotations

import copy
import pickle

import cloudpickle
import numpy as np
import pytest
from env_players import drawn, make_env, sampled, with_both_worlds, with_every_scheduler
from worlds import Lamps, Unruly

from seer_env.errors import ContractBreach

# -- arrays ------------------------------------------------------------------------------------------


@with_every_scheduler
@with_both_worlds
def test_step_arrays_is_step_without_dicts(world, scheduler):
    env, twin = make_env(world(), scheduler=scheduler), make_env(world(), scheduler=scheduler)
    observations, _ = env.reset(seed=2)
    block = twin.reset_arrays(seed=2)
    rng = np.random.default_rng(0)
    assert (np.array(list(observations.values())) == block).all()
    while env.agents:
        rows = [env.possible_agents.index(a) for a in env.agents]
        actions = env._reader.sample(rng)
        shaped = actions[:, 0].astype(int) if env.model.action_size == 1 else actions
        by_agent = {env.possible_agents[i]: shaped[i] for i in rows}
        observations, rewards, terminations, truncations, _ = env.step(by_agent)
        step = twin.step_arrays(actions)
        assert (np.array(list(observations.values())) == step.observations[rows]).all()
        assert list(rewards.values()) == step.rewards[rows].tolist()
        assert list(terminations.values()) == step.terminated[rows].tolist()
        assert list(truncations.values()) == step.truncated[rows].tolist()
        assert [a for a, live in zip(env.possible_agents, step.live) if live] == env.agents == twin.agents
        assert env.digest() == twin.digest()


def test_step_arrays_returns_fresh_arrays():
    env = make_env()
    env.reset_arrays(seed=0)
    actions = np.zeros((6, 2))
    first, second = env.step_arrays(actions), env.step_arrays(actions)
    assert not any(np.shares_memory(a, b) for a in first for b in second)


def test_step_arrays_does_not_change_the_actions_it_is_given():
    env = make_env()
    env.reset_arrays(seed=0)
    actions = np.full((6, 2), 3.0)
    env.step_arrays(actions)
    assert (actions == 3.0).all()


def test_step_arrays_ignores_rows_of_dead_agents():
    env = make_env(Lamps(n_agents=3, life=1))
    env.reset_arrays(seed=0)
    env.step_arrays(np.ones((3, 1)))
    step = env.step_arrays(np.array([np.nan, 2.0, 2.0]))
    assert step.observations[0].tolist() == [0.0, 0.0, 0.0]
    assert step.observations[1, 0] == 2.0


def test_step_arrays_after_the_end_moves_nothing():
    env = make_env(max_cycles=1)
    env.reset_arrays(seed=0)
    assert env.step_arrays(np.zeros((6, 2))).truncated.all()
    digest = env.digest()
    step = env.step_arrays(np.full((6, 2), np.nan))
    assert not step.live.any()
    assert not step.observations.any()
    assert env.digest() == digest


def test_step_stats_count_events_and_time_the_env():
    env = make_env(Lamps())
    env.reset(seed=0)
    env.step(sampled(env))
    stats = env.last_step_stats
    assert stats.events == 10  # five actions, one event each
    assert stats.actions_s > 0
    assert stats.dicts_s > 0


# -- a step is atomic ------------------------------------------------------------------------------------


@with_every_scheduler
def test_a_breach_leaves_the_env_at_the_last_boundary_and_it_goes_on(scheduler):
    env = make_env(Unruly(), scheduler=scheduler)
    env.reset(seed=0)
    env.step({"agent_0": 0})
    digest = env.digest()
    with pytest.raises(ContractBreach) as caught:
        env.step({"agent_0": 1})
    assert (caught.value.rule, caught.value.entity) == ("lookahead", 0)
    assert env.digest() == digest
    assert env.agents == ["agent_0"]
    env.step({"agent_0": 0})
    assert env.digest() != digest


@with_every_scheduler
def test_warmup_leaves_the_episode_untouched(scheduler):
    env, plain = make_env(scheduler=scheduler), make_env(scheduler=scheduler)
    env.warmup()
    env.reset(seed=1)
    plain.reset(seed=1)
    env.step_arrays(np.zeros((6, 2)))
    plain.step_arrays(np.zeros((6, 2)))
    env.warmup()
    assert env.digest() == plain.digest()
    env.step_arrays(np.ones((6, 2)))
    plain.step_arrays(np.ones((6, 2)))
    assert env.digest() == plain.digest()


# -- copies ----------------------------------------------------------------------------------------------

COPIES = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
    "cloudpickle": lambda env: pickle.loads(cloudpickle.dumps(env)),
}


def future(env, rng, steps=20):
    seen = []
    for _ in range(steps):
        if not env.agents:
            seen.append(repr(env.reset()))
        seen.append(repr(env.step(drawn(env, rng))))
    return [*seen, env.digest(), repr(env.state())]


@pytest.mark.parametrize("how", sorted(COPIES))
@with_every_scheduler
@with_both_worlds
def test_a_copy_in_mid_episode_is_independent_with_the_same_future(world, how, scheduler):
    env = make_env(world(), max_cycles=12, scheduler=scheduler)
    env.reset(seed=4)
    for _ in range(5):
        env.step(drawn(env, np.random.default_rng(1)))
    digest = env.digest()
    twin = COPIES[how](env)
    assert twin.digest() == digest
    first = future(twin, np.random.default_rng(8))
    assert env.digest() == digest
    assert future(env, np.random.default_rng(8)) == first


def test_a_copy_before_reset_is_one_too():
    env = make_env()
    twin = copy.deepcopy(env)
    env.reset(seed=1)
    assert twin.agents == []
    twin.reset(seed=1)
    assert twin.digest() == env.digest()


def test_a_copy_of_a_copy_samples_the_same_policy_actions():
    env = make_env()
    env.reset(seed=1)
    twin = copy.deepcopy(env)
    assert (env.policies["random"](env) == twin.policies["random"](twin)).all()
