"""A window of the global queue: putting its events in order, and taking them.

`global_queue.md` says why every event is executed once, and an entity's in key order.
"""

from __future__ import annotations

import numpy as np
from numba import int32, int64

from seer_env.runtime.atomics import add, array_at, call3, compare_and_swap, load, prefetch, store
from seer_env.runtime.layout import LEQ, MICRO_SHIFT
from seer_env.runtime.leq import HEADER, earlier, free_slot, inlined, insert, kernel, remove_root
from seer_env.runtime.phases import MOST_EVENTS
from seer_env.runtime.schedulers.calendar_queue import CUT, NEVER, RUN_NEXT, buckets_of, push_day
from seer_env.runtime.waiting import clock_ns
from seer_env.runtime.window import leq_of, pool_of

HEADER_BYTES = HEADER.itemsize
#: Bits of a taker's number in an owner word: `window << TAKER_BITS | taker`.
TAKER_BITS = 11
#: Events between making an entity one's own, which asks for its memory, and executing; 2^n - 1.
AHEAD = 7


# -- putting a window in order -----------------------------------------------------------------------------


@inlined
def in_window(control, event):
    """Whether an event belongs to the current window."""
    return event.time < control.window and (not control.zero or event.seq >> MICRO_SHIFT == control.micro)


@kernel
def count_range(control, calendar, first, last):
    """Events of the window on days `first..last-1`."""
    pool, buckets = pool_of(control), buckets_of(calendar)
    count = int64(0)
    for day in range(first, last):
        slot = buckets[day & (calendar.days - 1)]
        while slot >= 0:
            count += int64(in_window(control, pool[slot]))
            slot = int64(pool[slot].sibling)
    return count


@kernel
def order_day(control, calendar, queue, day, at):
    """Move a day's events of the window from its stack to the run, in key order from `at` on."""
    pool, buckets = pool_of(control), buckets_of(calendar)
    run_slot, run_target = array_at(calendar.run_slot, np.int32), array_at(calendar.run_target, np.int32)
    bucket = day & (calendar.days - 1)
    slot, kept = buckets[bucket], int64(-1)
    while slot >= 0:
        event = pool[slot]
        following = int64(event.sibling)
        if in_window(control, event):
            insert(pool, queue, int32(slot), event.time, event.seq)
        else:
            event.sibling = int32(kept)
            kept = slot
        slot = following
    buckets[bucket] = kept
    while queue.root >= 0:
        root = queue.root
        remove_root(pool, queue)
        run_slot[at], run_target[at] = root, pool[root].target
        at += 1
    return at


@kernel
def order_range(control, calendar, worker, number, first, last):
    """Put days `first..last-1` of the calendar in order, as range `number` of the run."""
    ranges, words = array_at(calendar.ranges, np.int64), array_at(calendar.words, np.int64)
    buckets, queue = buckets_of(calendar), array_at(calendar.queues, LEQ)[2 * worker.index]
    queue.root, queue.time = int32(-1), np.inf
    count = count_range(control, calendar, first, last)
    at = add(words, RUN_NEXT, count)
    ranges[2 * number], ranges[2 * number + 1] = at, count
    for day in range(first, last):
        if buckets[day & (calendar.days - 1)] >= 0:
            at = order_day(control, calendar, queue, day, at)


# -- taking events -----------------------------------------------------------------------------------------


@inlined
def own(calendar, worker, target, taker):
    """Whether this taker has the entity in this window: now, or since an earlier event."""
    owner = array_at(calendar.owner, np.int64)
    token = calendar.number << TAKER_BITS | taker
    seen = load(owner, target)
    if seen >> TAKER_BITS == calendar.number:
        return seen == token
    owned = compare_and_swap(owner, target, seen, token) == seen
    worker.lost_claims += int64(not owned)
    return owned


@kernel
def execute(control, calendar, worker, worker_address, private, slot):
    """Execute an event, and hand on what it emits: to the queue, or within the window to oneself."""
    pool, handlers = pool_of(control), array_at(control.handlers, np.int64)
    event = pool[slot]
    i, kind = int64(event.target), int64(event.kind)
    worker.me, worker.now, worker.seq, worker.kind = i, event.time, event.seq, kind
    worker.micro, worker.collected = event.seq >> MICRO_SHIFT, -1
    state = control.state + i * control.state_stride
    call3(handlers[kind], state, control.pool + slot * HEADER_BYTES, worker_address)
    worker.events += 1
    free_slot(pool, worker, array_at(control.sync, np.int64), int32(slot))
    hand_on(control, calendar, worker, private)


@inlined
def hand_on(control, calendar, worker, private):
    """Give collected emissions to the queue, but for those of the window, which are the executor's own."""
    pool = pool_of(control)
    slot = worker.collected
    while slot >= 0:
        event = pool[slot]
        following = int64(event.sibling)
        if in_window(control, event):
            insert(pool, private, int32(slot), event.time, event.seq)
        else:
            push_day(control, calendar, slot)
        slot = following


@kernel
def execute_private(control, calendar, worker, worker_address, private, time, seq):
    """Execute one's own emissions that come before a key; False if time is up or a rule was broken."""
    pool = pool_of(control)
    while private.root >= 0 and earlier(private.time, private.seq, time, seq):
        slot = int64(private.root)
        remove_root(pool, private)
        execute(control, calendar, worker, worker_address, private, slot)
        if not may_go_on(control, calendar, worker):
            return False
    return True


@inlined
def may_go_on(control, calendar, worker):
    """Whether a taker goes on: no rule is broken and, every so many events, its time is not up."""
    if worker.stopped:
        return False
    until = calendar.until if control.direct else control.deadline
    return worker.events % MOST_EVENTS != 0 or clock_ns() <= until


@inlined
def place_of(number, k):
    """A word that grows along a walk: by ranges, whose places in the run are in no order, then by `k`."""
    return number << 32 | k


@kernel
def take_range(control, calendar, worker, worker_address, taker, private, number):
    """Execute a range's events of entities that nobody else has; -1, or the `place_of` the event before which
    the taker stopped."""
    pool, leq = pool_of(control), leq_of(control)
    run_slot, run_target = array_at(calendar.run_slot, np.int32), array_at(calendar.run_target, np.int32)
    ranges = array_at(calendar.ranges, np.int64)
    first, last = ranges[2 * number], ranges[2 * number] + ranges[2 * number + 1]
    mine = int64(0)  # a bit for each of the next events
    for ahead in range(first, last + AHEAD):
        if ahead < last:
            bit = int64(1) << (ahead & AHEAD)
            mine &= ~bit
            if control.direct or own(calendar, worker, int64(run_target[ahead]), taker):
                mine |= bit
                prefetch(pool, run_slot[ahead])
                prefetch(leq, run_target[ahead])
        k = ahead - AHEAD
        if k < first or mine >> (k & AHEAD) & 1 == 0:
            continue
        slot = int64(run_slot[k])
        if private.root >= 0:
            time, seq = pool[slot].time, pool[slot].seq
            if not execute_private(control, calendar, worker, worker_address, private, time, seq):
                return place_of(number, k)
        execute(control, calendar, worker, worker_address, private, slot)
        if not may_go_on(control, calendar, worker):
            return place_of(number, k + 1)
    return int64(-1)


@kernel
def take(control, calendar, worker, worker_address, taker):
    """Walk over the window's events in key order and execute those of entities that nobody else has."""
    private = array_at(calendar.queues, LEQ)[2 * worker.index + 1]
    private.root, private.time = int32(-1), np.inf
    worker.collect, worker.stopped = 1, 0
    stopped = int64(-1)
    for number in range(calendar.n_ranges):
        stopped = take_range(control, calendar, worker, worker_address, taker, private, number)
        if stopped >= 0:
            break
    if stopped < 0 and not execute_private(
        control, calendar, worker, worker_address, private, np.inf, int64(0)
    ):
        stopped = NEVER
    worker.collect = 0
    if stopped >= 0:
        stop(control, calendar, taker, private, stopped)


@kernel
def stop(control, calendar, taker, private, at):
    """Leave the rest of the window to the next: note where, and give one's own events to the queue."""
    array_at(calendar.cut_at, np.int64)[taker] = at
    store(array_at(calendar.words, np.int64), CUT, int64(1))
    pool = pool_of(control)
    while private.root >= 0:
        slot = int64(private.root)
        remove_root(pool, private)
        push_day(control, calendar, slot)


@kernel
def put_back(control, calendar):
    """After a window that was cut short: what was not executed returns to the queue."""
    words, owner = array_at(calendar.words, np.int64), array_at(calendar.owner, np.int64)
    if words[CUT] == 0:
        return
    words[CUT] = 0
    run_slot, run_target = array_at(calendar.run_slot, np.int32), array_at(calendar.run_target, np.int32)
    ranges, cut_at = array_at(calendar.ranges, np.int64), array_at(calendar.cut_at, np.int64)
    direct, control.direct = control.direct, 1
    for number in range(calendar.n_ranges):
        for k in range(ranges[2 * number], ranges[2 * number] + ranges[2 * number + 1]):
            token = owner[run_target[k]]
            owned = token >> TAKER_BITS == calendar.number
            taker = token & ((1 << TAKER_BITS) - 1) if owned else int64(-1)
            if direct:
                taker = int64(0)
            if taker < 0 or place_of(number, k) >= cut_at[taker]:
                push_day(control, calendar, int64(run_slot[k]))
    control.direct = direct
    for taker in range(control.threads):
        cut_at[taker] = NEVER
