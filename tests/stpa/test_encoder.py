"""The NumPy encoder computes what the torch network computes."""

from __future__ import annotations

import numpy as np
import pytest

from seer_env.stpa.encoder import Encoder, convolve, gelu
from seer_env.stpa.features import METRICS

torch = pytest.importorskip("torch", reason="the encoder is trained with torch")
CHANNELS = 3 * len(METRICS)


@pytest.fixture(scope="module")
def pair():
    from seer_env.stpa.training.network import Network

    torch.manual_seed(0)
    network = Network(CHANNELS).eval()
    rng = np.random.default_rng(0)
    return network, Encoder(network.exported(rng.normal(size=CHANNELS), rng.uniform(0.5, 2.0, CHANNELS)))


@pytest.mark.parametrize("steps", [1, 2, 5, 16, 33])
def test_parity_to_1e_5(pair, steps):
    network, encoder = pair
    x = np.random.default_rng(steps).normal(size=(steps, CHANNELS)).astype(np.float32)
    with torch.no_grad():
        expected = network(torch.from_numpy(x)[None])[0].numpy()
    np.testing.assert_allclose(encoder.per_step(x), expected, atol=1e-5)


def test_a_representation_is_the_maximum_over_time(pair):
    _, encoder = pair
    trace = np.random.default_rng(1).normal(size=(len(METRICS), 7, 3)).astype(np.float32)
    steps = encoder.per_step(encoder.prepared(trace))
    assert encoder(trace).shape == (encoder.size,)
    assert (encoder(trace) == steps.max(axis=0)).all()


def test_a_masked_entry_counts_as_the_mean_of_the_training_data(pair):
    _, encoder = pair
    trace = np.random.default_rng(2).normal(size=(len(METRICS), 4, 3)).astype(np.float32)
    masked = trace.copy()
    masked[3] = np.nan
    assert (encoder.prepared(masked)[:, 9:12] == 0.0).all()
    trace[3] = encoder.weights["mean"][9:12]
    np.testing.assert_allclose(encoder(masked), encoder(trace), atol=1e-5)


def test_gelu_is_close_to_its_definition():
    x = np.linspace(-4.0, 4.0, 81)
    exact = x * 0.5 * (1.0 + torch.erf(torch.from_numpy(x) / 2.0**0.5).numpy())
    np.testing.assert_allclose(gelu(x), exact, atol=5e-4)


def test_a_convolution_sees_zeros_beyond_the_ends():
    x = np.array([[1.0], [2.0], [3.0]], np.float32)
    weight = np.array([[[1.0, 10.0, 100.0]]], np.float32)  # before, now, after
    y = convolve(x, weight, np.zeros(1, np.float32), dilation=1)
    assert y[:, 0].tolist() == [210.0, 321.0, 32.0]
