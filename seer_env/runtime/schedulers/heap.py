"""The `heap` scheduler: one binary heap over all pending events, on one thread. The yardstick.

The textbook's event loop: take the earliest event, execute it, insert what it emits; its first emission
takes the root's place, which saves a walk. The heap is Williams' (Algorithm 232, CACM 1964), on entries
that hold the key. Calls, pauses, actions and outputs are PROTOCOL.md's, with one worker.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import int64, types

from seer_env.runtime.atomics import array_at, call3, record_at
from seer_env.runtime.compile import c_function, package_fingerprint
from seer_env.runtime.layout import BUMP, CHUNK, CONTROL, MICRO_SHIFT, aligned_zeros
from seer_env.runtime.leq import HEADER, earlier, free_slot, inlined, kernel
from seer_env.runtime.memory import Memory
from seer_env.runtime.phases import ACT, MOST_EVENTS, perform_boundary
from seer_env.runtime.schedulers.compiled import CompiledEngine
from seer_env.runtime.shims import compile_model
from seer_env.runtime.transition import AT_BOUNDARY, AT_SETTLE, AT_WINDOW, offering, transitions
from seer_env.runtime.window import pool_of, sync_of, workers_of
from seer_env.runtime.worker import begin, claim, working

HEADER_BYTES = HEADER.itemsize
ENTRY = np.dtype([("time", "f8"), ("seq", "i8"), ("slot", "i8")])
#: At `control.own`: the address of the entries, of which the root is the first, and how many there are.
HEAP = np.dtype([("entries", "i8"), ("size", "i8")])


@inlined
def heap_of(control):
    """What this scheduler keeps."""
    return record_at(control.own, HEAP)


@inlined
def place(entries, at, time, seq, slot):
    """Write an entry."""
    entry = entries[at]
    entry.time, entry.seq, entry.slot = time, seq, slot


@kernel
def push(heap, time, seq, slot):
    """Insert an event."""
    entries, hole = array_at(heap.entries, ENTRY), heap.size
    heap.size += 1
    while hole > 0:
        parent = (hole - 1) >> 1
        above = entries[parent]
        if not earlier(time, seq, above.time, above.seq):
            break
        place(entries, hole, above.time, above.seq, above.slot)
        hole = parent
    place(entries, hole, time, seq, slot)


@kernel
def replace_root(heap, time, seq, slot):
    """Take the root off and insert an event, in one walk down."""
    entries, size = array_at(heap.entries, ENTRY), heap.size
    hole, child = int64(0), int64(1)
    while child < size:
        below = entries[child]
        if child + 1 < size:
            other = entries[child + 1]
            if earlier(other.time, other.seq, below.time, below.seq):
                child, below = child + 1, other
        if earlier(time, seq, below.time, below.seq):
            break
        place(entries, hole, below.time, below.seq, below.slot)
        hole, child = child, 2 * child + 1
    place(entries, hole, time, seq, slot)


@kernel
def pop(heap):
    """Take the root off."""
    heap.size -= 1
    if heap.size > 0:
        last = array_at(heap.entries, ENTRY)[heap.size]
        replace_root(heap, last.time, last.seq, last.slot)


@kernel
def insert_collected(heap, pool, worker, replacing):
    """Insert what a handler has emitted, the first in the root's place if the root has been executed."""
    slot = worker.collected
    while slot >= 0:
        event = pool[slot]
        following = int64(event.sibling)
        if replacing:
            replace_root(heap, event.time, event.seq, slot)
            replacing = False
        else:
            push(heap, event.time, event.seq, slot)
        slot = following
    if replacing:
        pop(heap)


@kernel
def run_events(control, worker, worker_address):
    """Execute some events in key order; True when none is left before the end of the step."""
    heap, pool, sync = heap_of(control), pool_of(control), sync_of(control)
    entries, handlers = array_at(heap.entries, ENTRY), array_at(control.handlers, np.int64)
    worker.collect, worker.stopped = 1, 0
    for _ in range(MOST_EVENTS):
        root = entries[0]
        if heap.size == 0 or root.time >= control.end:
            return True
        slot = root.slot
        event = pool[slot]
        i, kind = int64(event.target), int64(event.kind)
        worker.me, worker.now, worker.seq, worker.kind = i, root.time, root.seq, kind
        worker.micro, worker.collected = root.seq >> MICRO_SHIFT, -1
        state = control.state + i * control.state_stride
        call3(handlers[kind], state, control.pool + slot * HEADER_BYTES, worker_address)
        worker.events += 1
        insert_collected(heap, pool, worker, True)
        free_slot(pool, worker, sync, slot)
        if worker.stopped:
            break
    return False


@kernel
def perform(control, worker, worker_address, kind, first, last):
    """Do items of a phase: agents that act, or what lies behind the window."""
    if kind == ACT:
        worker.collect, worker.collected = 1, -1
        call3(control.act, first, last, worker_address)
        insert_collected(heap_of(control), pool_of(control), worker, False)
    else:
        perform_boundary(control, worker_address, kind, first, last)


@kernel
def advance(control, worker, worker_address):
    """Some events between the actions and the boundary (`transition.transitions`)."""
    control.stage = AT_BOUNDARY if run_events(control, worker, worker_address) else AT_WINDOW
    control.rounds = worker.events
    return False


work = working("heap", claim, perform, transitions("heap", offering("heap", perform), advance))


@kernel
def fill(control):
    """Make a heap of the pool's events."""
    heap, pool, worker = heap_of(control), pool_of(control), workers_of(control)[0]
    heap.size = 0
    for slot in range(0, min(sync_of(control)[BUMP], worker.slots), worker.lines):
        if pool[slot].target >= 0:
            push(heap, pool[slot].time, pool[slot].seq, int64(slot))
    control.queued_for = 1


def heap_main(index, control_address):
    """C entry point of the worker; -1 begins a step (`worker.worker_main`)."""
    control = record_at(control_address, CONTROL)
    if index < 0:
        if control.stage < AT_SETTLE and control.queued_for == 0:
            fill(control)
        begin(control)
    work(control, workers_of(control)[0], control.workers)


@lru_cache(maxsize=1)
def _worker():
    """The compiled worker, kept for the life of the process."""
    return c_function(heap_main, types.void(types.int64, types.int64), package_fingerprint())


class HeapMemory(Memory):
    """The arrays of a world whose pending events are in one heap."""

    def __init__(self, model, compiled):
        self.heap = aligned_zeros(1, HEAP)
        super().__init__(model, compiled, threads=1)
        self.control["own"] = self.heap.ctypes.data

    def new_pool(self, slots: int) -> None:
        """A pool, and a heap with room for all its events."""
        self.entries = np.zeros(slots + CHUNK, ENTRY)
        super().new_pool(slots)

    def point_pool(self) -> None:
        """Have the engine use this pool and this heap."""
        self.heap["entries"] = self.entries.ctypes.data
        super().point_pool()


class HeapEngine(CompiledEngine):
    """Executes events one by one in key order."""

    def _worker_function(self) -> int:
        return int(_worker().address)

    def _new_memory(self) -> Memory:
        return HeapMemory(self.model, compile_model(self.model))
