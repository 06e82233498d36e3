"""Executions that may be undone: saving, executing, undoing, committing. One worker per entity.

Jefferson, "Virtual time", ACM TOPLAS 1985. Rows are saved by copying, before every `interval`-th
execution of an entity; between two saved rows a state is found again by coasting forward (Lin, Preiss,
Loucks and Lazowska, "Selecting the checkpoint interval in Time Warp simulation", PADS 1993). Emission
counters and random streams are saved with every execution, so an event that is executed again emits
under the same keys.
"""

from __future__ import annotations

import numpy as np
from numba import int32, int64

from seer_env.runtime.atomics import array_at, call3, copy_bytes
from seer_env.runtime.layout import MICRO_SHIFT
from seer_env.runtime.leq import SLOTS, earlier, free_slot, inlined, insert, kernel, remove_root
from seer_env.runtime.phases import HEADER_BYTES
from seer_env.runtime.time_warp.layout import (
    COMMITTED,
    EXECUTED,
    entities_of,
    executions_of,
    minima_of,
    times_of,
    warp_of,
)
from seer_env.runtime.time_warp.messages import send
from seer_env.runtime.window import leq_of, pool_of, sync_of

#: Emissions that coasting may make: they have been counted, and are thrown away.
NO_LIMIT = np.int64(1 << 62)


@kernel
def free_rows_of(warp, part):
    """A partition's stack of numbers of free saved rows."""
    return array_at(warp.free_rows + part.index * warp.rows_each * 4, np.int32)


@kernel
def listed_of(warp, part):
    """A partition's list of entities that have executions."""
    return array_at(warp.listed + part.first * 4, np.int32)


@inlined
def show(warp, part, i, queue, stuck):
    """Have the partition's times follow entity i's queue."""
    at = i + part.shift
    time = np.inf if stuck else queue.time
    times_of(warp)[at] = time
    minima = minima_of(warp)
    if time < minima[at >> 6]:
        minima[at >> 6] = time


@inlined
def drop_cancelled(pool, worker, sync, part, queue):
    """Free the cancelled events on top of a heap."""
    while queue.root >= 0 and pool[queue.root].target < 0:
        slot = queue.root
        remove_root(pool, queue)
        free_slot(pool, worker, sync, slot)
        part.dead -= 1


@kernel
def sift(pool, worker, sync, part, queue):
    """Build a heap anew without its cancelled events."""
    if queue.root < 0:
        return
    head = queue.root
    pool[head].child, pool[head].sibling = queue.child, int32(-1)
    queue.root, queue.child, queue.time = int32(-1), int32(-1), np.inf
    while head >= 0:  # a list of trees: the first one's children take its place
        slot, last = head, pool[head].child
        head = pool[slot].sibling
        if last >= 0:
            following, head = head, last
            while pool[last].sibling >= 0:
                last = pool[last].sibling
            pool[last].sibling = following
        if pool[slot].target < 0:
            free_slot(pool, worker, sync, slot)
            part.dead -= 1
        else:
            insert(pool, queue, slot, pool[slot].time, pool[slot].seq)


@kernel
def sift_all(control, worker, part):
    """Free the cancelled events of a partition, wherever they are in its heaps."""
    pool, leq, sync = pool_of(control), leq_of(control), sync_of(control)
    for i in range(part.first, part.last):
        sift(pool, worker, sync, part, leq[i])
    part.dead = 0


@inlined
def run_handler(control, worker, worker_address, i, slot, limit):
    """Call the handler of the event in `slot` on entity i, which may emit up to a limit; collect that."""
    event = pool_of(control)[slot]
    worker.emission_limit = limit
    worker.me, worker.stopped, worker.collected = i, 0, int64(-1)
    worker.now, worker.seq, worker.kind = event.time, event.seq, int64(event.kind)
    worker.micro = event.seq >> MICRO_SHIFT
    me = control.state + i * control.state_stride
    handlers = array_at(control.handlers, np.int64)
    call3(handlers[event.kind], me, control.pool + int64(slot) * HEADER_BYTES, worker_address)


@kernel
def discard_emissions(control, worker):
    """Free what a handler has emitted."""
    pool, sync = pool_of(control), sync_of(control)
    slot = int32(worker.collected)
    while slot >= 0:
        older = pool[slot].sibling
        free_slot(pool, worker, sync, slot)
        worker.emitted -= 1
        slot = older
    worker.collected = -1


# -- executing -----------------------------------------------------------------------------------------


@inlined
def save(warp, part, entity, execution, row):
    """Copy an entity's row, if it is time to; False if no place for it is left."""
    execution.saved = int32(-1)
    if entity.newest >= 0 and entity.unsaved + 1 < warp.interval:
        entity.unsaved += 1
        return True
    if part.free_rows == 0:
        return False
    part.free_rows -= 1
    part.saved += 1
    execution.saved = free_rows_of(warp, part)[part.free_rows]
    copy_bytes(warp.rows + int64(execution.saved) * warp.row_bytes, row, warp.row_bytes)
    entity.unsaved = int32(0)
    return True


@inlined
def execute_first(control, worker, worker_address, part, i):
    """Execute entity i's first event so that it can be undone; False if that must wait for GVT."""
    warp = warp_of(control)
    pool, queue = pool_of(control), leq_of(control)[i]
    entity, slot = entities_of(warp)[i], queue.root
    execution = executions_of(warp)[slot]
    if not save(warp, part, entity, execution, control.state + i * control.state_stride):
        return False
    execution.emitted, execution.stream = int32(queue.emitted), queue.stream
    execution.previous, execution.executed = entity.newest, int32(EXECUTED)
    entity.newest = slot
    if entity.listed == 0:
        entity.listed = int32(1)
        listed_of(warp, part)[part.listed] = int32(i)
        part.listed += 1
    remove_root(pool, queue)
    drop_cancelled(pool, worker, sync_of(control), part, queue)
    run_handler(control, worker, worker_address, i, slot, worker.emitted + warp.most_emissions)
    part.executed += 1
    if worker.stopped:
        execution.sent = int32(-1)
        take_back_breach(control, worker, worker_address, part, i)
        return False
    execution.sent = int32(worker.collected)
    hand_on(control, part, worker.collected, i)
    return True


@kernel
def take_back_breach(control, worker, worker_address, part, i):
    """Undo the execution in which entity i broke a rule: whether it counts is seen when GVT is there."""
    discard_emissions(control, worker)
    if worker.rule != SLOTS:  # for want of slots the step is begun again
        worker.rule = 0
    undo(control, worker, worker_address, part, i, worker.now, worker.seq)
    worker.stopped = 0
    warp = warp_of(control)
    entities_of(warp)[i].stuck = int32(1)
    part.stuck = 1


@inlined
def is_last(pool, entity, event):
    """Whether an event comes after all that its entity has executed."""
    newest = entity.newest
    return newest < 0 or earlier(pool[newest].time, pool[newest].seq, event.time, event.seq)


@inlined
def hand_on(control, part, slot, i):
    """Send the collected emissions, linked from `slot`, of an execution of entity i."""
    warp = warp_of(control)
    pool, entities, leq = pool_of(control), entities_of(warp), leq_of(control)
    executions = executions_of(warp)
    while slot >= 0:
        event, execution = pool[slot], executions[slot]
        older = event.sibling
        execution.chain, execution.executed = older, int32(0)
        target = int64(event.target)
        if target == i:
            insert(pool, leq[i], int32(slot), event.time, event.seq)
        else:
            entity = entities[target]
            if entity.partition == part.index and entity.stuck == 0 and is_last(pool, entity, event):
                insert(pool, leq[target], int32(slot), event.time, event.seq)
                show(warp, part, target, leq[target], False)
            else:
                send(control, part, int64(slot) * 2)
        slot = int64(older)


# -- undoing -------------------------------------------------------------------------------------------


@kernel
def undo(control, worker, worker_address, part, i, time, seq):
    """Undo entity i's executions from the key `(time, seq)` on: cancel what they sent, queue them again."""
    warp = warp_of(control)
    pool, queue = pool_of(control), leq_of(control)[i]
    entity, executions = entities_of(warp)[i], executions_of(warp)
    free_rows, saved, undone = free_rows_of(warp, part), int32(-1), False
    while entity.newest >= 0:
        slot = entity.newest
        if earlier(pool[slot].time, pool[slot].seq, time, seq):
            break
        execution = executions[slot]
        sent = execution.sent
        while sent >= 0:
            older = executions[sent].chain
            send(control, part, int64(sent) * 2 + 1)
            worker.emitted -= 1
            part.cancelled += 1
            sent = older
        queue.emitted, queue.stream = int64(execution.emitted), execution.stream
        saved = execution.saved
        if saved >= 0:
            free_rows[part.free_rows] = saved
            part.free_rows += 1
        entity.newest, execution.executed = execution.previous, int32(0)
        insert(pool, queue, slot, pool[slot].time, pool[slot].seq)
        part.undone += 1
        worker.undone += 1
        undone = True
    if not undone:
        return
    if saved >= 0:  # of the earliest: it was freed, but nobody has taken it
        row = control.state + i * control.state_stride
        copy_bytes(row, warp.rows + int64(saved) * warp.row_bytes, warp.row_bytes)
    find_state(control, worker, worker_address, i, saved < 0)


@kernel
def find_state(control, worker, worker_address, i, coast):
    """Count what entity i has executed since its row was saved; `coast`: and find its state by that."""
    warp = warp_of(control)
    pool, queue = pool_of(control), leq_of(control)[i]
    entity, executions = entities_of(warp)[i], executions_of(warp)
    entity.unsaved = int32(0)
    if entity.newest < 0:
        return
    # An executed event is in no heap: its link may lead forwards.
    slot, later = entity.newest, int32(-1)
    while executions[slot].saved < 0:
        entity.unsaved += 1
        pool[slot].sibling = later
        slot, later = executions[slot].previous, slot
    if not coast:
        return
    pool[slot].sibling = later
    execution = executions[slot]
    row = warp.rows + int64(execution.saved) * warp.row_bytes
    copy_bytes(control.state + i * control.state_stride, row, warp.row_bytes)
    queue.emitted, queue.stream = int64(execution.emitted), execution.stream
    while slot >= 0:
        run_handler(control, worker, worker_address, i, slot, NO_LIMIT)
        discard_emissions(control, worker)
        slot = pool[slot].sibling


# -- committing ----------------------------------------------------------------------------------------


@kernel
def free_executions(control, worker, part, slot):
    """Free the events of a chain of executions, from `slot` back, and the rows saved before them."""
    pool, executions, sync = pool_of(control), executions_of(warp_of(control)), sync_of(control)
    free_rows = free_rows_of(warp_of(control), part)
    while slot >= 0:
        execution = executions[slot]
        if execution.saved >= 0:
            free_rows[part.free_rows] = execution.saved
            part.free_rows += 1
        older = execution.previous
        free_slot(pool, worker, sync, slot)
        slot = older


@kernel
def count_committed(control, worker, entity, slot):
    """Count the executions from `slot` back that have been committed since the last time."""
    executions = executions_of(warp_of(control))
    while slot >= 0 and executions[slot].executed == EXECUTED:
        executions[slot].executed = int32(COMMITTED)
        worker.events += 1
        entity.load += int32(1 - warp_of(control).timed)
        slot = executions[slot].previous


@inlined
def commit_entity(control, worker, part, i, time, seq):
    """Commit entity i's executions before the key `(time, seq)`, and forget all that none will coast over.

    Returns whether some are not committed. If all are, the next one coasts over them, unless the row is to be
    saved before it; then, and where places for rows are scarce, nothing is kept.
    """
    warp = warp_of(control)
    pool, entity, executions = pool_of(control), entities_of(warp)[i], executions_of(warp)
    slot, oldest = entity.newest, int32(-1)
    while slot >= 0 and not earlier(pool[slot].time, pool[slot].seq, time, seq):
        oldest, slot = slot, executions[slot].previous
    count_committed(control, worker, entity, slot)
    scarce = 2 * part.free_rows < warp.rows_each
    if oldest < 0 and (slot < 0 or scarce or entity.unsaved + 1 >= warp.interval):
        forget(control, worker, part, i)
        return False
    kept = oldest if oldest >= 0 else slot
    while executions[kept].saved < 0:
        kept = executions[kept].previous
    slot, executions[kept].previous = executions[kept].previous, int32(-1)
    free_executions(control, worker, part, slot)
    return oldest >= 0


@kernel
def forget(control, worker, part, i):
    """Forget all that entity i has executed, which is committed: its row is saved before the next one."""
    entity = entities_of(warp_of(control))[i]
    free_executions(control, worker, part, entity.newest)
    entity.newest = int32(-1)


@kernel
def commit(control, worker, part):
    """Commit what a partition's entities have executed before GVT."""
    warp = warp_of(control)
    listed, entities = listed_of(warp, part), entities_of(warp)
    kept = int64(0)
    for k in range(part.listed):
        i = int64(listed[k])
        if commit_entity(control, worker, part, i, warp.gvt_time, warp.gvt_seq):
            listed[kept] = int32(i)
            kept += 1
        else:
            entities[i].listed = int32(0)
    part.listed = kept


@kernel
def commit_all(control, worker, part):
    """Commit, where nothing lies beyond GVT, and keep nothing."""
    commit(control, worker, part)
    entities = entities_of(warp_of(control))
    for i in range(part.first, part.last):
        if entities[i].newest >= 0:
            forget(control, worker, part, i)
