"""PPO's losses against values computed by hand."""

from __future__ import annotations

import math

import pytest
import torch

from seer_env.training.losses import normalised, policy_loss, value_loss


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "slope"),
    [
        (1.1, 2.0, -2.2, True),  # inside the clip
        (1.5, 2.0, -2.4, False),  # too likely already: held at 1.2
        (1.5, -2.0, 3.0, True),  # too likely, and worse than expected: pulled back
        (0.5, -2.0, 1.6, False),  # too unlikely already: held at 0.8
        (0.5, 2.0, -1.0, True),
    ],
)
def test_clipped_surrogate(ratio, advantage, loss, slope):
    log_ratio = torch.tensor([math.log(ratio)], requires_grad=True)
    found = policy_loss(log_ratio, torch.tensor([advantage]), clip=0.2)
    found.backward()
    assert found.item() == pytest.approx(loss)
    assert (log_ratio.grad.item() != 0.0) == slope


def test_the_surrogate_is_a_mean():
    assert policy_loss(torch.zeros(4), torch.tensor([1.0, 2.0, 3.0, 6.0]), 0.2).item() == -3.0


@pytest.mark.parametrize(
    ("value", "target", "loss", "slope"),
    [
        (1.1, 2.0, 0.5 * 0.9**2, True),  # moved by 0.1 of the 0.2 allowed
        (1.5, 2.0, 0.5 * 0.8**2, False),  # moved by 0.5: judged as if by 0.2
        (1.5, 1.0, 0.5 * 0.5**2, True),  # moved away: the larger error counts
    ],
)
def test_clipped_value_loss(value, target, loss, slope):
    values = torch.tensor([value], requires_grad=True)
    found = value_loss(values, torch.tensor([1.0]), torch.tensor([target]), clip=0.2)
    found.backward()
    assert found.item() == pytest.approx(loss)
    assert (values.grad.item() != 0.0) == slope


def test_normalised_advantages():
    assert normalised(torch.tensor([1.0, 3.0])).tolist() == pytest.approx([-1.0, 1.0])


def test_advantages_that_are_all_equal_become_zeros():
    assert normalised(torch.full((3,), 7.0)).tolist() == [0.0, 0.0, 0.0]
