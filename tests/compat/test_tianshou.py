"""Tianshou: `PettingZooEnv` of the AEC form; two iterations of PPO (here, in processes) and of DQN."""

from __future__ import annotations

import numpy as np
import pytest

from seer_env.registration import make_aec

pytest.importorskip("tianshou", reason="Tianshou is not installed: make test-compat CONSUMER=tianshou")

import torch
from tianshou.algorithm.modelfree.dqn import DQN, DiscreteQLearningPolicy
from tianshou.algorithm.modelfree.ppo import PPO
from tianshou.algorithm.modelfree.reinforce import ProbabilisticActorPolicy
from tianshou.algorithm.multiagent.marl import (
    MultiAgentOffPolicyAlgorithm,
    MultiAgentOnPolicyAlgorithm,
    MultiAgentPolicy,
)
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Batch, Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv, SubprocVectorEnv
from tianshou.trainer import OffPolicyTrainerParams, OnPolicyTrainerParams
from tianshou.utils.net.common import Net
from tianshou.utils.net.continuous import ContinuousActorProbabilistic, ContinuousCritic

pytestmark = pytest.mark.filterwarnings("default", "error:::seer_env")

AGENTS, CYCLES = 3, 5
TURNS = AGENTS * CYCLES  # of an episode: agents act one after another


def flock():
    return PettingZooEnv(make_aec("flock_v0", n_agents=AGENTS, max_cycles=CYCLES, threads=1))


def battle():
    return PettingZooEnv(make_aec("battle_v0", n_agents=4, max_cycles=CYCLES, threads=1))


def ppo(env):
    space, actions = env.observation_space, env.action_space
    actor = ContinuousActorProbabilistic(
        preprocess_net=Net(state_shape=space.shape, hidden_sizes=[16]),
        action_shape=actions.shape,
        unbounded=True,
    )
    policy = ProbabilisticActorPolicy(
        actor=actor,
        dist_fn=lambda loc_scale: torch.distributions.Independent(torch.distributions.Normal(*loc_scale), 1),
        action_space=actions,
        action_scaling=False,
        action_bound_method=None,  # the env clips
    )
    critic = ContinuousCritic(preprocess_net=Net(state_shape=space.shape, hidden_sizes=[16]))
    return PPO(policy=policy, critic=critic, optim=AdamOptimizerFactory(lr=1e-3))


def dqn(env):
    net = Net(state_shape=env.observation_space.shape, action_shape=env.action_space.n, hidden_sizes=[16])
    policy = DiscreteQLearningPolicy(model=net, action_space=env.action_space, eps_training=0.5)
    return DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3))


def test_turns_show_what_the_aec_env_shows():
    env, plain = flock(), make_aec("flock_v0", n_agents=AGENTS, max_cycles=CYCLES, threads=1)
    shown, _ = env.reset(seed=2)
    plain.reset(seed=2)
    for agent in plain.agent_iter(TURNS):
        assert shown["agent_id"] == agent
        np.testing.assert_array_equal(shown["obs"], plain.observe(agent))
        action = plain.action_space(agent).sample()
        plain.step(action)
        shown, rewards, _, truncated, _ = env.step(action)
        assert rewards == list(plain.rewards.values())
    assert truncated


@pytest.fixture(params=[DummyVectorEnv, SubprocVectorEnv], ids=["here", "in processes"])
def processes_or_not(request):
    opened = []

    def make(makers):
        opened.append(request.param(makers))
        return opened[-1]

    yield make
    for env in opened:
        env.close()


@pytest.fixture
def without_masks(monkeypatch):
    # Where observations have no mask, 2.0.1's policy asks for `obs_next`, which a batch to act on lacks.
    forward = MultiAgentPolicy.forward

    def with_obs_next(self, batch, *arguments, **more):
        if "obs_next" not in batch.get_keys():
            batch.obs_next = Batch()
        return forward(self, batch, *arguments, **more)

    monkeypatch.setattr(MultiAgentPolicy, "forward", with_obs_next)


def test_two_iterations_of_ppo(processes_or_not, without_masks):
    env = flock()
    algorithm = MultiAgentOnPolicyAlgorithm(algorithms=[ppo(env) for _ in env.agents], env=env)
    collector = Collector(algorithm, processes_or_not([flock, flock]), VectorReplayBuffer(8 * TURNS, 2))
    train(algorithm, OnPolicyTrainerParams, collector, update_step_num_repetitions=1)


def test_two_iterations_of_dqn():
    env = battle()
    algorithm = MultiAgentOffPolicyAlgorithm(algorithms=[dqn(env) for _ in env.agents], env=env)
    collector = Collector(algorithm, DummyVectorEnv([battle, battle]), VectorReplayBuffer(8 * TURNS, 2))
    train(algorithm, OffPolicyTrainerParams, collector)


def train(algorithm, params, collector, **arguments):
    """Two epochs, each of one rollout and one update, which must move the policies."""
    before = [parameter.detach().clone() for parameter in algorithm.parameters()]
    result = algorithm.run_training(
        params(
            training_collector=collector,
            test_collector=None,
            max_epochs=2,
            epoch_num_steps=4 * TURNS,
            collection_step_num_env_steps=4 * TURNS,
            batch_size=16,
            **arguments,
        )
    )
    assert result.train_step == 8 * TURNS
    assert all(parameter.isfinite().all() for parameter in algorithm.parameters())
    assert any(not parameter.equal(old) for parameter, old in zip(algorithm.parameters(), before))
