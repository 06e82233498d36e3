"""The env against PettingZoo's own contract tests, and the facts its users rely on."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import types
import warnings
from pathlib import Path

import cloudpickle
import numpy as np
import pettingzoo
import pytest
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from pettingzoo.test import api_test, max_cycles_test, parallel_api_test, parallel_seed_test, render_test
from pettingzoo.test.state_test import state_test
from pettingzoo.utils import parallel_to_aec
from window_backend import using
from worlds import Lamps, Ring, Unruly

from seer_env import episode
from seer_env.env import SeerParallelEnv
from seer_env.errors import ContractBreach, ModelError, SeerError

SCHEDULERS = ("python", "serial", "heap", "seer", "ross-t", "nbse", "root-sim")
WORLDS = {"ring": lambda: Ring(patience=12), "lamps": lambda: Lamps(life=4)}


@pytest.fixture(params=SCHEDULERS)
def scheduler(request):
    return request.param


@pytest.fixture(params=sorted(WORLDS))
def world(request):
    return WORLDS[request.param]


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


# -- PettingZoo's contract tests --------------------------------------------------------------------


def test_passes_parallel_api_test(world, scheduler):
    parallel_api_test(make_env(world(), scheduler=scheduler), num_cycles=30)


def test_passes_parallel_api_test_when_every_agent_is_cut_off_at_once(scheduler):
    parallel_api_test(make_env(Ring(), scheduler=scheduler), num_cycles=5)


def test_passes_parallel_seed_test(world, scheduler):
    parallel_seed_test(lambda: make_env(world(), scheduler=scheduler, max_cycles=20), num_cycles=20)


def test_passes_api_test_through_parallel_to_aec(world, scheduler):
    api_test(parallel_to_aec(make_env(world(), scheduler=scheduler, max_cycles=20)), num_cycles=20)


def test_passes_max_cycles_test():
    module = types.SimpleNamespace(
        parallel_env=lambda **arguments: make_env(**arguments),
        env=lambda **arguments: parallel_to_aec(make_env(**arguments)),
    )
    max_cycles_test(module)


def test_passes_render_test():
    with using("module://window_backend"):
        render_test(lambda render_mode: parallel_to_aec(make_env(Lamps(), render_mode=render_mode)))


def test_passes_state_test_beyond_the_end_of_the_episode(world, scheduler):
    env = make_env(world(), scheduler=scheduler, max_cycles=6)
    state_test(parallel_to_aec(env), copy.deepcopy(env), num_cycles=10)


# -- determinism ------------------------------------------------------------------------------------


def test_500_steps_are_equal_from_one_seed_under_every_scheduler(world, scheduler):
    expected = transcript(make_env(world(), max_cycles=60), 7, 500)
    assert transcript(make_env(world(), max_cycles=60, scheduler=scheduler), 7, 500) == expected


@pytest.mark.parametrize("threads", [1, 2, 3, 4, 8])
def test_500_steps_are_equal_at_every_thread_count(world, threads):
    expected = transcript(make_env(world(), max_cycles=60), 7, 500)
    env = make_env(world(), max_cycles=60, scheduler="seer", threads=threads)
    assert transcript(env, 7, 500) == expected


@pytest.mark.parametrize("hashseed", ["0", "1", "4242"])
def test_500_steps_are_equal_in_processes_with_other_hash_seeds(hashseed):
    code = (
        "import test_env as t; from worlds import Ring; "
        "print(t.transcript(t.make_env(Ring(patience=12), max_cycles=60), 7, 500)[-1])"
    )
    environment = {**os.environ, "PYTHONHASHSEED": hashseed}
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    output = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True)
    here = transcript(make_env(Ring(patience=12), max_cycles=60), 7, 500)
    assert output.stdout.decode().split() == [here[-1]]


def test_dicts_are_equal_from_one_seed_for_500_steps():
    first, second = make_env(Lamps(life=9)), make_env(Lamps(life=9))
    rng, twin = np.random.default_rng(0), np.random.default_rng(0)
    pairs = [(first.reset(seed=3), second.reset(seed=3))]
    for _ in range(500):
        if not first.agents:
            pairs.append((first.reset(), second.reset()))
        pairs.append((first.step(drawn(first, rng)), second.step(drawn(second, twin))))
    assert all(repr(a) == repr(b) for a, b in pairs)


def test_reset_without_a_seed_goes_on_and_does_not_reseed():
    env, again = make_env(), make_env()
    env.reset(seed=5)
    again.reset(seed=5)
    digests = []
    for _ in range(3):
        env.reset()
        again.reset(seed=None)
        assert env.digest() == again.digest()
        digests.append(env.digest())
    assert len(set(digests)) == 3


def test_unseeded_envs_differ():
    first, second = make_env(), make_env()
    first.reset()
    second.reset()
    assert first.digest() != second.digest()


def test_unknown_reset_options_are_ignored():
    env, plain = make_env(), make_env()
    env.reset(seed=1, options={"colour": "blue"})
    plain.reset(seed=1)
    assert env.digest() == plain.digest()


def test_seed_may_be_a_numpy_integer():
    env, plain = make_env(), make_env()
    env.reset(seed=np.int64(9))
    plain.reset(seed=9)
    assert env.digest() == plain.digest()


def test_a_failed_reset_leaves_the_env_and_its_generator_untouched():
    class Failing(Ring):
        failing = False

        def reset(self, state, schedule, rng):
            super().reset(state, schedule, rng)
            if self.failing:
                schedule(0, -1.0, 0)

    env, plain = make_env(Failing()), make_env(Failing())
    env.reset(seed=1)
    plain.reset(seed=1)
    env.model.failing = True
    with pytest.raises(ModelError, match="time -1"):
        env.reset()
    assert env.digest() == plain.digest()
    env.model.failing = False
    env.reset()
    plain.reset()
    assert env.digest() == plain.digest()


# -- the five dicts ---------------------------------------------------------------------------------


def test_the_five_are_dicts_keyed_in_one_order_by_the_agents_live_before_the_step(world, scheduler):
    env = make_env(world(), scheduler=scheduler)
    env.reset(seed=0)
    while env.agents:
        before = list(env.agents)
        five = env.step(sampled(env))
        assert [type(part) for part in five] == [dict] * 5
        assert [list(part) for part in five] == [before] * 5


def test_flags_are_python_bools_and_rewards_python_floats(world):
    env = make_env(world())
    env.reset(seed=0)
    _, rewards, terminations, truncations, _ = env.step(sampled(env))
    assert {type(v) for v in [*terminations.values(), *truncations.values()]} == {bool}
    assert {type(v) for v in rewards.values()} == {float}


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


# -- arrays ------------------------------------------------------------------------------------------


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


# -- rendering, closing, policies ------------------------------------------------------------------------


def test_render_gives_the_models_frame_and_tolerates_an_argument():
    env = make_env(Lamps(), render_mode="rgb_array")
    env.reset(seed=0)
    env.step(dict.fromkeys(env.agents, 4))
    assert env.render()[0, 0].tolist() == [160, 0, 0]
    assert (env.render("human") == env.render()).all()
    assert (env.render(mode="rgb_array") == env.render()).all()


def test_a_render_mode_of_a_world_without_pictures_is_refused():
    with pytest.raises(ValueError, match="Ring has no render_frame"):
        make_env(Ring(), render_mode="rgb_array")


def test_an_unknown_render_mode_is_refused():
    with pytest.raises(ValueError, match="rgb_array"):
        make_env(Lamps(), render_mode="ansi")


@pytest.mark.parametrize("wrong", [{"render_mode": "ansi"}, {"global_state": "mean"}])
def test_what_is_shown_is_checked_before_anything_is_compiled(monkeypatch, wrong):
    monkeypatch.setattr(episode, "make_engine", lambda *_: pytest.fail("an engine was made"))
    with pytest.raises(ValueError, match="must be one of"):
        SeerParallelEnv(Lamps(), **wrong)


def test_render_without_a_mode_says_so():
    env = make_env(Lamps())
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


def test_metadata_names_the_world_and_what_wrappers_ask_for():
    env = make_env(Lamps())
    assert env.metadata["name"] == str(env) == "lamps"
    assert env.metadata["is_parallelizable"] is True
    assert env.metadata["render_fps"] > 0
    assert env.metadata["render_modes"] == ["human", "rgb_array"]
    assert make_env(Ring()).metadata["render_modes"] == []
    assert env.unwrapped is env
    assert isinstance(env, pettingzoo.ParallelEnv)


def test_close_may_be_repeated_and_a_closed_env_says_so():
    env = make_env()
    env.reset(seed=0)
    env.close()
    env.close()
    assert env.agents == []
    with pytest.raises(SeerError, match="closed"):
        env.reset()


def test_the_random_policy_is_legal_and_repeats_with_the_seed():
    env = make_env(strict_actions=True)
    env.reset(seed=0)
    first = env.policies["random"](env)
    env.step_arrays(first)
    env.reset(seed=0)
    assert (env.policies["random"](env) == first).all()


def test_policies_of_the_model_are_the_envs():
    class Steered(Ring):
        policies = {"still": lambda env: np.zeros((len(env.possible_agents), 2))}  # noqa: RUF012

    env = make_env(Steered())
    env.reset(seed=0)
    assert sorted(env.policies) == ["random", "still"]
    env.step_arrays(env.policies["still"](env))


def test_nothing_warns_in_an_episode(world):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = make_env(world(), max_cycles=10)
        env.reset(seed=0)
        while env.agents:
            env.step(sampled(env))
