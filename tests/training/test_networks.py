"""The pooling critic: gradients, order of agents, worlds apart, cost; and normalisation."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gymnasium import spaces

from seer_env.training.networks import Actor, Critic, Tanh, pooled_mean
from seer_env.training.normalising import PopArt, RunningNorm

WORLD = torch.tensor([0, 0, 0, 2, 2])


@pytest.fixture
def critic():
    torch.manual_seed(3)
    return Critic(4, (8, 8)).double()


def rows(count: int = 5) -> torch.Tensor:
    return torch.randn(count, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def test_the_pool_is_the_mean_of_each_world_and_zero_of_an_empty_one():
    pooled = pooled_mean(torch.tensor([[1.0], [2.0], [6.0], [5.0], [7.0]]), WORLD, 3)
    assert pooled.tolist() == [[3.0], [0.0], [6.0]]


def test_gradients_of_the_pool_are_right():
    assert torch.autograd.gradcheck(lambda x: pooled_mean(x, WORLD, 3), rows().requires_grad_())


def test_gradients_of_the_critic_are_right(critic):
    assert torch.autograd.gradcheck(lambda x: critic.judge(x, WORLD, 3), rows().requires_grad_())


def test_the_bodys_first_layer_sees_an_embedding_beside_its_worlds_average(critic):
    own = critic.embed(critic.norm(rows()))
    beside = torch.cat([own, pooled_mean(own, WORLD, 3)[WORLD]], dim=-1)
    torch.testing.assert_close(critic(rows(), WORLD, 3), critic.last(critic.body(beside)))


def test_tanh_is_torchs_and_so_is_its_gradient():
    inputs = (4.0 * rows()).requires_grad_()
    torch.testing.assert_close(Tanh()(inputs), inputs.tanh(), rtol=1e-14, atol=0)
    assert torch.autograd.gradcheck(Tanh(), inputs)


def test_values_do_not_depend_on_the_order_of_agents(critic):
    order = torch.tensor([2, 0, 1, 4, 3])
    torch.testing.assert_close(
        critic(rows()[order], WORLD[order], 3), critic(rows(), WORLD, 3)[order], atol=1e-6, rtol=0
    )


def test_another_world_has_no_influence(critic):
    changed = rows()
    changed[3:] += 1.0
    before, after = critic(rows(), WORLD, 3), critic(changed, WORLD, 3)
    assert torch.equal(before[:3], after[:3])
    assert not torch.equal(before[3:], after[3:])


def test_every_agent_of_a_world_has_influence_on_the_others(critic):
    changed = rows()
    changed[0] += 1.0
    assert (critic(rows(), WORLD, 3) != critic(changed, WORLD, 3))[:3].all()


def test_the_actor_acts_for_any_number_of_agents():
    actor = Actor(4, spaces.Box(-1.0, 1.0, (3,)))
    for count in (1, 1000):
        assert actor(rows(count).float()).mode().shape == (count, 3)


def test_layers_are_orthogonal():
    weight = Actor(64, spaces.Discrete(2), (64, 64)).body[0].weight.detach()
    torch.testing.assert_close(weight @ weight.T, 2.0 * torch.eye(64), atol=1e-4, rtol=0)


def test_first_actions_are_nearly_uniform():
    policy = Actor(4, spaces.Discrete(8))(rows(100).float())
    assert policy.entropy().min().item() == pytest.approx(np.log(8), abs=1e-3)


def test_running_moments_are_those_of_all_rows():
    norm, seen = RunningNorm(2), np.random.default_rng(0).normal([3.0, -1.0], [2.0, 0.1], (500, 2))
    for part in np.split(seen, [7, 100]):
        norm.update(torch.from_numpy(part).float())
    assert norm.mean.numpy() == pytest.approx(seen.mean(axis=0), rel=1e-5)
    assert norm.variance.numpy() == pytest.approx(seen.var(axis=0), rel=1e-4)


def test_popart_keeps_every_value_when_its_moments_move():
    torch.manual_seed(0)
    last, features = PopArt(8), torch.randn(5, 8)
    for scale in (1.0, 1000.0):
        before = last.denormalise(last(features))
        last.update(scale * torch.randn(100) + scale)
        torch.testing.assert_close(last.denormalise(last(features)), before, rtol=1e-4, atol=1e-3)


def test_popart_brings_targets_to_mean_zero_and_deviation_one():
    last, targets = PopArt(8), torch.tensor([100.0, 300.0])
    last.update(targets)
    torch.testing.assert_close(last.normalise(targets), torch.tensor([-1.0, 1.0]))
    torch.testing.assert_close(last.denormalise(last.normalise(targets)), targets)
