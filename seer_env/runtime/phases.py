"""Phases of a step and their items: what workers do once they have claimed some."""

from __future__ import annotations

import numpy as np
from numba import int64

from seer_env.runtime.atomics import FANOUT, array_at, call3, minimum_with, prefetch
from seer_env.runtime.layout import MICRO_SHIFT
from seer_env.runtime.leq import (
    HEADER,
    empty_outbox,
    free_slot,
    inlined,
    kernel,
    lower,
    prefetch_events,
    remove_root,
)
from seer_env.runtime.waiting import clock_ns
from seer_env.runtime.window import (
    block_min_of,
    blocks_of,
    leq_of,
    next_time_of,
    pool_of,
    ready_of,
    settle_block,
    super_min_of,
    sync_of,
)

#: Kinds of phase. RESUME has one item and no work; STOP has none and ends the call.
NOTHING, ACT, SETTLE, EXECUTE, COUNT_CELLS, PUBLISH, OBSERVE, RESUME, STOP = range(9)

#: Items between asking for memory and using it: the queue line first, then what it points to.
LINE_AHEAD, EVENT_AHEAD = 6, 3
#: Events of one entity that a worker executes in one go.
MOST_EVENTS = 64
HEADER_BYTES = HEADER.itemsize


@inlined
def execute_entity(control, worker, worker_address, i):
    """Execute entity i's events of the safe window in key order, those it emits to itself too."""
    leq = leq_of(control)
    pool = pool_of(control)
    handlers = array_at(control.handlers, np.int64)
    sync = sync_of(control)
    queue = leq[i]
    limit, zero, micro = control.window, control.zero, control.micro
    me = control.state + i * control.state_stride
    worker.me = i
    worker.stopped = 0
    # What is left after so many waits for the next window, which is as safe: no entity keeps a worker.
    for _ in range(MOST_EVENTS):
        if not queue.time < limit or queue.root < 0:
            break
        if zero and queue.seq >> MICRO_SHIFT != micro:
            break
        slot = queue.root
        event = pool[slot]
        worker.now, worker.seq, worker.kind = queue.time, queue.seq, int64(event.kind)
        worker.micro = queue.seq >> MICRO_SHIFT
        remove_root(pool, queue)
        call3(handlers[event.kind], me, control.pool + int64(slot) * HEADER_BYTES, worker_address)
        worker.events += 1
        free_slot(pool, worker, sync, slot)
        if worker.stopped:
            break


@inlined
def execute_alone(control, worker, worker_address):
    """A round of one entity: the common one where there is no lookahead.

    The entity leaves the minimum tree before it executes and returns afterwards, so that the vector
    scans of leaving overlap with the handler instead of waiting for its stores.
    """
    i = int64(ready_of(control)[0])
    next_time, block_min, super_min = next_time_of(control), block_min_of(control), super_min_of(control)
    block, parent = i >> 6, i >> 12
    rest = minimum_with(next_time, block * FANOUT, i & 63, np.inf)
    super_min[parent] = minimum_with(block_min, parent * FANOUT, block & 63, rest)
    block_min[block], next_time[i] = rest, np.inf
    worker.direct, worker.far = 1, 0
    execute_entity(control, worker, worker_address, i)
    lower(next_time, block_min, super_min, i, leq_of(control)[i].time)


@kernel
def perform(control, worker, worker_address, kind, first, last):
    """Do the items `first..last-1` of a phase."""
    leq = leq_of(control)
    ready = ready_of(control)
    pool = pool_of(control)
    blocks = blocks_of(control)
    next_time = next_time_of(control)
    states = array_at(control.state, np.uint8)
    worker.direct, worker.far = control.direct, control.far
    if kind == EXECUTE:
        looked = worker.events
        for q in range(first, last):
            if worker.far != 0 and q + LINE_AHEAD < last:
                prefetch(leq, ready[q + LINE_AHEAD])
                prefetch(states, ready[q + EVENT_AHEAD] * control.state_stride)
                prefetch_events(pool, leq, ready[q + EVENT_AHEAD])
            i = int64(ready[q])
            execute_entity(control, worker, worker_address, i)
            next_time[i] = leq[i].time
            if worker.events - looked >= MOST_EVENTS:
                looked = worker.events
                if clock_ns() > control.deadline:
                    break  # the others keep their next times, and wait for the next window too
        empty_outbox(worker)
    elif kind == SETTLE:
        for q in range(first, last):
            settle_block(control, int64(blocks[q]))
    elif kind == ACT:
        worker.notify = 1
        call3(control.act, first, last, worker_address)
        worker.notify = 0
        empty_outbox(worker)
    else:
        perform_boundary(control, worker_address, kind, first, last)


@kernel
def perform_boundary(control, worker_address, kind, first, last):
    """Do items of a phase behind the window: the same under every scheduler."""
    if kind == COUNT_CELLS:
        call3(control.count_cells, first, last, worker_address)
    elif kind == PUBLISH:
        call3(control.publish, first, last, worker_address)
    elif kind == OBSERVE:
        call3(control.observe, first, last, worker_address)
