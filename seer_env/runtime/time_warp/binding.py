"""Binding entities to partitions: ranges of indices of equal load, so that neighbours stay together."""

from __future__ import annotations

import numpy as np
from numba import int32, int64

from seer_env.runtime.atomics import FANOUT, array_at, minimum_of_block, store
from seer_env.runtime.layout import BUMP, STRIDE
from seer_env.runtime.leq import kernel
from seer_env.runtime.time_warp.history import free_rows_of
from seer_env.runtime.time_warp.layout import (
    REGION,
    blocks_in,
    entities_of,
    executions_of,
    first_block,
    minima_of,
    partitions_of,
    times_of,
    warp_of,
)
from seer_env.runtime.time_warp.messages import inboxes_of
from seer_env.runtime.window import leq_of, workers_of

#: Nanoseconds of an event from which on its time is taken.
TIMED = 1000.0
#: Between steps: events per entity between two looks at how even the load is, and the imbalance put right.
PER_LOOK, UNEVEN = 4, 1.05


@kernel
def bind(control):
    """Bind all entities anew. Nothing may be executed and uncommitted, and no message on its way."""
    warp = warp_of(control)
    entities, partitions, inboxes = entities_of(warp), partitions_of(warp), inboxes_of(warp)
    left = float(control.n_entities)
    for i in range(control.n_entities):
        left += entities[i].load
    first = int64(0)
    for p in range(control.threads):
        share, mine = left / (control.threads - p), 0.0
        last = first
        while last < control.n_entities and (mine + 0.5 * (1 + entities[last].load) < share):
            mine += 1 + entities[last].load
            last += 1
        if p == control.threads - 1:
            last = control.n_entities
        left -= mine
        part = partitions[p]
        part.index, part.first, part.last = p, first, last
        part.shift = (first + REGION - 1) // REGION * REGION + p * REGION - first
        part.listed, part.head, part.tail, part.stuck, part.dead = 0, -1, -1, 0, 0
        store(inboxes, p * STRIDE, int64(-1))
        fill_rows(warp, part)
        fill_times(control, part)
        first = last
    clear_loads(control)


@kernel
def clear_loads(control):
    """Count loads anew: times, if an event is worth two looks at the clock."""
    warp = warp_of(control)
    entities = entities_of(warp)
    warp.timed, warp.loaded, warp.visits = int64(warp.event_cost > TIMED), 0, 0
    for i in range(control.n_entities):
        entities[i].load = int32(0)


@kernel
def fill_rows(warp, part):
    """All of a partition's saved rows are free."""
    free = free_rows_of(warp, part)
    for k in range(warp.rows_each):
        free[k] = int32(part.index * warp.rows_each + warp.rows_each - 1 - k)
    part.free_rows = warp.rows_each


@kernel
def fill_times(control, part):
    """Copy the times of a partition's queues to where they are scanned."""
    warp = warp_of(control)
    entities, times, minima, leq = entities_of(warp), times_of(warp), minima_of(warp), leq_of(control)
    start = first_block(part)
    for group in range(start, start + blocks_in(part), FANOUT):
        for block in range(group, group + FANOUT):
            minima[block] = np.inf
    for block in range(start, start + blocks_in(part)):
        for at in range(block * FANOUT, (block + 1) * FANOUT):
            i = at - part.shift
            times[at] = np.inf
            if i < part.last:
                entities[i].partition, entities[i].stuck = int32(part.index), int32(0)
                times[at] = leq[i].time
        minima[block] = minimum_of_block(times, block * FANOUT)


@kernel
def imbalance(control):
    """Load of the most loaded partition over the mean, since the loads were cleared."""
    warp = warp_of(control)
    entities, partitions = entities_of(warp), partitions_of(warp)
    most, total = 0.0, 0.0
    for p in range(control.threads):
        load = 0.0
        for i in range(partitions[p].first, partitions[p].last):
            load += entities[i].load
        most, total = max(most, load), total + load
    return most * control.threads / max(total, 1.0)


@kernel
def balance(control):
    """Between two steps, when nothing needs undoing: bind entities anew if the load has become uneven."""
    warp = warp_of(control)
    warp.loaded += control.events
    if control.threads == 1 or warp.loaded < PER_LOOK * control.n_entities:
        return
    if imbalance(control) > UNEVEN:
        bind(control)
        warp.bindings += 1
    else:
        clear_loads(control)


@kernel
def prepare(control):
    """Before a step: build what is kept beside the queues if it is not there; clear the counts."""
    warp = warp_of(control)
    if control.queued_for != control.threads:
        control.queued_for = 0
        executions, entities = executions_of(warp), entities_of(warp)
        slots = min(array_at(control.sync, np.int64)[BUMP], workers_of(control)[0].slots)
        for slot in range(slots):
            executions[slot].executed = int32(0)
        for i in range(control.n_entities):
            entities[i].newest, entities[i].listed = int32(-1), int32(0)
        bind(control)
        control.queued_for = control.threads
    else:
        balance(control)
    taken, partitions = array_at(warp.taken, np.int64), partitions_of(warp)
    for p in range(control.threads):
        store(taken, p * STRIDE, int64(0))
        part = partitions[p]
        part.executed, part.undone, part.undone_by_own = 0, 0, 0
        part.stragglers, part.cancelled, part.worked, part.saved = 0, 0, 0, 0
    warp.executed, warp.undone, warp.undone_by_own, warp.stragglers, warp.worked = 0, 0, 0, 0, 0
