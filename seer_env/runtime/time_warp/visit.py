"""What a worker does with a partition: work off messages, then execute ahead; and commit behind GVT."""

from __future__ import annotations

import numpy as np
from numba import int32, int64

from seer_env.runtime.atomics import (
    FANOUT,
    add,
    array_at,
    load,
    lowest_bit,
    mask_below,
    minimum_of_block,
    prefetch,
)
from seer_env.runtime.layout import MICRO_SHIFT
from seer_env.runtime.leq import SLOTS, earlier, inlined, insert, kernel, record_breach
from seer_env.runtime.time_warp.history import (
    commit,
    commit_all,
    drop_cancelled,
    execute_first,
    is_last,
    show,
    sift_all,
    undo,
)
from seer_env.runtime.time_warp.layout import (
    ARRIVED,
    VISITED,
    blocks_in,
    entities_of,
    executions_of,
    first_block,
    minima_of,
    times_of,
    visiting_of,
    warp_of,
)
from seer_env.runtime.time_warp.messages import empty_inbox, following
from seer_env.runtime.waiting import clock_ns
from seer_env.runtime.window import leq_of, pool_of, sync_of

#: Events of an entity that a worker executes in one go.
MOST_EVENTS = 64
#: Cancelled events in a partition's heaps before they are looked for.
MOST_DEAD = 4096
#: A load is counted in units of 2^6 nanoseconds. An entity's turn counts as at most so many events of mean
#: cost: a core may have been taken away.
LOAD_SHIFT, CREDIBLE = 6, 256.0
NO_MICRO = np.int64(-1)


# -- messages ------------------------------------------------------------------------------------------


@kernel
def work_off(control, worker, worker_address, part):
    """Work off the messages that wait, and those that this makes."""
    while part.head >= 0:
        message = part.head
        part.head = following(control, message)
        receive(control, worker, worker_address, part, message)


@kernel
def receive(control, worker, worker_address, part, message):
    """Queue an event or cancel one, and undo what that makes wrong."""
    warp = warp_of(control)
    pool, slot = pool_of(control), int32(message >> 1)
    event = pool[slot]
    i = int64(event.target)
    queue, entity = leq_of(control)[i], entities_of(warp)[i]
    if message & 1:
        if executions_of(warp)[slot].executed:
            undo(control, worker, worker_address, part, i, event.time, event.seq)
        event.target = int32(-1)
        part.dead += 1
        drop_cancelled(pool, worker, sync_of(control), part, queue)
    else:
        if not is_last(pool, entity, event):
            part.stragglers += 1
            undo(control, worker, worker_address, part, i, event.time, event.seq)
        insert(pool, queue, slot, event.time, event.seq)
    entity.stuck = int32(0)
    show(warp, part, i, queue, False)


@kernel
def work_off_inbox(control, worker, worker_address, part):
    """Work off what other partitions have sent."""
    empty_inbox(control, part)
    work_off(control, worker, worker_address, part)


@inlined
def work_off_own(control, worker, worker_address, part):
    """Work off what the partition's entities have sent each other against the order of time."""
    before = part.undone
    work_off(control, worker, worker_address, part)
    part.undone_by_own += part.undone - before


# -- executing -----------------------------------------------------------------------------------------


@inlined
def execute_entity(control, worker, worker_address, part, i, limit, micro):
    """Execute entity i's events before `limit`; with a micro-step, only those of that one."""
    warp = warp_of(control)
    queue, entity = leq_of(control)[i], entities_of(warp)[i]
    for _ in range(MOST_EVENTS):
        if queue.root < 0 or not queue.time < limit or entity.stuck:
            break
        if micro >= 0 and queue.seq >> MICRO_SHIFT != micro:
            break
        if not execute_first(control, worker, worker_address, part, i):
            break
        if part.head >= 0:
            work_off_own(control, worker, worker_address, part)
    if part.head >= 0:  # a breach that was taken back may have cancelled something
        work_off_own(control, worker, worker_address, part)
    show(warp, part, i, queue, entity.stuck != 0)


@kernel
def earliest(warp, part):
    """The least next time of a partition; may be too low where something was cancelled."""
    minima, time = minima_of(warp), np.inf
    start = first_block(part)
    for block in range(start, start + blocks_in(part), FANOUT):
        time = min(time, minimum_of_block(minima, block))
    return time


@kernel
def first_micro(control, part, time):
    """The least micro-step of a partition's events at a time; -1 if there is none."""
    warp = warp_of(control)
    times, minima, leq = times_of(warp), minima_of(warp), leq_of(control)
    beyond, found = np.nextafter(time, np.inf), int64(-1)
    start = first_block(part)
    for group in range(start, start + blocks_in(part), FANOUT):
        blocks = mask_below(minima, group, beyond)
        while blocks != 0:
            block = group + lowest_bit(blocks)
            blocks &= blocks - 1
            entities = mask_below(times, block * FANOUT, beyond)
            while entities != 0:
                i = block * FANOUT + lowest_bit(entities) - part.shift
                entities &= entities - 1
                micro = leq[i].seq >> MICRO_SHIFT
                if found < 0 or micro < found:
                    found = micro
    return found


@kernel
def bring_near(control, first, entities):
    """Ask for the memory of entities `first + k` of the bits k: first their lines, then their events."""
    warp = warp_of(control)
    leq, pool, states = leq_of(control), pool_of(control), array_at(control.state, np.uint8)
    bits = entities
    while bits != 0:
        i = first + lowest_bit(bits)
        bits &= bits - 1
        prefetch(leq, i)
        prefetch(states, i * control.state_stride)
        prefetch(entities_of(warp), i)
    bits = entities
    while bits != 0:
        root = leq[first + lowest_bit(bits)].root
        bits &= bits - 1
        if root >= 0:
            prefetch(pool, root)
            prefetch(executions_of(warp), root)


@kernel
def sweep(control, worker, worker_address, part, limit, micro, beyond):
    """Visit the entities that have events before `limit`, in index order; `beyond`: while others work."""
    warp = warp_of(control)
    times, minima = times_of(warp), minima_of(warp)
    start = first_block(part)
    for group in range(start, start + blocks_in(part), FANOUT):
        blocks = mask_below(minima, group, limit)
        while blocks != 0:
            block = group + lowest_bit(blocks)
            blocks &= blocks - 1
            entities = mask_below(times, block * FANOUT, limit)
            if control.far:
                bring_near(control, block * FANOUT - part.shift, entities)
            while entities != 0:
                i = block * FANOUT + lowest_bit(entities) - part.shift
                entities &= entities - 1
                begun = clock_ns() if warp.timed else int64(0)
                execute_entity(control, worker, worker_address, part, i, limit, micro)
                if warp.timed:
                    spent = min(clock_ns() - begun, int64(CREDIBLE * warp.event_cost))
                    entities_of(warp)[i].load += int32(spent >> LOAD_SHIFT)
                if worker.rule != 0 or part.free_rows == 0:
                    return
            minima[block] = minimum_of_block(times, block * FANOUT)
            if clock_ns() > control.deadline or (beyond and not others_under_way(control)):
                return


@inlined
def others_under_way(control):
    """Whether all partitions are being visited, and some have not reached the horizon."""
    visiting = visiting_of(warp_of(control))
    return load(visiting, VISITED) == control.threads and load(visiting, ARRIVED) < control.threads


@kernel
def visit(control, worker, worker_address, part):
    """Commit what GVT has passed, then execute ahead: to the horizon, or as much as a visit may.

    Who is there before the others goes on, to `reach` at most, as it would only wait for them.
    """
    started = clock_ns()
    warp = warp_of(control)
    commit(control, worker, part)
    if part.dead > MOST_DEAD:
        sift_all(control, worker, part)
    if part.free_rows == 0:
        record_breach(worker, SLOTS, int64(-1), 0.0, int64(0))
    until = part.executed + warp.quota
    horizon, beyond = warp.horizon, False
    while worker.rule == 0:
        work_off_inbox(control, worker, worker_address, part)
        start = earliest(warp, part)
        if not beyond and not start < horizon:
            add(visiting_of(warp), ARRIVED, int64(1))
            horizon, beyond = warp.reach, True
        if not start < horizon or part.executed >= until or part.free_rows == 0:
            break
        if beyond and not others_under_way(control):
            break
        limit, micro = min(start + warp.window, horizon), NO_MICRO
        if limit <= start:
            limit, micro = np.nextafter(start, np.inf), first_micro(control, part, start)
        sweep(control, worker, worker_address, part, limit, micro, beyond)
        if clock_ns() > control.deadline:
            break
    if not beyond:
        add(visiting_of(warp), ARRIVED, int64(1))
    find_least(control, part)
    part.worked += clock_ns() - started


# -- what GVT is made of -------------------------------------------------------------------------------


@kernel
def find_least(control, part):
    """Note the least key of a partition's events that are not executed."""
    warp = warp_of(control)
    times, minima = times_of(warp), minima_of(warp)
    part.least_time, part.least_seq, part.least_entity = np.inf, int64(-1), int64(-1)
    start = first_block(part)
    for group in range(start, start + blocks_in(part), FANOUT):
        blocks = mask_below(minima, group, np.nextafter(part.least_time, np.inf))
        while blocks != 0:
            block = group + lowest_bit(blocks)
            blocks &= blocks - 1
            if not minima[block] <= part.least_time:
                continue
            minima[block] = minimum_of_block(times, block * FANOUT)
            if not minima[block] <= part.least_time:
                continue
            entities = mask_below(times, block * FANOUT, np.nextafter(minima[block], np.inf))
            while entities != 0:
                note(control, part, block * FANOUT + lowest_bit(entities) - part.shift)
                entities &= entities - 1
    if part.stuck:
        note_stuck(control, part)


@inlined
def note(control, part, i):
    """Note entity i's first event if it is the earliest so far."""
    queue = leq_of(control)[i]
    if queue.root >= 0 and (
        part.least_entity < 0 or earlier(queue.time, queue.seq, part.least_time, part.least_seq)
    ):
        part.least_time, part.least_seq, part.least_entity = queue.time, queue.seq, i


@kernel
def note_stuck(control, part):
    """The events of stuck entities count too."""
    entities = entities_of(warp_of(control))
    part.stuck = 0
    for i in range(part.first, part.last):
        if entities[i].stuck:
            part.stuck = 1
            note(control, part, i)


@kernel
def settle(control, worker, worker_address, part):
    """At the end of a step: everything executed is committed, and every message received."""
    work_off_inbox(control, worker, worker_address, part)
    commit_all(control, worker, part)
    if part.dead > 0:
        sift_all(control, worker, part)
