"""AgileRL: `AsyncPettingZooVecEnv` (fork, spawn), two iterations of IPPO by its own training loop."""

from __future__ import annotations

import multiprocessing

import numpy as np
import pytest

import seer_env

pytest.importorskip("agilerl", reason="AgileRL is not installed: make test-compat CONSUMER=agilerl")

from agilerl.algorithms import IPPO, MADDPG
from agilerl.training.train_multi_agent_on_policy import train_multi_agent_on_policy
from agilerl.vector.pz_async_vec_env import AsyncPettingZooVecEnv

pytestmark = pytest.mark.filterwarnings("default", "error:::seer_env")

WORLDS = {
    "flock_v0": {"n_agents": 6},
    "battle_v0": {"n_agents": 8, "max_hp": 2.0},  # its agents die; infos have action masks
    "epidemic_v0": {"n_agents": 6},
}
NETWORKS = {"latent_dim": 8, "encoder_config": {"hidden_size": [16]}}


@pytest.fixture(params=sorted({"fork", "spawn"} & set(multiprocessing.get_all_start_methods())))
def start_method(request):
    return request.param


def make(world, **arguments):
    return seer_env.make(world, max_cycles=10, threads=1, **WORLDS[world], **arguments)


def vector(world, start_method="fork", **arguments):
    return AsyncPettingZooVecEnv([lambda: make(world, **arguments)] * 2, context=start_method)


def test_vector_env_shows_what_separate_envs_show(start_method):
    joined, envs = vector("flock_v0", start_method), [make("flock_v0"), make("flock_v0")]
    agents, rng = envs[0].possible_agents, np.random.default_rng(0)
    shown, _ = joined.reset(seed=3)
    expected = [env.reset(seed=3 + i)[0] for i, env in enumerate(envs)]
    for _ in range(12):
        for agent in agents:
            np.testing.assert_array_equal(shown[agent], [one[agent] for one in expected])
        actions = {agent: rng.uniform(-1.0, 1.0, (2, 2)).astype(np.float32) for agent in agents}
        shown, rewards, _, truncations, _ = joined.step(actions)
        steps = [env.step({a: actions[a][i] for a in agents}) for i, env in enumerate(envs)]
        for agent in agents:
            np.testing.assert_array_equal(rewards[agent], [step[1][agent] for step in steps])
            np.testing.assert_array_equal(truncations[agent], [step[3][agent] for step in steps])
        expected = [step[0] if env.agents else env.reset()[0] for env, step in zip(envs, steps)]
    joined.close()


@pytest.mark.parametrize(
    ("world", "arguments"),
    [
        ("flock_v0", {}),
        # 2.7.1's IPPO asks `None in masks`, which fails for masks that are arrays: a battle without infos.
        ("battle_v0", {"infos": False}),
        ("epidemic_v0", {}),  # AgileRL sends an action of one number without its dimension
    ],
)
def test_two_iterations_of_ippo(world, arguments):
    env = vector(world, **arguments)
    agent = IPPO(**spaces_of(make(world)), batch_size=16, learn_step=16, update_epochs=1, net_config=NETWORKS)
    before = [parameter.detach().clone() for parameter in parameters(agent)]
    _, fitnesses = train_multi_agent_on_policy(
        env, world, "IPPO", [agent], max_steps=64, evo_steps=32, eval_steps=5, verbose=False
    )
    env.close()
    assert agent.steps[-1] == 64
    assert np.isfinite(fitnesses[-1]).all()
    assert all(parameter.isfinite().all() for parameter in parameters(agent))
    assert any(not parameter.equal(old) for parameter, old in zip(parameters(agent), before))


def test_maddpg_takes_only_actions_that_the_masks_allow():
    env = vector("battle_v0")
    agent = MADDPG(**spaces_of(make("battle_v0")), net_config=NETWORKS, vect_noise_dim=2)
    observations, infos = env.reset(seed=0)
    for _ in range(5):
        masks = {name: np.stack(infos[name]["action_mask"]) for name in observations}
        actions, _ = agent.get_action(observations, infos)
        assert all(masks[name][range(2), actions[name]].all() for name in actions)
        observations, _, _, _, infos = env.step(actions)
    env.close()


def spaces_of(env):
    names = env.possible_agents
    return {
        "observation_spaces": [env.observation_space(name) for name in names],
        "action_spaces": [env.action_space(name) for name in names],
        "agent_ids": names,
    }


def parameters(agent):
    return [parameter for actor in agent.actors.values() for parameter in actor.parameters()]
