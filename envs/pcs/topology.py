"""Who neighbours whom: hexagonal and square grids, and any graph in CSR form."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from seer_env.errors import ModelError

__all__ = ["Topology", "grid_topology", "graph_topology", "most_square"]

#: Offsets (row, column) of the neighbours. In a hexagonal grid odd rows are shifted right by half a cell.
SQUARE = ((-1, 0), (0, -1), (0, 1), (1, 0))
EVEN_ROW = ((-1, -1), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 0))
ODD_ROW = ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, 0), (1, 1))
ROW_HEIGHT = math.sqrt(3.0) / 2.0


@dataclass(frozen=True)
class Topology:
    """Cells and their neighbours.

    Attributes:
        shape: "hexagonal", "square" or "graph".
        offsets: int64 `[N + 1]`; the neighbours of cell i are `neighbours[offsets[i]:offsets[i + 1]]`.
        neighbours: int64 `[E]`, ascending for each cell.
        slots: int64 `[E]`, the place of cell i in the list of its neighbour.
        positions: float64 `[N, 2]` (x, y), in distances between neighbouring cells.
        extent: width and height after which a torus repeats, or None.
    """

    shape: str
    offsets: np.ndarray
    neighbours: np.ndarray
    slots: np.ndarray
    positions: np.ndarray
    extent: tuple[float, float] | None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def degree(self) -> int:
        """The most neighbours that a cell has."""
        return int(np.diff(self.offsets).max())

    def distances(self, point: np.ndarray) -> np.ndarray:
        """Distance of every cell from `point` (x, y), the shortest way round a torus; float64 `[N]`."""
        offset = np.abs(self.positions - point)
        if self.extent is not None:
            offset = np.minimum(offset, np.asarray(self.extent) - offset)
        return np.hypot(*offset.T)


def most_square(n: int, even_rows: bool = False) -> tuple[int, int]:
    """Rows and columns of the most square grid of `n` cells; columns >= rows unless rows must be even."""
    pairs = [(d, n // d) for d in range(1, math.isqrt(n) + 1) if n % d == 0]
    for small, large in reversed(pairs):
        if not even_rows or small % 2 == 0:
            return small, large
        if large % 2 == 0:
            return large, small
    raise ModelError(
        f"n_agents={n}: a hexagonal torus needs an even number of rows, so an even number of cells; or take "
        'topology="square" or wrap=False'
    )


def grid_topology(n: int, shape: str, wrap: bool) -> Topology:
    """The most square grid of `n` cells, "hexagonal" or "square", on a torus or with borders."""
    hexagonal = shape == "hexagonal"
    rows, columns = most_square(n, even_rows=hexagonal and wrap and n > 1)
    row, column = np.divmod(np.arange(n), columns)
    edges = []
    for even, odd in zip(EVEN_ROW, ODD_ROW) if hexagonal else zip(SQUARE, SQUARE):
        down, right = np.where((row % 2 == 1)[:, None], odd, even).T
        to_row, to_column = row + down, column + right
        inside = (to_row >= 0) & (to_row < rows) & (to_column >= 0) & (to_column < columns)
        target = (to_row % rows) * columns + to_column % columns
        keep = (inside | wrap) & (target != np.arange(n))
        edges.append(np.stack([np.flatnonzero(keep), target[keep]], axis=1))
    # On a torus of one or two rows or columns the same neighbour lies in two directions.
    source, target = np.unique(np.concatenate(edges), axis=0).T
    height = ROW_HEIGHT if hexagonal else 1.0
    x = column + 0.5 * (row % 2) * hexagonal
    positions = np.stack([x, row * height], axis=1).astype(float)
    extent = (float(columns), rows * height) if wrap else None
    return _topology(shape, n, source, target, positions, extent)


def graph_topology(n: int, offsets, neighbours, positions=None) -> Topology:
    """A graph of `n` cells given in CSR form.

    Args:
        offsets, neighbours: integers `[n + 1]` and `[E]`; cell i neighbours
            `neighbours[offsets[i]:offsets[i + 1]]`. Neighbourhood is mutual.
        positions: `[n, 2]`, for the hot spot and the picture; on a circle if None.

    Raises:
        ModelError: not a CSR form of `n` cells, or an edge to itself, twice, or without the way back.
    """
    offsets, neighbours = np.asarray(offsets), np.asarray(neighbours)
    if offsets.shape != (n + 1,) or neighbours.ndim != 1 or "i" not in offsets.dtype.kind:
        raise ModelError(
            f"topology: n_agents={n} cells need integer offsets of shape ({n + 1},) and flat neighbours, "
            f"got {offsets.dtype} {offsets.shape} and {neighbours.shape}"
        )
    if offsets[0] != 0 or offsets[-1] != len(neighbours) or (np.diff(offsets) < 0).any():
        raise ModelError(f"topology: offsets must rise from 0 to len(neighbours)={len(neighbours)}")
    if len(neighbours) and not (
        neighbours.dtype.kind == "i" and 0 <= neighbours.min() <= neighbours.max() < n
    ):
        raise ModelError(f"topology: neighbours must be integers from 0 to {n - 1}")
    source, target = np.repeat(np.arange(n), np.diff(offsets)), neighbours.astype(np.int64)
    _check_mutual(n, source, target)
    order = np.lexsort((target, source))
    if positions is None:
        angle = 2.0 * np.pi * np.arange(n) / n
        positions = np.stack([np.cos(angle), np.sin(angle)], axis=1) * max(1.0, n / (2.0 * np.pi))
    positions = np.asarray(positions, float)
    if positions.shape != (n, 2) or not np.isfinite(positions).all():
        raise ModelError(f"positions must be finite numbers of shape ({n}, 2), got {positions.shape}")
    return _topology("graph", n, source[order], target[order], positions, None)


def _check_mutual(n: int, source: np.ndarray, target: np.ndarray) -> None:
    there, back = source * n + target, target * n + source
    for wrong, what in (
        (source == target, "a cell is no neighbour of its own"),
        (~np.isin(there, back), "neighbourhood is mutual, so add the way back"),
    ):
        if wrong.any():
            first = int(np.argmax(wrong))
            raise ModelError(f"topology: edge {source[first]} -> {target[first]}: {what}")
    edge, times = np.unique(there, return_counts=True)
    if (times > 1).any():
        first = int(edge[np.argmax(times > 1)])
        raise ModelError(f"topology: edge {first // n} -> {first % n} is given twice; once is enough")


def _topology(shape, n, source, target, positions, extent) -> Topology:
    """From edges sorted by source, then target."""
    offsets = np.r_[0, np.cumsum(np.bincount(source, minlength=n))]
    # The way back of edge (i, j) is where (j, i) lies in the same sorted list.
    back = np.searchsorted(source * n + target, target * n + source)
    return Topology(shape, offsets, target, back - offsets[target], positions, extent)
