"""Minibatches: every decision once, none of agents that were not live, and never more than fit."""

from __future__ import annotations

import pytest
import torch

from seer_env.training.buffer import Batch

STEPS, COPIES, AGENTS = 3, 2, 10


@pytest.fixture
def batch():
    """Every decision has its own number, as its return and its observation."""
    batch = Batch.empty((STEPS, COPIES, AGENTS), 1, 1, None)
    numbers = torch.arange(STEPS * COPIES * AGENTS, dtype=torch.float32).reshape(STEPS, COPIES, AGENTS)
    batch.returns, batch.observations = numbers, numbers[..., None]
    batch.active[:] = numbers % 3 != 0
    return batch


@pytest.mark.parametrize(("size", "group"), [(1, 1), (7, 4), (20, 1024), (1000, 3), (10, 10)])
def test_every_decision_comes_once(batch, size, group):
    minibatches = list(batch.minibatches(size, group, torch.Generator().manual_seed(0)))
    seen = torch.cat([minibatch.returns for minibatch in minibatches])
    assert sorted(seen.tolist()) == batch.returns[batch.active].tolist()
    assert all(1 <= len(minibatch.returns) <= size for minibatch in minibatches)
    for minibatch in minibatches:
        assert torch.equal(minibatch.observations.squeeze(1), minibatch.returns)


def test_rows_know_the_step_of_the_world_that_they_are_pooled_with(batch):
    for minibatch in batch.minibatches(20, 1024, torch.Generator().manual_seed(0)):
        moments = (minibatch.returns // AGENTS).long()
        for world in range(minibatch.worlds):
            assert len(set(moments[minibatch.world == world].tolist())) == 1
        assert len(set(moments.tolist())) == minibatch.worlds


def test_groups_and_order_are_random_but_follow_from_the_generator(batch):
    def order(seed):
        return [m.returns.tolist() for m in batch.minibatches(5, 5, torch.Generator().manual_seed(seed))]

    assert order(1) == order(1)
    assert order(1) != order(2)


def test_parts_of_a_batch_are_its_own_memory(batch):
    first, second = batch.split([1, 1])
    first.values[:], second.values[:] = 1.0, 2.0
    assert batch.values[:, 0].unique().tolist() == [1.0]
    assert batch.values[:, 1].unique().tolist() == [2.0]


@pytest.mark.parametrize("choices", [None, 3])
def test_a_batch_is_what_its_tensors_make(choices):
    batch = Batch.empty((2, 1, 2), 1, 1, choices)
    batch.rewards[:] = 3.0
    again = Batch.of_tensors(batch.tensors())
    assert again.rewards.tolist() == batch.rewards.tolist()
    assert (again.masks is None) == (choices is None)
    with pytest.raises(KeyError, match="rewards"):
        Batch.of_tensors({k: v for k, v in batch.tensors().items() if k != "rewards"})
