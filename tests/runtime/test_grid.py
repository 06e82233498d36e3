"""The boundary index: cells, order, and the one that the pool builds against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from grid_worlds import GRIDS, Sighted, positions_in

from seer_env.model import Grid
from seer_env.runtime.engine import make_engine
from seer_env.runtime.grid import build_index, cells_of, clamped_cell, nearest_image


@pytest.mark.parametrize(
    ("value", "cell"),
    [(-1e300, 0), (-2.0, 0), (-1.0, 0), (-0.76, 0), (-0.75, 1), (0.9, 7), (1.0, 7), (1e300, 7), (np.nan, 0)],
)
def test_a_value_lies_in_its_cell_or_the_nearest_at_the_border(value, cell):
    assert clamped_cell(value, -1.0, 4.0, 8) == cell


@pytest.mark.parametrize("period", [0.0, 1.0, 6.5])
def test_the_nearest_image_is_the_shortest_way_round(period):
    for delta in np.linspace(-period, period, 41):
        image = nearest_image(delta, period)
        if period == 0.0:
            assert image == delta
        else:
            candidates = [delta - period, delta, delta + period]
            assert abs(image) == pytest.approx(min(map(abs, candidates)))
            assert any(image == c for c in candidates)


def test_cells_fill_the_bounds_exactly_and_are_never_smaller_than_asked():
    cells = cells_of(Grid(("x", "y"), cell=0.3, low=(0.0, -1.0), high=(1.0, 1.0), wrap=True))
    assert (cells.nx, cells.ny, cells.nz) == (3, 6, 1)
    assert (cells.inverse_x, cells.inverse_y) == (3.0, 3.0)
    assert (cells.period_x, cells.period_y, cells.period_z) == (1.0, 2.0, 0.0)


def test_a_grid_without_wrap_has_no_period():
    cells = cells_of(Grid(("x",), cell=0.3, low=(0.0,), high=(1.0,)))
    assert (cells.period_x, cells.period_y, cells.period_z) == (0.0, 0.0, 0.0)


def test_a_cell_larger_than_the_bounds_is_one_cell():
    assert Grid(("x",), cell=5.0, low=(0.0,), high=(1.0,)).shape == (1,)


@pytest.mark.parametrize("name", GRIDS)
def test_an_index_lists_every_entity_once_by_cell_and_then_by_entity(name):
    model = Sighted.of(name, 200)
    state = positions_in(model.grid, 200)
    index, cells = build_index(model.grid, state), cells_of(model.grid)
    keys = []
    for i in range(200):
        key = [i]
        for axis, field in zip("xyz", model.grid.fields):
            low, inverse, n = (getattr(cells, part + axis) for part in ("low_", "inverse_", "n"))
            key.insert(0, min(max(int(np.floor((state[field][i] - low) * inverse)), 0), n - 1))
        keys.append(tuple(key))
    expected = sorted(range(200), key=lambda i: keys[i])
    assert index.order.tolist() == expected
    np.testing.assert_array_equal(index.rank[index.order], np.arange(200))
    assert index.starts[0] == 0
    assert index.starts[-1] == 200
    for axis, field in zip((index.x, index.y, index.z), model.grid.fields):
        np.testing.assert_array_equal(axis, state[field][expected])


@pytest.mark.parametrize(("scheduler", "threads"), [("serial", 1), ("seer", 2), ("seer", 3)])
@pytest.mark.parametrize("name", ["line", "torus", "box"])
def test_the_index_that_the_pool_builds_is_numpys(name, scheduler, threads):
    for n in (1, 70, 5000):  # 5000: counted in parts
        model = Sighted.of(name, n, n_agents=min(n, 8))
        engine = make_engine(model, scheduler, threads)
        engine.reset(2)
        for _ in range(2):
            expected = build_index(model.grid, engine.state)
            for field in expected._fields[: 3 + len(model.grid.fields)]:
                np.testing.assert_array_equal(getattr(engine._memory, field), getattr(expected, field))
            engine.step(np.zeros((model.n_agents, 1)), np.ones(model.n_agents, bool))


@pytest.mark.parametrize(("scheduler", "threads"), [("serial", 1), ("seer", 3)])
def test_public_rows_stand_in_cell_order(scheduler, threads):
    model = Sighted.of("torus", 5000, n_agents=8)
    engine = make_engine(model, scheduler, threads)
    engine.reset(2)
    engine.step(np.zeros((8, 1)), np.ones(8, bool))
    for field in model.public:
        expected = engine.state[field][build_index(model.grid, engine.state).order]
        np.testing.assert_array_equal(engine._memory.public[field], expected)
