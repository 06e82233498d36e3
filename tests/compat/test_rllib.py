"""RLlib: `ParallelPettingZooEnv`; two iterations of PPO, in one process and with an actor."""

from __future__ import annotations

import numpy as np
import pytest

import seer_env

ray = pytest.importorskip("ray", reason="Ray is not installed: make test-compat CONSUMER=rllib")
pytest.importorskip("ray.rllib", reason="RLlib is not installed: make test-compat CONSUMER=rllib")

from ray.rllib.algorithms.ppo import PPOConfig  # noqa: E402
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig  # noqa: E402
from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv  # noqa: E402
from ray.tune.registry import register_env  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default", "error:::seer_env")

WORLDS = {
    "flock_v0": {"n_agents": 6},
    "battle_v0": {"n_agents": 8, "max_hp": 2.0},  # one hit kills
}


def make(world, **arguments):
    return seer_env.make(world, max_cycles=10, threads=1, **WORLDS[world], **arguments)


@pytest.fixture(scope="module")
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    for world in WORLDS:
        register_env(world, lambda config, world=world: ParallelPettingZooEnv(make(world)))
    yield
    ray.shutdown()


@pytest.mark.parametrize("world", sorted(WORLDS))
def test_the_wrapper_shows_what_the_env_shows(world):
    wrapped, env = ParallelPettingZooEnv(make(world)), make(world)
    np.testing.assert_equal(wrapped.reset(seed=2), env.reset(seed=2))
    assert set(wrapped.possible_agents) == set(env.possible_agents)
    while env.agents:
        actions = {agent: env.action_space(agent).sample() for agent in env.agents}
        expected = env.step(actions)
        for flags in expected[2:4]:
            flags["__all__"] = all(flags.values())
        np.testing.assert_equal(wrapped.step(actions), expected)
    wrapped.close()


def test_the_wrapper_renders():
    wrapped = ParallelPettingZooEnv(make("battle_v0", render_mode="rgb_array"))
    wrapped.reset(seed=0)
    assert wrapped.render().dtype == np.uint8


@pytest.mark.parametrize("world", sorted(WORLDS))
@pytest.mark.parametrize("runners", [0, 1], ids=["in this process", "in an actor"])
def test_two_iterations_of_ppo(world, runners, cluster):
    config = (
        PPOConfig()
        .environment(world)
        .env_runners(num_env_runners=runners)
        .multi_agent(policies={"shared"}, policy_mapping_fn=lambda agent, *_, **__: "shared")
        .rl_module(model_config=DefaultModelConfig(fcnet_hiddens=[16]))
        .training(train_batch_size=80, minibatch_size=40, num_epochs=1)
        .debugging(log_level="ERROR", seed=0)
    )
    algorithm = config.build_algo()
    before = weights(algorithm)
    for iteration in (1, 2):
        result = algorithm.train()
        assert result["training_iteration"] == iteration
    assert result["env_runners"]["num_episodes_lifetime"] > 0
    assert result["env_runners"]["num_env_steps_sampled_lifetime"] >= 160
    after = weights(algorithm)
    algorithm.stop()
    assert all(np.isfinite(value).all() for value in after.values())
    assert any((value != before[name]).any() for name, value in after.items())


def weights(algorithm):
    return {name: np.array(value) for name, value in algorithm.get_module("shared").get_state().items()}
