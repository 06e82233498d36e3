"""Grids and graphs."""

import numpy as np
import pytest

from seer_env.envs.pcs.topology import graph_topology, grid_topology, most_square
from seer_env.errors import ModelError


def neighbours(topology, i):
    return topology.neighbours[topology.offsets[i] : topology.offsets[i + 1]].tolist()


@pytest.mark.parametrize(
    ("n", "shape"),
    [(400, (20, 20)), (800, (25, 32)), (900, (30, 30)), (4900, (70, 70)), (7, (1, 7)), (100_000, (250, 400))],
)
def test_grids_are_the_most_square(n, shape):
    assert most_square(n) == shape


def test_a_hexagonal_torus_has_an_even_number_of_rows():
    assert most_square(800, even_rows=True) == (32, 25)
    with pytest.raises(ModelError, match="n_agents=25"):
        most_square(25, even_rows=True)


@pytest.mark.parametrize(("shape", "degree"), [("hexagonal", 6), ("square", 4)])
def test_the_neighbours_on_a_torus_are_those_at_distance_one(shape, degree):
    torus = grid_topology(80, shape, True)
    for i in range(80):
        near = np.flatnonzero(np.abs(torus.distances(torus.positions[i]) - 1.0) < 1e-9)
        assert neighbours(torus, i) == near.tolist()
        assert len(near) == degree


@pytest.mark.parametrize("shape", ["hexagonal", "square"])
def test_the_neighbours_with_borders_are_those_at_distance_one(shape):
    grid = grid_topology(30, shape, False)
    for i in range(30):
        near = np.flatnonzero(np.abs(grid.distances(grid.positions[i]) - 1.0) < 1e-9)
        assert neighbours(grid, i) == near.tolist()


@pytest.mark.parametrize("n", [1, 2, 4, 6])
@pytest.mark.parametrize("shape", ["hexagonal", "square"])
def test_tiny_tori_have_no_cell_twice_and_none_beside_itself(shape, n):
    torus = grid_topology(n, shape, True)
    for i in range(n):
        assert len(set(neighbours(torus, i))) == len(neighbours(torus, i))
        assert i not in neighbours(torus, i)


def test_slots_are_the_way_back():
    torus = grid_topology(48, "hexagonal", True)
    source = np.repeat(np.arange(48), np.diff(torus.offsets))
    back = torus.offsets[torus.neighbours] + torus.slots
    assert torus.neighbours[back].tolist() == source.tolist()


def test_a_graph_is_as_given():
    star = graph_topology(4, [0, 3, 4, 5, 6], [3, 1, 2, 0, 0, 0])
    assert [neighbours(star, i) for i in range(4)] == [[1, 2, 3], [0], [0], [0]]
    assert star.degree == 3


@pytest.mark.parametrize(
    ("offsets", "near", "message"),
    [
        ([0, 1, 2], [1, 0], "offsets of shape \\(4,\\)"),
        ([0, 1, 2, 3], [1, 0], "rise from 0 to len\\(neighbours\\)=2"),
        ([0, 2, 1, 2], [1, 0], "rise from 0"),
        ([0, 1, 2, 2], [1, 3], "integers from 0 to 2"),
        ([0, 1, 2, 2], [0, 0], "edge 0 -> 0: a cell is no neighbour of its own"),
        ([0, 1, 2, 2], [1, 2], "edge 0 -> 1: neighbourhood is mutual"),
        ([0, 2, 4, 4], [1, 1, 0, 0], "edge 0 -> 1 is given twice"),
    ],
)
def test_what_is_no_graph_is_refused(offsets, near, message):
    with pytest.raises(ModelError, match=message):
        graph_topology(3, offsets, near)
