"""TimesURL's augmentations and losses: the properties that make them what they are."""

from __future__ import annotations

import math

import numpy as np
import pytest

from seer_env.stpa.features import METRICS

torch = pytest.importorskip("torch", reason="the encoder is trained with torch")

from seer_env.stpa.encoder import Encoder  # noqa: E402 - behind the skip
from seer_env.stpa.training.augment import PROTECTED, crops, derangement, frequency_mix, hide, universum  # noqa: E402
from seer_env.stpa.training.fit import Options, fit_encoder, standard  # noqa: E402
from seer_env.stpa.training.losses import contrast, hierarchical, reconstruction  # noqa: E402


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


@pytest.mark.parametrize("length", [2, 3, 16])
def test_crops_overlap_in_the_shared_part(generator, length):
    for _ in range(50):
        left, right, shared = crops(length, generator)
        assert 0 <= left[0] <= shared[0] < shared[1] == left[1]
        assert shared[0] == right[0] < right[1] <= length
        assert shared[1] - shared[0] >= 2


@pytest.mark.parametrize("n", [2, 3, 10])
def test_a_derangement_moves_everything(generator, n):
    for _ in range(30):
        moved = derangement(n, generator)
        assert sorted(moved.tolist()) == list(range(n))
        assert (moved != torch.arange(n)).all()


@pytest.mark.parametrize("steps", [9, 16])
def test_mixing_replaces_whole_frequencies_and_keeps_the_strongest(generator, steps):
    x = torch.randn(2, steps, 5, generator=generator) - 3.0  # negative: a lost sign would show
    mixed = frequency_mix(x, generator)
    assert mixed.shape == x.shape
    before, after = torch.fft.rfft(x, dim=1), torch.fft.rfft(mixed, dim=1)
    other = before[[1, 0]]  # of two traces, the other one
    own = torch.isclose(after, before, atol=1e-4)
    assert (own | torch.isclose(after, other, atol=1e-4)).all()
    assert not own.all(), "something was mixed"
    strongest = before.abs().topk(PROTECTED, dim=1).indices
    assert own.gather(1, strongest).all()
    assert mixed.mean() < 0.0


def test_a_universum_is_mostly_another_one(generator):
    z = torch.eye(4)[:, None, :]  # trace i is unit vector i
    mixed = universum(z, 0, generator)[:, 0]
    assert torch.allclose(mixed.diagonal(), torch.full((4,), 0.2))
    assert torch.allclose(mixed.sum(dim=1), torch.ones(4))
    assert torch.allclose(mixed.max(dim=1).values, torch.full((4,), 0.8))


def test_three_segments_are_hidden_per_channel(generator):
    hidden = hide(torch.zeros(4, 40, 6), generator)
    count = hidden.sum(dim=1)
    assert (count >= 2).all(), "5 % of 40 steps is two, if all three segments coincide"
    assert (count <= 6).all()
    assert count.max() > count.min(), "segments differ between channels"


def test_contrast_without_structure_is_the_logarithm_of_the_choices():
    zeros = torch.zeros(1, 4, 8)
    loss = contrast(zeros, zeros, torch.zeros(1, 5, 8))
    assert loss.item() == pytest.approx(math.log(2 * 4 - 1 + 5), rel=1e-5)


def test_contrast_rewards_pairs_and_punishes_hard_negatives():
    pairs = 10.0 * torch.eye(4)[None]
    apart, near = torch.zeros(1, 4, 4), pairs.clone()
    assert contrast(pairs, pairs, apart) < 1e-6
    assert contrast(pairs, pairs.flip(1), apart) > 1.0
    assert contrast(pairs, pairs, near).item() == pytest.approx(math.log(2.0), rel=1e-3)


def test_the_hierarchy_ends_at_one_step(generator):
    z = torch.randn(3, 6, 8, generator=generator)
    assert torch.isfinite(hierarchical(z, z, generator))
    single = hierarchical(z[:, :1], z[:, :1], generator)
    assert torch.isfinite(single)


def test_reconstruction_counts_hidden_positions_only():
    x, restored = torch.zeros(1, 2, 1), torch.tensor([[[3.0], [100.0]]])
    hidden = torch.tensor([[[True], [False]]])
    assert reconstruction(restored, x, hidden).item() == 9.0
    assert reconstruction(restored, x, torch.zeros_like(hidden)).item() == 0.0


def traces(n, seed=0):
    rng = np.random.default_rng(seed)
    some = [rng.normal(size=(len(METRICS), 8, 3)).astype(np.float32) for _ in range(n)]
    for trace in some:
        trace[4] = np.nan
    return some


def test_standardising_leaves_masked_entries_out():
    mean, scale = standard(traces(5))
    assert np.isfinite(mean).all()
    assert (scale > 0.0).all()
    assert (mean[12:15] == 0.0).all()
    assert (scale[12:15] == 1.0).all()


def test_training_is_reproducible_and_gives_an_encoder():
    options = Options(steps=2, batch=4)
    first, again, other = (fit_encoder(traces(6), seed, options) for seed in (0, 0, 1))
    representation = Encoder(first)(traces(1, seed=9)[0])
    assert representation.shape == (64,)
    assert np.isfinite(representation).all()
    assert all((first[name] == again[name]).all() for name in first)
    assert any((first[name] != other[name]).any() for name in first)


def test_training_lowers_the_loss_on_hidden_positions():
    """Channels that follow one hidden wave: what is hidden can be told from the others."""
    from seer_env.stpa.training.fit import loss
    from seer_env.stpa.training.network import Network

    rng, generator = np.random.default_rng(0), torch.Generator().manual_seed(0)
    wave = np.sin(np.arange(16) * 0.7 + rng.uniform(0.0, 6.0, (24, 1)))
    x = torch.from_numpy((wave[:, :, None] * rng.normal(size=6)).astype(np.float32))
    torch.manual_seed(0)
    network, options = Network(6), Options()
    optimiser = torch.optim.AdamW(network.parameters(), lr=3e-3)
    losses = []
    for _ in range(40):
        optimiser.zero_grad()
        value = loss(network, x, options, generator)
        value.backward()
        optimiser.step()
        losses.append(value.item())
    assert np.mean(losses[-10:]) < 0.7 * np.mean(losses[:10])
