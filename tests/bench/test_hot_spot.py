"""Where the hot spot of `bench pcs` and `bench balance` lies."""

from __future__ import annotations

import numpy as np
import pytest

from seer_env.bench.hot_spot import HOT_SHARE, hot_half, hot_spot, uniform
from seer_env.envs.pcs_v0 import Pcs


@pytest.fixture(scope="module")
def model() -> Pcs:
    return Pcs(**hot_spot(3600).arguments)


def test_a_tenth_of_the_cells_has_two_thirds_of_the_new_calls(model):
    shares = np.sort(model.weights(0.0)) / 3600
    assert shares[-360:].sum() == pytest.approx(2 / 3) == pytest.approx(HOT_SHARE)


@pytest.mark.parametrize(("minute", "half"), [(0, 0), (8, 0), (16, 0), (44, 1), (52, 1), (59, 1)])
def test_the_hot_spot_lies_in_one_half_of_the_cells(model, minute, half):
    halves = model.weights(60.0 * minute).reshape(2, 1800).sum(axis=1) / 3600
    assert halves[half] == pytest.approx(hot_half())


def test_with_the_grid_s_own_positions_both_halves_would_have_the_same_load():
    arguments = dict(hot_spot(3600).arguments)
    del arguments["topology"], arguments["positions"]
    halves = Pcs(**arguments).weights(0.0).reshape(2, 1800).sum(axis=1) / 3600
    assert halves == pytest.approx([0.5, 0.5], abs=0.02)


def test_both_loads_have_the_same_grid_and_as_many_calls(model):
    even = Pcs(**uniform(3600).arguments)
    assert np.array_equal(even.topology.neighbours, model.topology.neighbours)
    assert even.weights(0.0).sum() == pytest.approx(model.weights(0.0).sum())
    assert np.ptp(even.weights(0.0)) == 0.0


def test_hot_cells_are_seldom_full(model):
    state = np.zeros(3600, model.entity)
    model.reset(state, lambda *a, **k: None, np.random.default_rng(0))
    assert (state["busy"] == model.channels).mean() < 0.01
