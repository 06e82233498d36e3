"""Action distributions against torch's own, and against what masks and boxes promise."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gymnasium import spaces

from seer_env.training.distributions import Categorical, UnsupportedSpace, make_head

N = 20_000


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_a_gaussian_agrees_with_torch():
    space = spaces.Box(np.array([-1.0, 0.0], np.float32), np.array([1.0, 10.0], np.float32))
    outputs = torch.tensor([[0.5, -0.2], [0.0, 1.0]])
    policy = make_head(space, log_std=-1.0)(outputs)
    half = torch.tensor([1.0, 5.0])
    known = torch.distributions.Normal(torch.tensor([0.0, 5.0]) + half * outputs, half * np.exp(-1.0))
    actions = policy.sample(generator())
    torch.testing.assert_close(policy.log_prob(actions), known.log_prob(actions).sum(-1))
    torch.testing.assert_close(policy.entropy(), known.entropy().sum(-1))
    torch.testing.assert_close(policy.mode(), known.mean)


def test_gaussian_samples_have_its_moments():
    policy = make_head(spaces.Box(-2.0, 2.0, (1,)), log_std=0.0)(torch.full((N, 1), 0.25))
    actions = policy.sample(generator())
    assert actions.mean().item() == pytest.approx(0.5, abs=5 * 2 / N**0.5)
    assert actions.std().item() == pytest.approx(2.0, rel=0.03)


def test_an_unbounded_box_is_taken_as_it_is():
    policy = make_head(spaces.Box(-np.inf, np.inf, (1,)), log_std=0.0)(torch.tensor([[3.0]]))
    assert policy.mode().tolist() == [[3.0]]


def test_categoricals_agree_with_torch():
    head = make_head(spaces.MultiDiscrete([3, 2]), 0.0)
    logits = torch.randn(4, 5, generator=generator())
    parts = [torch.distributions.Categorical(logits=part) for part in logits.split((3, 2), dim=1)]
    policy, actions = head(logits), torch.tensor([[0.0, 1.0], [2.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    log_prob = parts[0].log_prob(actions[:, 0]) + parts[1].log_prob(actions[:, 1])
    torch.testing.assert_close(policy.log_prob(actions), log_prob)
    torch.testing.assert_close(policy.entropy(), parts[0].entropy() + parts[1].entropy())


def test_categorical_samples_have_its_frequencies():
    shares = torch.tensor([0.1, 0.2, 0.7])
    policy = Categorical(shares.log().expand(N, 3), (3,), torch.zeros(1))
    counts = torch.bincount(policy.sample(generator()).long().squeeze(), minlength=3)
    torch.testing.assert_close(counts / N, shares, atol=0.02, rtol=0)


def test_a_masked_choice_is_never_taken_and_adds_nothing_to_the_entropy():
    mask = torch.tensor([True, False, True]).expand(N, 3)
    policy = Categorical(torch.tensor([0.0, 50.0, 0.0]).expand(N, 3), (3,), torch.zeros(1), mask)
    assert set(policy.sample(generator()).squeeze().tolist()) == {0.0, 2.0}
    assert policy.mode()[0].item() in (0.0, 2.0)
    assert policy.entropy()[0].item() == pytest.approx(np.log(2.0), abs=1e-6)


@pytest.mark.parametrize(("uniform", "choice"), [(1.0 - 2.0**-24, 1.0), (0.0, 3.0)])
def test_the_ends_of_the_uniform_numbers_leave_masked_choices_out(uniform, choice, monkeypatch):
    monkeypatch.setattr(torch, "rand", lambda *shape, **_: torch.full(shape, uniform))
    mask = torch.tensor([False, True, False, True, False]).expand(N, 5)
    logits = torch.randn(N, 5, generator=generator())
    policy = Categorical(logits, (5,), torch.zeros(1), mask)
    assert set(policy.sample(generator()).squeeze().tolist()) == {choice}


def test_a_discrete_space_may_start_anywhere():
    policy = make_head(spaces.Discrete(2, start=5), 0.0)(torch.tensor([[0.0, 9.0]]))
    assert policy.mode().tolist() == [[6.0]]
    assert policy.log_prob(torch.tensor([[6.0]])).item() == pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize("space", [spaces.MultiBinary(3), spaces.Box(-1, 1, (2, 2)), spaces.Text(3)])
def test_other_spaces_are_refused_by_name(space):
    with pytest.raises(UnsupportedSpace, match="expected a 1-D Box, Discrete"):
        make_head(space, 0.0)
