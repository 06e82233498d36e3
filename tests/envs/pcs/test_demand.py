"""The stationary load: against a dense solution of the traffic equations."""

import numpy as np
import pytest

from seer_env.envs.pcs.demand import stationary_load
from seer_env.envs.pcs.topology import graph_topology, grid_topology

ALONE = graph_topology(6, [0, 1, 3, 4, 4, 5, 6], [1, 0, 2, 1, 5, 4])  # a line, a cell alone, a pair
TOPOLOGIES = {
    "torus": grid_topology(36, "hexagonal", True),
    "borders": grid_topology(35, "square", False),
    "one cell": grid_topology(1, "square", True),
    "cells alone": ALONE,
}


def dense(topology, new_calls, duration, residence):
    """load_i / duration + load_i / residence = new_i + the neighbours' load_j / residence / degree_j."""
    n, degree = len(topology), np.diff(topology.offsets)
    leaving = 1.0 / residence / np.maximum(degree, 1)
    matrix = np.diag(1.0 / duration + (degree > 0) / residence)
    for j in range(n):
        matrix[topology.neighbours[topology.offsets[j] : topology.offsets[j + 1]], j] -= leaving[j]
    return np.linalg.solve(matrix, new_calls)


@pytest.mark.parametrize("residence", [1e-3, 1.0, 150.0, 1e9])
@pytest.mark.parametrize("topology", TOPOLOGIES.values(), ids=TOPOLOGIES)
def test_the_load_solves_the_traffic_equations(topology, residence):
    new_calls = np.random.default_rng(0).random(len(topology))
    load = stationary_load(topology, new_calls, 60.0, residence)
    expected = dense(topology, new_calls, 60.0, residence)
    assert np.abs(load - expected).max() < 1e-6 * expected.max()


@pytest.mark.parametrize("residence", [1e-300, 1e-3])
def test_calls_that_hardly_stay_spread_in_proportion_to_the_degrees(residence):
    load = stationary_load(ALONE, np.arange(1.0, 7.0), 60.0, residence)
    degrees, totals = [1, 2, 1, 1, 1], [6, 6, 6, 11, 11]
    expected = 60.0 * np.array(totals) * degrees / np.array([4, 4, 4, 2, 2])
    assert load[[0, 1, 2, 4, 5]] == pytest.approx(expected, rel=1e-3)
    assert load[3] == pytest.approx(60.0 * 4.0)


def test_where_no_call_moves_the_load_is_that_of_the_cells_own_calls():
    assert stationary_load(ALONE, np.arange(6.0), 60.0, np.inf).tolist() == (60.0 * np.arange(6)).tolist()
