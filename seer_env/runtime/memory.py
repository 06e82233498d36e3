"""The arrays of one compiled world: allocated once, grown when event slots run out."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from seer_env.machine import effective_cpus
from seer_env.runtime.atomics import FANOUT
from seer_env.runtime.boundary import Boundary
from seer_env.runtime.buffers import Buffers
from seer_env.runtime.experience import PATIENCE, STEP, TRY_SHARED
from seer_env.runtime.grid import cells_of
from seer_env.runtime.grid_queries import NEAR_BUFFER
from seer_env.runtime.layout import (
    BUMP,
    CHUNK,
    CLAIMS,
    CONTROL,
    FREE_CHUNKS,
    LEQ,
    STRIDE,
    WORKER,
    aligned_zeros,
    event_dtype,
    pending_dtype,
)
from seer_env.runtime.leq import HEADER
from seer_env.runtime.sharing import CLEARLY_NS, SHARE_NS
from seer_env.runtime.shims import CompiledModel
from seer_env.runtime.waiting import SPINS, SPINS_CROWDED

if TYPE_CHECKING:
    from seer_env.model import EventModel

#: Slots for emissions beyond the pending events, at first; running out of them replays the step.
FIRST_SLOTS = 1024
#: Words of `control`: what `experience` knows of phases and steps at one thread count, which another does not
#: share.
EXPERIENCE = (
    "direct_ns",
    "direct_units",
    "shared_ns",
    "shared_units",
    "sooner",
    "kept",
    "measured",
    "part",
    "turns",
    "patience",
    "last_shared",
    "run",
    "waited",
)
#: Estimates to start from, nanoseconds: high, so that no long phase is executed in one piece before
#: its cost is known.
FIRST_COSTS = {
    "event_cost": 1000.0,
    "events_per_entity": 1.0,
    "action_cost": 1000.0,
    "output_cost": 1000.0,
    "settle_cost": 1000.0,
}
#: Arrays whose addresses are words of `control`, and those that each worker has in its own record too.
POINTED = (
    *("state", "leq", "next_time", "block_min", "super_min", "dirty", "touched", "blocks", "ready"),
    *("sync", "workers", "handlers", "params", "tables"),
    *("public", "starts", "order", "rank", "x", "y", "z", "cell", "histogram"),
)
POINTED_BY_WORKERS = ("leq", "next_time", "block_min", "super_min", "dirty", "sync", "control")


class Memory:
    """Owns the arrays and keeps the addresses in `control` and `workers` true.

    Copies of a world lie side by side: `state` (zeros `[N]`) and `control` (zeros `[1]`) may be given.
    """

    def __init__(
        self,
        model: EventModel,
        compiled: CompiledModel,
        threads: int,
        state: np.ndarray | None = None,
        control: np.ndarray | None = None,
    ):
        self.model, self.compiled, self.threads = model, compiled, threads
        self._used, self._experience = threads, dict[int, dict[str, np.ndarray]]()
        n = model.n_entities
        blocks = -(-n // FANOUT)
        supers = -(-blocks // FANOUT)
        self.event = event_dtype(model.payload_words)
        self.lines = self.event.itemsize // HEADER.itemsize
        self.state = aligned_zeros(n, model.entity) if state is None else state
        self.leq = aligned_zeros(n, LEQ)
        self.next_time = aligned_zeros(blocks * FANOUT, np.float64)
        self.block_min = aligned_zeros(supers * FANOUT, np.float64)
        self.super_min = aligned_zeros(-(-supers // FANOUT) * FANOUT, np.float64)
        self.dirty, self.touched = aligned_zeros(blocks, np.int64), aligned_zeros(blocks, np.int64)
        self.blocks, self.ready = aligned_zeros(blocks, np.int32), aligned_zeros(n, np.int32)
        self.sync = aligned_zeros(CLAIMS + threads * STRIDE, np.int64)
        self.workers = aligned_zeros(threads, WORKER)
        self.action_events = aligned_zeros((threads, self.event.itemsize), np.uint8)
        self.control = aligned_zeros(1, CONTROL) if control is None else control
        self.handlers = np.array(compiled.handlers, np.int64)
        self._constants()
        self._boundary_arrays()
        self._point_control(n, blocks, supers)
        self._point_workers()
        self.new_pool(FIRST_SLOTS)

    def _constants(self) -> None:
        spec, model = self.compiled.spec, self.model
        self.params = np.zeros(1, spec.params)
        for name, value in model.params.items():
            self.params[name] = value
        self.tables = np.zeros((max(1, len(model.tables)), 5), np.int64)
        for row, table in zip(self.tables, model.tables.values()):
            row[0] = table.ctypes.data
            row[1 : 1 + table.ndim] = table.shape

    def _boundary_arrays(self) -> None:
        model, n = self.model, self.model.n_entities
        self.public = aligned_zeros(n, model.public_dtype) if model.public else np.zeros(1)
        ranked = n if model.grid else 1
        self.cells = cells_of(model.grid) if model.grid else None
        n_cells = self.cells.nx * self.cells.ny * self.cells.nz if self.cells else 1
        self.parts = self.threads if n >= 4096 else 1
        dimensions = len(model.grid.fields) if model.grid else 0
        self.starts = aligned_zeros(n_cells + 1, np.int64)
        self.order, self.rank = aligned_zeros(ranked, np.int32), aligned_zeros(ranked, np.int32)
        self.x, self.y, self.z = (
            aligned_zeros(ranked if d < dimensions else 1, np.float64) for d in range(3)
        )
        self.cell = aligned_zeros(ranked, np.int32)
        self.histogram = aligned_zeros((self.parts, n_cells), np.int32)
        self.found = aligned_zeros((self.threads, n + 1 if model.grid else 1), np.int64)
        self.near = aligned_zeros((self.threads, 2 * NEAR_BUFFER), np.int64)

    def _point_control(self, n: int, blocks: int, supers: int) -> None:
        control, compiled = self.control[0], self.compiled
        for name in POINTED:
            control[name] = getattr(self, name).ctypes.data
        control["state_stride"] = self.state.itemsize
        control["n_entities"], control["n_agents"] = n, self.model.n_agents
        control["n_blocks"], control["n_supers"] = blocks, supers
        control["threads"], control["parts"] = self.threads, self.parts
        control["lookahead"] = self.model.lookahead
        control["n_cells"] = self.histogram.shape[1]
        if self.cells:
            control["cells_i"], control["cells_f"] = self.cells[:3], self.cells[3:]
        for name in ("act", "observe", "count_cells", "publish"):
            control[name] = getattr(compiled, name)
        for name, cost in FIRST_COSTS.items():
            control[name] = cost
        control["share_ns"], control["clearly_ns"] = SHARE_NS, CLEARLY_NS
        control["spins"] = SPINS if self.threads <= effective_cpus() else SPINS_CROWDED

    def _point_workers(self) -> None:
        workers, index = self.workers, np.arange(self.threads)
        for name in POINTED_BY_WORKERS:
            workers[name] = getattr(self, name).ctypes.data
        workers["action_event"] = self.action_events.ctypes.data + index * self.event.itemsize
        workers["found"] = self.found.ctypes.data + index * self.found.strides[0]
        workers["near"] = self.near.ctypes.data + index * self.near.strides[0]
        workers["index"] = index
        workers["n_entities"], workers["n_kinds"] = self.model.n_entities, len(self.compiled.handlers)
        workers["lines"], workers["lookahead"] = self.lines, self.model.lookahead

    def use_threads(self, count: int) -> None:
        """Prepare for calls with `count` workers, at most `threads`; what was learned with others is kept."""
        control = self.control[0]
        self._experience[self._used] = {name: control[name].copy() for name in EXPERIENCE}
        known = self._experience.get(count, {})
        for name in EXPERIENCE:
            control[name] = known.get(name, 0)
        # Workers sleep, caches are cold: that does not count.
        for name in ("streak", "settled", "left_at"):
            control[name] = 0
        control["parts"] = min(self.parts, count)
        self._used = count

    def share_again(self) -> None:
        """With other numbers of workers than now, try next whether steps are sooner shared."""
        for count, known in self._experience.items():
            if count != self._used:
                known["part"][STEP], known["turns"][STEP], known["patience"][STEP] = TRY_SHARED, 0, PATIENCE

    # -- the pool of events --------------------------------------------------------------------------

    @property
    def slots(self) -> int:
        """Event slots allocated."""
        return len(self.pool) // self.lines

    def new_pool(self, slots: int) -> None:
        """Allocate the pool; its content is not kept."""
        slots = -(-slots // CHUNK) * CHUNK
        earlier, pool = getattr(self, "pool", None), aligned_zeros(slots * self.lines, HEADER)
        self.pool = pool
        self.point_pool()
        del earlier  # not before the engine has left it

    def point_pool(self) -> None:
        """Have the engine use this pool."""
        self.control["pool"] = self.workers["pool"] = self.pool.ctypes.data
        self.workers["slots"] = len(self.pool)

    def load(self, boundary: Boundary, slots: int = 0) -> None:
        """Make a boundary the content of all arrays, in a pool of at least `slots` slots."""
        pending = boundary.pending
        needed = max(slots, len(pending) + FIRST_SLOTS + 2 * CHUNK * self.threads)
        if needed > self.slots:
            self.new_pool(max(needed, 2 * len(pending)))
        self.point_pool()  # an interrupt may have struck between the two
        self.state[:] = boundary.state
        self.leq["emitted"], self.leq["stream"] = boundary.emitted, boundary.stream
        self.leq["gamma"], self.leq["inbox"] = boundary.gamma, -1
        self._fill_pool(pending)
        self._fill_tree()
        self.control["queued_for"] = 0
        self.dirty[:], self.touched[:] = 0, 0
        self.workers["n_free"] = self.workers["chunk_next"] = self.workers["chunk_end"] = 0
        self.sync[FREE_CHUNKS] = 0

    def _fill_pool(self, pending: np.ndarray) -> None:
        """Heaps from events in key order: an entity's first is its root, the others its children."""
        records = self.pool.view(np.uint8).view(self.event)
        records["target"] = -1
        count = len(pending)
        used = records[:count]
        for name in ("time", "seq", "kind", "target", "payload"):
            used[name] = pending[name]
        slot = (np.arange(count) * self.lines).astype(np.int32)
        by_target = np.argsort(pending["target"], kind="stable")
        target, slot = pending["target"][by_target], slot[by_target]
        first = np.ones(count, bool)
        first[1:] = target[1:] != target[:-1]
        followed = np.zeros(count, bool)
        followed[:-1] = ~first[1:]
        following = np.where(followed, np.append(slot[1:], np.int32(-1)) if count else slot, np.int32(-1))
        self.pool["child"][slot] = -1
        self.pool["sibling"][slot] = np.where(first, np.int32(-1), following)
        leq = self.leq
        leq["root"], leq["child"], leq["time"], leq["seq"] = -1, -1, np.inf, 0
        roots = target[first]
        leq["root"][roots], leq["child"][roots] = slot[first], following[first]
        events = pending[by_target][first]
        leq["time"][roots], leq["seq"][roots] = events["time"], events["seq"]
        self.sync[BUMP] = -(-count // CHUNK) * CHUNK * self.lines

    def _fill_tree(self) -> None:
        self.next_time[:], self.block_min[:], self.super_min[:] = np.inf, np.inf, np.inf
        self.next_time[: len(self.leq)] = self.leq["time"]
        blocks = self.next_time.reshape(-1, FANOUT).min(1)
        self.block_min[: len(blocks)] = blocks
        supers = self.block_min.reshape(-1, FANOUT).min(1)
        self.super_min[: len(supers)] = supers

    @property
    def n_pending(self) -> int:
        """How many events are pending."""
        return int(np.count_nonzero(self._records()["target"] >= 0))

    def _records(self) -> np.ndarray:
        """Slots that have ever been used; a free one has a negative target."""
        used = min(int(self.sync[BUMP]), len(self.pool))
        return self.pool[:used].view(np.uint8).view(self.event)

    def count_pending(self) -> int:
        """How many events are pending."""
        used = min(int(self.sync[BUMP]), len(self.pool))
        return int(np.count_nonzero(self.pool[:used].view(np.uint8).view(self.event)["target"] >= 0))

    def pending(self) -> np.ndarray:
        """The pending events in key order."""
        records = self._records()
        records = records[records["target"] >= 0]
        pending = np.zeros(len(records), pending_dtype(self.model.payload_words))
        for name in pending.dtype.names:
            pending[name] = records[name]
        return pending[np.lexsort((pending["seq"], pending["time"]))]


class Checkpoint:
    """A raw copy of a boundary's arrays."""

    ARRAYS = ("state", "leq", "next_time", "block_min", "super_min")
    WORKER = ("n_free", "chunk_next", "chunk_end", "free")

    def __init__(self, memory: Memory, steps: int, buffers: Buffers):
        start = time.perf_counter()
        self.steps = steps
        self._arrays: dict[str, np.ndarray] = {}
        for name in self.ARRAYS:
            source = getattr(memory, name)
            self._arrays[name] = buffers.empty(source.shape, source.dtype)
            np.copyto(self._arrays[name], source)
        self._used = min(int(memory.sync[BUMP]), len(memory.pool))
        self._pool = buffers.empty(len(memory.pool), HEADER)[: self._used]  # of one size, whatever is used
        np.copyto(self._pool, memory.pool[: self._used])
        self._workers = {name: memory.workers[name].copy() for name in self.WORKER}
        self._sync = memory.sync[[BUMP, FREE_CHUNKS]]
        self.cost_s = time.perf_counter() - start

    def restore(self, memory: Memory) -> None:
        """Put everything back; the pool may have grown since. Interrupted, it can be called again."""
        memory.point_pool()
        for name, source in self._arrays.items():
            np.copyto(getattr(memory, name), source)
        memory.pool[: self._used] = self._pool
        memory.pool["target"][self._used :] = -1
        for name, source in self._workers.items():
            memory.workers[name] = source
        memory.sync[[BUMP, FREE_CHUNKS]] = self._sync
        memory.dirty[:], memory.touched[:] = 0, 0
        memory.control["queued_for"] = 0
