"""GAE against values computed by hand: discount 1/2 and lambda 1/2, so that all are exact."""

from __future__ import annotations

import torch

from seer_env.training.gae import advantages

HALF = {"discount": 0.5, "gae_lambda": 0.5}


def column(*values) -> torch.Tensor:
    return torch.tensor(values)[:, None]


def test_three_steps_by_hand():
    rewards, values = column(1.0, 2.0, 4.0), column(8.0, 4.0, 2.0)
    following = column(4.0, 2.0, 16.0)
    # surprises: 1 + 2 - 8 = -5, 2 + 1 - 4 = -1, 4 + 8 - 2 = 10
    # from the end: 10, -1 + 10/4 = 1.5, -5 + 1.5/4 = -4.625
    found = advantages(
        rewards, values, following, column(False, False, False), column(True, True, True), **HALF
    )
    assert found.squeeze().tolist() == [-4.625, 1.5, 10.0]


def test_nothing_is_carried_over_the_end_of_an_episode():
    rewards, values, following = column(1.0, 2.0), column(8.0, 4.0), column(0.0, 2.0)
    # terminated in the first step: 1 + 0 - 8, whatever the next episode brings
    found = advantages(rewards, values, following, column(True, False), column(True, True), **HALF)
    assert found.squeeze().tolist() == [-7.0, -1.0]


def test_a_truncation_bootstraps_from_the_final_observation():
    rewards, values, following = column(1.0, 2.0), column(8.0, 4.0), column(6.0, 2.0)
    # truncated in the first step, at a final observation worth 6: 1 + 3 - 8
    found = advantages(rewards, values, following, column(True, False), column(True, True), **HALF)
    assert found.squeeze().tolist() == [-4.0, -1.0]


def test_rows_of_agents_not_live_are_zero_and_pass_nothing_on():
    rewards, values, following = column(1.0, 100.0), column(0.0, 100.0), column(0.0, 100.0)
    found = advantages(rewards, values, following, column(False, False), column(True, False), **HALF)
    assert found.squeeze().tolist() == [1.0, 0.0]


def test_agents_do_not_mix():
    rewards = torch.tensor([[1.0, 5.0], [2.0, 7.0]])
    zeros, live = torch.zeros(2, 2), torch.ones(2, 2, dtype=torch.bool)
    found = advantages(rewards, zeros, zeros, ~live, live, **HALF)
    assert found.tolist() == [[1.5, 6.75], [2.0, 7.0]]


def test_weights_give_v_traces_corrections():
    rewards, values = column(1.0, 2.0, 4.0), column(8.0, 4.0, 2.0)
    following, weights = column(4.0, 2.0, 16.0), column(0.5, 1.0, 0.25)
    never, live = column(False, False, False), column(True, True, True)
    # IMPALA, eq. 1: the sum over t of discount^t, c = weight * lambda of those before, weight and surprise
    # with the surprises -5, -1, 10; for the first step -2.5 + (1/2)(1/4)(-1) + (1/4)(1/4)(1/2)(2.5)
    found = advantages(rewards, values, following, never, live, **HALF, weights=weights)
    assert found.squeeze().tolist() == [-2.546875, -0.375, 2.5]


def test_weights_of_1_change_nothing():
    rewards, values, following = column(1.0, 2.0), column(8.0, 4.0), column(4.0, 2.0)
    ended, live = column(False, False), column(True, True)
    found = advantages(rewards, values, following, ended, live, **HALF, weights=torch.ones(2, 1))
    assert found.tolist() == advantages(rewards, values, following, ended, live, **HALF).tolist()
