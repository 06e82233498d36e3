"""What `sim` is under the `python` scheduler: the same words as `sim_type.py`, in plain Python."""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from seer_env.runtime.grid import build_index, cells_of, nearest_image
from seer_env.runtime.grid_queries import NEAR_BUFFER, nearest_function, within_function
from seer_env.runtime.rng import Stream


class Event(NamedTuple):
    """What a handler sees of the event it executes."""

    time: float
    kind: int
    target: int
    payload: tuple[float, ...]


class Constants(SimpleNamespace):
    """`sim.params` and `sim.tables`. Floats are numpy's, which divide by zero as compiled code does."""

    def __init__(self, values):
        super().__init__(**{k: np.float64(v) if isinstance(v, float) else v for k, v in values.items()})

    def __setattr__(self, name, value):
        raise AttributeError(f"{name}: constants are read-only in handlers")


class BoundaryView:
    """Public fields and grid index as of one boundary."""

    def __init__(self, model, state: np.ndarray):
        self.rows = np.zeros(len(state) if model.public else 0, model.public_dtype)
        for field in model.public:
            self.rows[field] = state[field]
        self.rows.flags.writeable = False
        self.rows = self.rows.view(np.recarray)
        self.index = None if model.grid is None else build_index(model.grid, state)


class BoundarySim:
    """Reads of the last boundary, the constants, and nothing else."""

    def __init__(self, engine, entity: int):
        model = engine.model
        self._engine, self.me = engine, entity
        self.n_entities, self.n_agents = model.n_entities, model.n_agents
        self.params, self.tables = Constants(model.params), Constants(model.tables)

    @property
    def now(self) -> float:
        return np.float64(self._engine.clock)

    def view(self, j: int):
        return self._engine._view.rows[self._existing("view", j)]

    def _existing(self, word: str, j: int) -> int:
        if not 0 <= j < self.n_entities:
            raise IndexError(f"sim.{word}({j}): entities are 0..{self.n_entities - 1}")
        return int(j)

    @property
    def scratch(self) -> np.ndarray:
        return np.empty(2 * NEAR_BUFFER, np.int64)

    def offset(self, j: int) -> tuple[float, ...]:
        index, cells = self._engine._view.index, cells_of(self._engine.model.grid)
        mine, other = index.rank[self.me], index.rank[self._existing("offset", j)]
        return tuple(
            nearest_image(index[3 + d][other] - index[3 + d][mine], cells[9 + d])
            for d in range(len(self._engine.model.grid.fields))
        )

    def nearest(self, k: int, radius: float) -> tuple[int, tuple[int, ...]]:
        scratch = np.empty(NEAR_BUFFER), np.empty(NEAR_BUFFER, np.int64)
        return self._query(nearest_function(len(self._engine.model.grid.fields), k), radius, *scratch)

    def within(self, radius: float) -> np.ndarray:
        found = np.empty(self.n_entities + 1, np.int64)
        count = self._query(within_function(len(self._engine.model.grid.fields)), radius, found)
        return found[:count]

    def _query(self, function, radius, *extra):
        index, cells = self._engine._view.index, cells_of(self._engine.model.grid)
        return function(
            cells,
            index.starts,
            index.order,
            index.x,
            index.y,
            index.z,
            int(index.rank[self.me]),
            float(radius),
            *extra,
        )


class OutputSim(BoundarySim):
    """For observe, reward and terminated: the boundary, nothing that would change it."""


class HandlerSim(BoundarySim):
    """For handlers: emission and the entity's random stream as well."""

    def __init__(self, engine, entity: int):
        super().__init__(engine, entity)
        stream = Stream(engine._stream, engine._gamma, entity)
        self.random, self.exponential = stream.random, stream.exponential
        self.normal, self.integers = stream.normal, stream.integers

    @property
    def now(self) -> float:
        return self._engine._now

    def emit(self, target: int, delay: float, kind: int, *payload: float) -> None:
        self._engine.emit(int(target), delay, int(kind), payload)
