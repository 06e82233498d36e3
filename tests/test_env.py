"""What the env returns by agent: the five dicts, who is live, and spaces."""

from __future__ import annotations

import numpy as np
import pytest
from env_players import make_env, sampled, with_both_worlds, with_every_scheduler
from gymnasium.error import ResetNeeded
from worlds import Lamps, Ring

from seer_env.errors import ModelError

# -- the five dicts ---------------------------------------------------------------------------------


@with_every_scheduler
@with_both_worlds
def test_the_five_are_dicts_keyed_in_one_order_by_the_agents_live_before_the_step(world, scheduler):
    env = make_env(world(), scheduler=scheduler)
    env.reset(seed=0)
    while env.agents:
        before = list(env.agents)
        five = env.step(sampled(env))
        assert [type(part) for part in five] == [dict] * 5
        assert [list(part) for part in five] == [before] * 5


@with_both_worlds
def test_flags_are_python_bools_and_rewards_python_floats(world):
    env = make_env(world())
    env.reset(seed=0)
    _, rewards, terminations, truncations, _ = env.step(sampled(env))
    assert {type(v) for v in [*terminations.values(), *truncations.values()]} == {bool}
    assert {type(v) for v in rewards.values()} == {float}


@with_both_worlds
def test_observations_are_in_their_space_with_its_dtype(world):
    env = make_env(world())
    observations, _ = env.reset(seed=0)
    while env.agents:
        assert all(env.observation_space(a).contains(o) for a, o in observations.items())
        observations = env.step(sampled(env))[0]


def test_consecutive_observations_share_no_memory():
    env = make_env()
    first = env.reset(seed=0)[0]
    second = env.step(sampled(env))[0]
    third = env.step(sampled(env))[0]
    for a, b in ((first, second), (second, third)):
        assert not any(np.shares_memory(a[i], b[j]) for i in a for j in b)


def test_agents_observations_share_no_memory():
    observations = list(make_env().reset(seed=0)[0].values())
    assert not any(np.shares_memory(a, b) for i, a in enumerate(observations) for b in observations[:i])


def test_changing_what_a_step_returned_changes_nothing_in_the_env():
    env = make_env(Lamps())
    env.reset(seed=0)
    observations, rewards, _, _, infos = env.step(sampled(env))
    digest, state = env.digest(), env.state()
    observations["lamp_0"][:] = 77.0
    rewards["lamp_0"], rewards["__all__"] = 5.0, 1.0
    infos["lamp_1"]["level"] = -1
    assert env.digest() == digest
    assert (env.state() == state).all()


@pytest.mark.parametrize("model", [Ring(), Lamps()])
def test_info_dicts_are_fresh_and_of_each_agent_alone(model):
    env = make_env(model)
    dicts = list(env.reset(seed=0)[1].values())
    for _ in range(3):
        dicts += env.step(sampled(env))[4].values()
    assert len({id(d) for d in dicts}) == len(dicts)


def test_infos_show_the_models_record_as_python_numbers_with_the_keys_of_reset():
    env = make_env(Lamps())
    _, at_reset = env.reset(seed=0)
    infos = env.step(dict.fromkeys(env.agents, 3))[4]
    assert infos["lamp_2"].keys() == at_reset["lamp_2"].keys() == {"level", "warmth", "lit"}
    assert [type(v) for v in infos["lamp_2"].values()] == [int, float, bool]
    assert infos["lamp_2"]["level"] == 3


# -- agents ------------------------------------------------------------------------------------------


def test_agents_are_empty_before_reset_and_in_order_after_it():
    env = make_env()
    assert env.agents == []
    env.reset(seed=0)
    assert env.agents == env.possible_agents == [f"node_{i}" for i in range(6)]


def test_agents_is_a_list_apart_from_possible_agents():
    env = make_env()
    env.reset(seed=0)
    env.agents.clear()
    assert len(env.possible_agents) == 6
    assert len(env.step({a: [0.0, 0.0] for a in env.possible_agents})[0]) == 6


def test_reset_restores_all_agents_in_order():
    env = make_env(Lamps(life=2))
    env.reset(seed=0)
    while env.agents:
        env.step(sampled(env))
    env.reset()
    assert env.agents == env.possible_agents


def test_an_agent_leaves_at_the_step_that_terminates_it():
    env = make_env(Lamps(n_agents=3, life=2))  # lamp i burns out at step 2 + i
    env.reset(seed=0)
    left = []
    for _ in range(4):
        terminations = env.step(sampled(env))[2]
        left.append((terminations, list(env.agents)))
    assert left == [
        ({"lamp_0": False, "lamp_1": False, "lamp_2": False}, ["lamp_0", "lamp_1", "lamp_2"]),
        ({"lamp_0": True, "lamp_1": False, "lamp_2": False}, ["lamp_1", "lamp_2"]),
        ({"lamp_1": True, "lamp_2": False}, ["lamp_2"]),
        ({"lamp_2": True}, []),
    ]


@with_every_scheduler
def test_a_step_after_the_end_returns_five_empty_dicts_and_moves_nothing(scheduler):
    env = make_env(Lamps(), max_cycles=2, scheduler=scheduler)
    env.reset(seed=0)
    env.step(sampled(env))
    env.step(sampled(env))
    digest = env.digest()
    assert env.step({}) == ({}, {}, {}, {}, {})
    assert env.step({"lamp_0": 1}) == ({}, {}, {}, {}, {})
    assert env.digest() == digest


def test_actions_of_dead_agents_are_ignored():
    env, plain = make_env(Lamps(life=1)), make_env(Lamps(life=1))
    env.reset(seed=0)
    plain.reset(seed=0)
    for each in (env, plain):
        each.step(dict.fromkeys(each.agents, 1))
    assert "lamp_0" not in env.agents
    env.step({"lamp_0": float("nan"), **dict.fromkeys(env.agents, 2)})
    plain.step(dict.fromkeys(plain.agents, 2))
    assert env.digest() == plain.digest()


def test_truncation_comes_for_every_live_agent_at_max_cycles():
    env = make_env(max_cycles=3)
    env.reset(seed=0)
    flags = [set(env.step(sampled(env))[3].values()) for _ in range(3)]
    assert flags == [{False}, {False}, {True}]
    assert env.agents == []


def test_max_cycles_can_be_set_in_mid_episode():
    env = make_env()
    env.reset(seed=0)
    env.step(sampled(env))
    env.max_cycles = 2
    env.step(sampled(env))
    assert env.agents == []


@pytest.mark.parametrize("value", [0, -1, True])
def test_max_cycles_below_one_is_refused(value):
    with pytest.raises(ValueError, match="max_cycles"):
        make_env(max_cycles=value)


def test_step_before_reset_asks_for_it():
    with pytest.raises(ResetNeeded, match="reset"):
        make_env().step({})


def test_a_model_without_agents_is_refused():
    with pytest.raises(ModelError, match="at least one agent"):
        make_env(Ring(n_agents=0))


# -- spaces ------------------------------------------------------------------------------------------


def test_spaces_are_the_same_object_at_every_call():
    env = make_env()
    for agent in env.possible_agents:
        assert env.observation_space(agent) is env.observation_space(agent)
        assert env.action_space(agent) is env.action_space(agent)


def test_envs_of_one_model_do_not_share_the_generators_of_their_spaces():
    model = Ring()
    first, second = make_env(model), make_env(model)
    first.action_space("node_0").seed(1)
    second.action_space("node_0").seed(1)
    first.action_space("node_1").seed(2)
    samples = [env.action_space("node_0").sample() for env in (first, second)]
    assert (samples[0] == samples[1]).all()


def test_a_space_of_an_unknown_agent_is_an_error():
    with pytest.raises(KeyError, match="nobody"):
        make_env().action_space("nobody")
