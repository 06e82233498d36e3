"""Neighbour queries against brute force, and compiled against interpreted."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import pytest
from grid_worlds import GRIDS, NEAREST, WITHIN, Sighted, positions_in
from gymnasium import spaces

from seer_env.model import EventModel, Grid, handles
from seer_env.runtime.engine import make_engine
from seer_env.runtime.grid import build_index, cells_of
from seer_env.runtime.grid_queries import NEAR_BUFFER, nearest_function, within_function

#: In units of the grid's cell: inside one, about one, several, beyond the bounds.
RADII = [0.01, 0.5, 1.0, 1.3, 2.5, 40.0]


class Brute:
    """All pairs of entities, by the definition."""

    def __init__(self, grid, state):
        self.offsets = []
        for field, low, high in zip(grid.fields, grid.low, grid.high):
            delta = state[field][None, :] - state[field][:, None]
            if grid.wrap:
                images = np.stack([delta - (high - low), delta, delta + (high - low)])
                delta = np.take_along_axis(images, np.abs(images).argmin(0)[None], 0)[0]
            self.offsets.append(delta)
        self.square = sum(delta * delta for delta in self.offsets)
        np.fill_diagonal(self.square, np.inf)

    def within(self, i, radius):
        return set(np.flatnonzero(self.square[i] < radius * radius).tolist())


class Queries:
    """The interpreted queries over an index of `state`."""

    def __init__(self, grid, state):
        self.index, self.cells, self.dimensions = build_index(grid, state), cells_of(grid), len(grid.fields)

    def _ask(self, function, i, radius, *scratch):
        index = self.index
        rank = int(index.rank[i])
        return function(
            self.cells, index.starts, index.order, index.x, index.y, index.z, rank, radius, *scratch
        )

    def within(self, i, radius):
        found = np.full(len(self.index.order) + 1, -7)
        count = self._ask(within_function(self.dimensions), i, radius, found)
        return found[:count].tolist()

    def nearest(self, k, i, radius):
        scratch = np.empty(NEAR_BUFFER), np.empty(NEAR_BUFFER, np.int64)
        count, ids = self._ask(nearest_function(self.dimensions, k), i, radius, *scratch)
        return count, [int(j) for j in ids]


@pytest.fixture(params=GRIDS)
def world(request):
    """(grid, brute force, queries) of 60 entities."""
    grid = GRIDS[request.param]
    state = positions_in(grid, 60)
    return grid, Brute(grid, state), Queries(grid, state)


@pytest.mark.parametrize("cells", RADII)
def test_within_finds_each_neighbour_once_and_no_other(world, cells):
    grid, brute, queries = world
    for i in range(60):
        found = queries.within(i, cells * grid.cell)
        assert len(found) == len(set(found))
        assert set(found) == brute.within(i, cells * grid.cell)


@pytest.mark.parametrize("cells", RADII)
@pytest.mark.parametrize("k", [1, 5])
def test_nearest_counts_all_and_gives_the_k_nearest_first(world, cells, k):
    grid, brute, queries = world
    for i in range(0, 60, 3):
        count, ids = queries.nearest(k, i, cells * grid.cell)
        near = brute.within(i, cells * grid.cell)
        assert count == len(near)
        given = [j for j in ids if j >= 0]
        assert ids == given + [-1] * (k - len(given))
        assert len(given) == len(set(given)) == min(k, len(near))
        np.testing.assert_allclose(
            brute.square[i, given], np.sort(brute.square[i, sorted(near)])[: len(given)]
        )


def test_of_equally_near_ones_the_first_in_cell_order_wins():
    """Whole coordinates, so that distances are exact and many are equal."""
    grid = Grid(("x", "y"), 2.0, (0.0, 0.0), (8.0, 8.0))
    state = np.zeros(64, Sighted.entity)
    state["x"], state["y"] = np.random.default_rng(0).integers(0, 8, (2, 64))
    brute, queries = Brute(grid, state), Queries(grid, state)
    for i in range(64):
        found = queries.within(i, 3.0)
        expected = sorted(found, key=lambda j, i=i: brute.square[i, j])[:6]
        assert queries.nearest(6, i, 3.0)[1][: len(expected)] == expected


def test_within_lists_rows_of_cells_from_low_to_high_then_by_entity():
    grid = Grid(("x", "y"), 1.0, (0.0, 0.0), (8.0, 8.0))
    state = positions_in(Grid(("x", "y"), 1.0, (1.0, 1.0), (7.0, 7.0), wrap=True), 64)
    queries = Queries(grid, state)
    for i in range(64):
        found = queries.within(i, 2.5)
        assert found == sorted(found, key=lambda j: (int(state["y"][j]), int(state["x"][j]), j))


def test_beyond_the_seam_of_a_torus_neighbours_come_last_in_their_row():
    grid = Grid(("x",), 1.0, (0.0,), (8.0,), wrap=True)
    state = np.zeros(8, Sighted.entity)
    state["x"] = np.arange(8) + 0.5
    assert Queries(grid, state).within(0, 2.5) == [1, 2, 6, 7]
    assert Queries(grid, state).within(7, 2.5) == [5, 6, 0, 1]


@pytest.mark.parametrize("radius", [0.0, -1.0, -40.0, float("inf"), float("nan")])
def test_no_radius_finds_nobody_and_an_infinite_one_everybody(world, radius):
    _, _, queries = world
    near = set(range(60)) - {3} if radius == float("inf") else set()
    assert set(queries.within(3, radius)) == near
    assert queries.nearest(2, 3, radius)[0] == len(near)


def test_who_stands_alone_has_no_neighbour():
    grid = GRIDS["torus"]
    queries = Queries(grid, positions_in(grid, 1))
    assert queries.within(0, 100.0) == []
    assert queries.nearest(1, 0, 100.0) == (0, [-1])


def test_a_distance_equal_to_the_radius_is_outside():
    grid = Grid(("x",), 1.0, (0.0,), (8.0,))
    state = np.zeros(3, Sighted.entity)
    state["x"] = [1.5, 2.5, np.nextafter(2.5, 0.0)]
    assert Queries(grid, state).within(0, 1.0) == [2]


def test_more_candidates_than_the_buffer_holds_are_all_counted():
    grid = GRIDS["one cell"]
    state = positions_in(grid, 5 * NEAR_BUFFER)
    brute, queries = Brute(grid, state), Queries(grid, state)
    for i in (0, 100, 319):
        count, ids = queries.nearest(8, i, 0.7)
        assert count == len(brute.within(i, 0.7))
        assert ids == np.argsort(brute.square[i], kind="stable")[:8].tolist() or len(set(ids)) == 8
        np.testing.assert_allclose(brute.square[i, ids], np.sort(brute.square[i])[:8])


# -- compiled ----------------------------------------------------------------------------------------------


def both(name, radius, steps=2):
    """A `python` and a compiled engine of a world, `steps` steps after reset."""
    engines = []
    for scheduler, threads in (("python", 1), ("seer", 2)):
        engine = make_engine(Sighted.of(name, 120, radius=radius), scheduler, threads)
        engine.reset(6)
        for _ in range(steps):
            engine.step(np.zeros((120, 1)), np.ones(120, bool))
        engines.append(engine)
    return engines


@pytest.mark.parametrize("name", GRIDS)
@pytest.mark.parametrize("cells", [1.0, 1.7, 40.0])
def test_compiled_answers_are_the_interpreted_ones_bit_for_bit(name, cells):
    python, compiled = both(name, cells * GRIDS[name].cell)
    for a, b in zip(python.outputs, compiled.outputs):
        np.testing.assert_array_equal(a, b)
    assert python.digest() == compiled.digest()


@pytest.mark.parametrize("name", GRIDS)
def test_what_an_observation_shows_is_brute_force(name):
    _, engine = both(name, GRIDS[name].cell)
    grid, observed = GRIDS[name], engine.outputs.observations
    brute = Brute(grid, engine.state)
    for i in range(120):
        near = brute.within(i, grid.cell)
        assert observed[i, 0] == observed[i, 1 + NEAREST] == len(near)
        ids = [int(j) for j in observed[i, 1 : 1 + NEAREST] if j >= 0]
        np.testing.assert_allclose(brute.square[i, ids], np.sort(brute.square[i])[: len(ids)])
        shown = observed[i, 2 + NEAREST : 2 + NEAREST + min(len(near), WITHIN)]
        assert {int(j) for j in shown} <= near
        for axis, delta in zip(("dx", "dy", "dz"), brute.offsets):
            np.testing.assert_allclose(
                abs(engine.outputs.info[axis][i]), abs(delta[i, (i + 1) % 120]), atol=1e-12
            )


class PeekKind(IntEnum):
    PEEK = 0


class Peek(EventModel):
    """Entity 0 looks at the entity `j`, which may not exist."""

    name = "peek"
    Kind = PeekKind
    entity = np.dtype([("x", "f8"), ("seen", "f8")])
    public = ("x",)
    grid = Grid(("x",), 1.0, (0.0,), (4.0,))
    observation_space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, state, schedule, rng):
        schedule(0, 0.5, PeekKind.PEEK)

    @handles(PeekKind.PEEK)
    def peek(me, event, sim):
        if sim.params.offset:
            me.seen = sim.offset(sim.params.j)[0]
        else:
            me.seen = sim.view(sim.params.j).x


@pytest.mark.parametrize("scheduler", ["python", "serial"])
@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("j", [-1, 4])
def test_an_entity_that_does_not_exist_is_an_index_error_everywhere(scheduler, offset, j):
    engine = make_engine(Peek(4, 0, {"j": j, "offset": offset}), scheduler)
    engine.reset(0)
    with pytest.raises(IndexError):
        engine.step(np.zeros((0, 1)), np.zeros(0, bool))


def test_handlers_see_the_last_boundary_and_outputs_the_current_one():
    """An entity that jumps in a step is still where it was for those who ask later in that step."""
    python, compiled = both("torus", 0.3, steps=0)
    brute = Brute(GRIDS["torus"], python.state.copy())
    for engine in (python, compiled):
        engine.step(np.zeros((120, 1)), np.ones(120, bool))
    felt = [int(f) for f in compiled.state["felt"]]
    counts = [len(brute.within(i, 0.3)) for i in range(120)]
    assert sum(abs(f - c) <= 3 for f, c in zip(felt, counts)) == 120
    np.testing.assert_array_equal(python.state["felt"], compiled.state["felt"])
