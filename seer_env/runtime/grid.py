"""The boundary index: a uniform cell grid over public position fields, by counting sort.

Queries see the world at the last boundary. Entities stand in *cell order*: by cell (x fastest,
then y, then z), within a cell by entity index. Every query visits rows of cells from low to high
offset, in a row first the cells inside the bounds, then those beyond the seam of a torus, and each
run of cells in cell order. So the order of neighbours, and with it the last bit of a sum over
them, depends on positions alone.

The functions here are one source for both worlds: `sim_boundary.py` compiles them, the `python`
scheduler calls them as they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seer_env.model import Grid


class Cells(NamedTuple):
    """Geometry of a grid, padded to three dimensions; float64 and int64 scalars."""

    nx: int
    ny: int
    nz: int
    inverse_x: float
    inverse_y: float
    inverse_z: float
    low_x: float
    low_y: float
    low_z: float
    period_x: float  # 0.0 where the dimension does not wrap
    period_y: float
    period_z: float


def cells_of(grid: Grid) -> Cells:
    """`Cells` of a grid's declaration."""
    pad = 3 - len(grid.fields)
    shape = [int(n) for n in grid.shape] + [1] * pad
    low = [float(v) for v in grid.low] + [0.0] * pad
    span = [float(b) - float(a) for a, b in zip(grid.low, grid.high)] + [1.0] * pad
    inverse = [n / s for n, s in zip(shape, span)]
    period = [s if grid.wrap and d < len(grid.fields) else 0.0 for d, s in enumerate(span)]
    return Cells(*shape, *inverse, *low, *period)


def clamped_cell(value, low, inverse, n):
    """Index along one dimension, border cells for what lies outside (NaN goes to cell 0)."""
    scaled = (value - low) * inverse
    if not scaled > 0.0:
        return 0
    if scaled >= n:
        return n - 1
    return int(scaled)


def nearest_image(delta, period):
    """`delta` by the shortest way round a torus of this period (0.0: no torus)."""
    if period > 0.0:
        half = 0.5 * period
        if delta > half:
            return delta - period
        if delta < -half:
            return delta + period
    return delta


class Index(NamedTuple):
    """A built index over `N` entities.

    Attributes:
        starts: int64 `[cells + 1]`, first rank of each cell.
        order: int32 `[N]`, entity at each rank.
        rank: int32 `[N]`, rank of each entity.
        x, y, z: float64 `[N]` in cell order; unused dimensions have length 1.
    """

    starts: np.ndarray
    order: np.ndarray
    rank: np.ndarray
    x: np.ndarray
    y: np.ndarray
    z: np.ndarray


def build_index(grid: Grid, state: np.ndarray) -> Index:
    """The index of `state`'s rows, in NumPy: the reference for the one the pool builds."""
    cells = cells_of(grid)
    columns = [np.ascontiguousarray(state[f]) for f in grid.fields]
    parts = []
    for d in range(3):
        low, inverse, n = cells[6 + d], cells[3 + d], cells[d]
        if d >= len(columns):
            parts.append(np.zeros(len(state), np.int64))
            continue
        parts.append(np.array([clamped_cell(v, low, inverse, n) for v in columns[d].tolist()], np.int64))
    cell = (parts[2] * cells.ny + parts[1]) * cells.nx + parts[0]
    order = np.argsort(cell, kind="stable").astype(np.int32)
    starts = np.zeros(cells.nx * cells.ny * cells.nz + 1, np.int64)
    np.cumsum(np.bincount(cell, minlength=len(starts) - 1), out=starts[1:])
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    ordered = [c[order] for c in columns] + [np.zeros(1)] * (3 - len(columns))
    return Index(starts, order, rank, *ordered)
