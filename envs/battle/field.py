"""The field: which entity is which cell, and where the armies start."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import count

import numpy as np

from seer_env.envs.battle.constants import AIMS, CHANNELS, NOBODY, OUTSIDE, SIDE, SIGHT, VIEW

SMALLEST_MAP = 12
LARGEST_MAP = 2_000  # of four million cells
GAP = 3  # cells between an army and the middle of the map
#: Rows of cells around the map, so that every cell in sight of an agent exists.
MARGIN = VIEW - 1


@dataclass(frozen=True)
class Field:
    """A square map with a wall around it. Entities: agents, two armies, then the cells row by row.

    Attributes:
        size: cells along an edge of the map, its walls included.
        n_agents: agents of both armies.
    """

    size: int
    n_agents: int

    @property
    def stride(self) -> int:
        """Cells in a row, margins included."""
        return self.size + 2 * MARGIN

    @property
    def first_cell(self) -> int:
        """The entity of the first cell."""
        return self.n_agents + 2

    @property
    def n_entities(self) -> int:
        """Agents, armies and cells."""
        return self.first_cell + self.stride**2

    def entity_of(self, xy: np.ndarray) -> np.ndarray:
        """Entities of the cells at map coordinates `[..., 2]` (x, y), from 0 to `size - 1`."""
        return self.first_cell + self.offset_of(xy + MARGIN)

    def offset_of(self, dxy: np.ndarray) -> np.ndarray:
        """Difference between the entities of two cells that lie `[..., 2]` (dx, dy) apart."""
        return dxy[..., 1] * self.stride + dxy[..., 0]

    def xy_of(self, entity: np.ndarray) -> np.ndarray:
        """Map coordinates `[..., 2]` (x, y) of cells."""
        y, x = np.divmod(entity - self.first_cell, self.stride)
        return np.stack([x, y], axis=-1) - MARGIN

    @cached_property
    def empty_cells(self) -> np.ndarray:
        """What every cell shows when nobody is there, float64 `[stride**2]`."""
        shown = np.full((self.stride, self.stride), float(OUTSIDE))
        shown[MARGIN:-MARGIN, MARGIN:-MARGIN] = self.n_agents
        shown[MARGIN + 1 : -MARGIN - 1, MARGIN + 1 : -MARGIN - 1] = NOBODY
        return shown.ravel()

    def tables(self) -> dict[str, np.ndarray]:
        """Constants of handlers and outputs.

        `aim` int64 `[21]` and `sight` int64 `[113]`: from a cell to those aimed at and seen. `place` int64
        `[113]`: where a cell in sight begins in the observation. `legal` bool `[stride**2, 21]`: whether
        an action taken on a cell is aimed at a cell inside the walls.
        """
        inside = self.empty_cells == NOBODY
        aim = self.offset_of(AIMS)
        standing = np.flatnonzero(inside)
        legal = np.zeros((len(inside), len(AIMS)), bool)
        legal[standing] = inside[standing[:, None] + aim]
        place = CHANNELS * (SIDE * (SIGHT[:, 1] + VIEW) + SIGHT[:, 0] + VIEW)
        return {"aim": aim, "legal": legal, "sight": self.offset_of(SIGHT), "place": place}


def formation(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Where MAgent2's armies start on a map of this size: int64 `[n, 2]` (x, y) each, by column.

    Two squares of a fifth of the map's edge in agents, two cells apart, left and right of the middle
    (`generate_map` in magent2/environments/battle/battle.py, 0.3.4).
    """
    rows, *columns = _places(size)
    armies = [[(x, y) for x in xs for y in rows] for xs in columns]
    red, blue = (np.array(spots, np.int64).reshape(-1, 2) for spots in armies)
    return red, blue[: len(red)]


def _places(size: int) -> tuple[list[int], list[int], list[int]]:
    """Rows of both armies, columns of red, columns of blue; those inside the walls."""
    middle, side = size // 2, 2 * (size // 5)
    starts = (size - side) // 2, middle - GAP - side, middle + GAP
    rows, red, blue = ([at for at in range(s, s + side, 2) if 0 < at < size - 1] for s in starts)
    return rows, red, blue


def smallest_map(half: int) -> int:
    """Edge of the smallest map on which armies of `half` agents can start."""
    return next(size for size in count(SMALLEST_MAP) if capacity(size) >= half)


def capacity(size: int) -> int:
    """Agents in each army of MAgent2's formation on a map of this size."""
    rows, red, blue = _places(size)
    return len(rows) * min(len(red), len(blue))
