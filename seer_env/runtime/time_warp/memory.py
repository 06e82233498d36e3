"""The arrays of Time Warp, beside those of the world."""

from __future__ import annotations

import numpy as np

from seer_env.runtime.boundary import Boundary
from seer_env.runtime.layout import CHUNK, STRIDE, aligned_zeros
from seer_env.runtime.memory import FIRST_COSTS, FIRST_SLOTS, Memory
from seer_env.runtime.shims import CompiledModel
from seer_env.runtime.time_warp.layout import ENTITY, EXECUTION, PARTITION, REGION, VISITING_WORDS, WARP

#: Saved rows of a partition, at first and at least; a step that needs more is begun again with twice as many.
FIRST_ROWS = 8192
#: What the saved rows of a partition may take at first, bytes.
FIRST_ROW_BYTES = 1 << 24
LEAST_ROWS = 256
#: Slots at first for what is executed and not yet committed, per partition.
SLOTS_AHEAD = 8192
#: Events of a window and between GVT and horizon, at first.
FIRST_SPREAD, FIRST_AHEAD = 16.0, 256.0
#: Executions between two rollbacks, at first.
FIRST_BETWEEN = 100.0
#: What an execution may emit before GVT is there, beside a share of the slots: more waits for GVT.
MOST_EMISSIONS = 64


def first_rows(row_bytes: int) -> int:
    """Saved rows of a partition at first."""
    return min(FIRST_ROWS, max(LEAST_ROWS, FIRST_ROW_BYTES // row_bytes))


class WarpMemory(Memory):
    """`Memory` with what may be undone: a record per slot and entity, saved rows, partitions."""

    def __init__(self, model, compiled: CompiledModel, threads: int):
        n = model.n_entities
        self.warp = aligned_zeros(1, WARP)
        self.entities = aligned_zeros(n, ENTITY)
        self.partitions = aligned_zeros(threads, PARTITION)
        self.inboxes, self.taken = (aligned_zeros(threads * STRIDE, np.int64) for _ in range(2))
        self.visiting = aligned_zeros(VISITING_WORDS, np.int64)
        self.listed = aligned_zeros(n, np.int32)
        places = -(-n // REGION) * REGION + (threads + 1) * REGION
        self.warp_times = aligned_zeros(places, np.float64)
        self.warp_minima = aligned_zeros(places // 64, np.float64)
        self.rows_each = self.first_rows = first_rows(model.entity.itemsize)
        self.first_slots = FIRST_SLOTS
        super().__init__(model, compiled, threads)
        self._point_warp()

    def _point_warp(self) -> None:
        warp = self.warp[0]
        for name in ("entities", "partitions", "inboxes", "taken", "visiting", "listed"):
            warp[name] = getattr(self, name).ctypes.data
        warp["next_time"], warp["block_min"] = self.warp_times.ctypes.data, self.warp_minima.ctypes.data
        warp["interval"], warp["adaptive"] = 1, 1
        warp["event_cost"], warp["between"] = FIRST_COSTS["event_cost"], FIRST_BETWEEN
        warp["spread"], warp["ahead"] = FIRST_SPREAD, FIRST_AHEAD * self.threads
        warp["density"] = self.model.n_entities / self.model.dt
        self.control["own"] = self.warp.ctypes.data
        self.workers["collect"] = 1

    def new_pool(self, slots: int) -> None:
        """Allocate the pool and what lies beside it. A step that ran out gets more saved rows, too."""
        rows_each = max(self.rows_each, self.first_rows * slots // self.first_slots)
        lines, row_bytes = slots * self.lines + CHUNK * self.lines, self.model.entity.itemsize
        self.executions = aligned_zeros(lines, EXECUTION)
        self.rows = aligned_zeros(self.threads * rows_each * row_bytes, np.uint8)
        self.free_rows = aligned_zeros((self.threads, rows_each), np.int32)
        self.rows_each = rows_each
        super().new_pool(slots)

    def point_pool(self) -> None:
        """Have the engine use this pool and what lies beside it."""
        super().point_pool()
        warp = self.warp[0]
        for name in ("executions", "rows", "free_rows"):
            warp[name] = getattr(self, name).ctypes.data
        warp["rows_each"], warp["row_bytes"] = self.free_rows.shape[1], self.model.entity.itemsize
        warp["most_emissions"] = MOST_EMISSIONS + self.slots // (4 * self.threads)
        self.control["queued_for"] = 0

    def load(self, boundary: Boundary, slots: int = 0) -> None:
        """Make a boundary the content of all arrays, with slots for what is executed and uncommitted."""
        self.first_slots = max(slots, len(boundary.pending) + SLOTS_AHEAD * self.threads)
        super().load(boundary, self.first_slots)
