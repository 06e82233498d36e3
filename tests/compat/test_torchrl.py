"""TorchRL: `PettingZooWrapper`, `check_env_specs`, two iterations of MAPPO by its own loss."""

from __future__ import annotations

import numpy as np
import pytest

import seer_env

pytest.importorskip("torchrl", reason="TorchRL is not installed: make test-compat CONSUMER=torchrl")

import torch
from tensordict.nn import TensorDictModule
from torchrl.collectors import Collector
from torchrl.envs import PettingZooWrapper, RewardSum, TransformedEnv, check_env_specs
from torchrl.modules import MultiAgentMLP, NormalParamExtractor, ProbabilisticActor, TanhNormal
from torchrl.objectives.multiagent import MAPPOLoss

# TorchRL 0.14 warns that it was tested with PettingZoo 1.24.3, and of its own deprecations.
pytestmark = pytest.mark.filterwarnings("default", "error:::seer_env")

AGENTS, CYCLES = 6, 10


def flock(**arguments):
    return seer_env.make("flock_v0", n_agents=AGENTS, max_cycles=CYCLES, threads=1, **arguments)


def battle():
    return seer_env.make("battle_v0", n_agents=8, max_hp=2.0, max_cycles=CYCLES, threads=1)


def wrapped(env, **arguments):
    # Agents may act until the last of them is done, as our episodes go; the default ends all with the first.
    return PettingZooWrapper(env, done_on_any=False, **arguments)


def test_check_env_specs():
    check_env_specs(wrapped(flock()))


def test_check_env_specs_with_the_state_of_a_centralised_critic():
    env = wrapped(flock(), return_state=True)
    check_env_specs(env)
    assert env.observation_spec["state"].shape == flock().state_space.shape


def test_check_env_specs_where_agents_die_and_actions_are_masked():
    env = wrapped(battle(), use_mask=True)
    check_env_specs(env)
    assert set(env.group_map) == {"red", "blue"}
    assert env.reset()["red", "action_mask"].shape == (4, 21)


def test_check_env_specs_of_the_aec_form():
    check_env_specs(
        PettingZooWrapper(seer_env.registration.make_aec("flock_v0", n_agents=3, threads=1), use_mask=True)
    )


def test_a_rollout_shows_what_the_env_shows():
    env, plain = wrapped(flock()), flock()
    env.set_seed(4)
    rollout = env.rollout(CYCLES)
    plain.reset(seed=4)  # the wrapper resets with the seed when it is set,
    plain.reset()  # and without one for the rollout
    assert len(rollout) == CYCLES
    for step in rollout:
        actions = dict(zip(plain.agents, step["agent", "action"].numpy()))
        observations, rewards, _, truncations, _ = plain.step(actions)
        shown = step["next", "agent"]
        np.testing.assert_array_equal(shown["observation"], list(observations.values()))
        np.testing.assert_array_equal(shown["reward"][:, 0], np.float32(list(rewards.values())))
        assert shown["truncated"][:, 0].tolist() == list(truncations.values())


def test_two_iterations_of_mappo():
    env = TransformedEnv(wrapped(flock()), RewardSum(in_keys=[("agent", "reward")]))
    size, actions = (space("agent_0").shape[0] for space in (flock().observation_space, flock().action_space))
    network = {"n_agents": AGENTS, "share_params": True, "depth": 1, "num_cells": 16}
    actor = ProbabilisticActor(
        TensorDictModule(
            torch.nn.Sequential(
                MultiAgentMLP(size, 2 * actions, centralized=False, **network), NormalParamExtractor()
            ),
            in_keys=[("agent", "observation")],
            out_keys=[("agent", "loc"), ("agent", "scale")],
        ),
        in_keys=[("agent", "loc"), ("agent", "scale")],
        out_keys=[env.action_key],
        distribution_class=TanhNormal,
        return_log_prob=True,
    )
    critic = TensorDictModule(
        MultiAgentMLP(size, 1, centralized=True, **network),
        in_keys=[("agent", "observation")],
        out_keys=[("agent", "state_value")],
    )
    loss = MAPPOLoss(actor, critic)
    loss.set_keys(
        reward=env.reward_key,
        action=env.action_key,
        value=("agent", "state_value"),
        done=("agent", "done"),
        terminated=("agent", "terminated"),
    )
    optimizer = torch.optim.Adam(loss.parameters())
    before = [parameter.detach().clone() for parameter in loss.parameters()]
    frames = 2 * CYCLES
    collector = Collector(env, actor, frames_per_batch=frames, total_frames=2 * frames)
    for batch in collector:
        loss.value_estimator(
            batch, params=loss.critic_network_params, target_params=loss.target_critic_network_params
        )
        losses = loss(batch)
        total = losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]
        assert total.isfinite()
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        collector.update_policy_weights_()
    collector.shutdown()
    assert any(not parameter.equal(old) for parameter, old in zip(loss.parameters(), before))
