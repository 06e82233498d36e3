"""The `nbse` scheduler: one global non-blocking queue from which all workers take.

After Ianni, Marotta, Cingolani, Pellegrini and Quaglia, "The ultimate share-everything PDES system",
SIGSIM-PADS 2018, in conservative safe windows. `global_queue.md` holds the protocol.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import int32, int64, types

from seer_env.runtime.atomics import add, array_at, call3, compare_and_swap, load, prefetch, record_at, store
from seer_env.runtime.compile import c_function, package_fingerprint
from seer_env.runtime.layout import ALIGNMENT, CONTROL, LEQ, MICRO_SHIFT, aligned_zeros
from seer_env.runtime.leq import HEADER, earlier, free_slot, inlined, insert, kernel, remove_root
from seer_env.runtime.memory import Memory
from seer_env.runtime.phases import ACT, EXECUTE, MOST_EVENTS, SETTLE, perform_boundary
from seer_env.runtime.rounds import LOOK_NS, ROUNDS_PER_LOOK
from seer_env.runtime.schedulers.calendar_queue import (
    CALENDAR,
    CALENDAR_WORDS,
    CUT,
    NEVER,
    RUN_NEXT,
    buckets_of,
    build,
    day_of,
    earliest_of_day,
    first_day,
    first_density,
    keep_density,
    push_day,
)
from seer_env.runtime.schedulers.compiled import CompiledEngine
from seer_env.runtime.shims import compile_model
from seer_env.runtime.transition import (
    AT_BOUNDARY,
    AT_EXECUTED,
    AT_SETTLE,
    AT_SETTLED,
    AT_WINDOW,
    moving_average,
    offering,
    remember,
    share,
    totals,
    transitions,
    worth_sharing,
)
from seer_env.runtime.waiting import clock_ns
from seer_env.runtime.window import leq_of, pool_of, workers_of
from seer_env.runtime.worker import WORKER_BYTES, begin, claim, working

HEADER_BYTES = HEADER.itemsize
#: Ranges of a window's days per worker: what one worker puts in order at once.
RANGES = 4
#: Bits of a taker's number in an owner word: `window << TAKER_BITS | taker`.
TAKER_BITS = 11
#: Windows with fewer events than this are not timed: reading the clock would cost too much of them.
TIMED = 16.0
#: Events between asking for memory and using it.
AHEAD = 4


@kernel
def calendar_of(control):
    """What this scheduler keeps."""
    return record_at(control.own, CALENDAR)


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
def own(calendar, target, taker):
    """Whether this taker has the entity in this window: now, or since an earlier event."""
    owner = array_at(calendar.owner, np.int64)
    token = calendar.number << TAKER_BITS | taker
    seen = load(owner, target)
    if seen >> TAKER_BITS == calendar.number:
        return seen == token
    return compare_and_swap(owner, target, seen, token) == seen


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
        if not may_go_on(control, worker):
            return False
    return True


@inlined
def may_go_on(control, worker):
    """Whether a taker goes on: no rule is broken and, every so many events, the deadline has not passed."""
    if worker.stopped:
        return False
    return worker.events % MOST_EVENTS != 0 or clock_ns() <= control.deadline


@kernel
def take_range(control, calendar, worker, worker_address, taker, private, number):
    """Execute a range's events of entities that nobody else has; -1, or the place in the run of the event
    before which the taker stopped."""
    pool, leq = pool_of(control), leq_of(control)
    run_slot, run_target = array_at(calendar.run_slot, np.int32), array_at(calendar.run_target, np.int32)
    ranges = array_at(calendar.ranges, np.int64)
    first, last = ranges[2 * number], ranges[2 * number] + ranges[2 * number + 1]
    for k in range(first, last):
        if k + AHEAD < last:
            prefetch(pool, run_slot[k + AHEAD])
            prefetch(leq, run_target[k + AHEAD])
        if not (control.direct or own(calendar, int64(run_target[k]), taker)):
            continue
        slot = int64(run_slot[k])
        if private.root >= 0:
            time, seq = pool[slot].time, pool[slot].seq
            if not execute_private(control, calendar, worker, worker_address, private, time, seq):
                return k
        execute(control, calendar, worker, worker_address, private, slot)
        if not may_go_on(control, worker):
            return k + 1
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
    cut_at = array_at(calendar.cut_at, np.int64)
    direct = control.direct
    for k in range(words[RUN_NEXT]):
        token = owner[run_target[k]]
        taker = token & ((1 << TAKER_BITS) - 1) if token >> TAKER_BITS == calendar.number else int64(-1)
        if direct:
            taker = int64(0)
        if taker < 0 or k >= cut_at[taker]:
            control.direct = 1
            push_day(control, calendar, int64(run_slot[k]))
    control.direct = direct
    for taker in range(control.threads):
        cut_at[taker] = NEVER


@kernel
def perform(control, worker, worker_address, kind, first, last):
    """Do items of a phase: ranges of days, takers, agents that act, or what lies behind the window."""
    calendar = calendar_of(control)
    if kind == SETTLE:
        for number in range(first, last):
            start = calendar.base + number * calendar.grain
            end = min(start + calendar.grain, calendar.base + calendar.window_days)
            order_range(control, calendar, worker, number, start, end)
    elif kind == EXECUTE:
        for taker in range(first, last):
            take(control, calendar, worker, worker_address, taker)
    elif kind == ACT:
        worker.collect, worker.collected = 1, -1
        call3(control.act, first, last, worker_address)
        worker.collect = 0
        slot = worker.collected
        while slot >= 0:
            following = int64(pool_of(control)[slot].sibling)
            push_day(control, calendar, slot)
            slot = following
    else:
        perform_boundary(control, worker_address, kind, first, last)


# -- windows -----------------------------------------------------------------------------------------------


@kernel
def open_window(control, calendar):
    """Open the next safe window, as `window.open_window` does; False when the step is drained."""
    if not first_day(control, calendar, day_of(calendar, control.end)):
        return False
    earliest, micro = earliest_of_day(control, calendar)
    if earliest >= control.end:
        return False
    control.zero, control.window = 0, min(earliest + control.lookahead, control.end)
    if control.window <= earliest:
        control.zero, control.window, control.micro = 1, np.nextafter(earliest, np.inf), micro
    calendar.window_days = day_of(calendar, control.window) - calendar.base + 1
    calendar.number += 1
    array_at(calendar.words, np.int64)[RUN_NEXT] = 0
    control.rounds += 1
    return True


@kernel
def close_window(control, calendar, walls, elapsed, events):
    """Learn what a window holds and costs, and give back what it has left."""
    put_back(control, calendar)
    if events > 0 and elapsed > 0.0:
        remember(*walls, EXECUTE, events, elapsed, events)
    calendar.expected = 0.75 * calendar.expected + 0.25 * events


@kernel
def run_window(control, calendar, worker, worker_address):
    """Execute a window too small to share: one range, one taker."""
    control.direct, calendar.n_ranges, calendar.grain = 1, 1, calendar.window_days
    timed = calendar.expected >= TIMED
    events, started = worker.events, clock_ns() if timed else int64(0)
    perform(control, worker, worker_address, SETTLE, int64(0), int64(1))
    perform(control, worker, worker_address, EXECUTE, int64(0), int64(1))
    elapsed = float(clock_ns() - started) if timed else 0.0
    walls = control.direct_ns, control.direct_units
    close_window(control, calendar, walls, elapsed, worker.events - events)


@kernel
def next_windows(control, calendar, worker, worker_address):
    """Windows too small to share, one after the other; True when one was published."""
    started, events = clock_ns(), worker.events
    looked, before = events, totals(control)[0] - events
    for _ in range(ROUNDS_PER_LOOK):
        if not open_window(control, calendar):
            control.stage = AT_BOUNDARY
            break
        expected = max(int64(1), int64(calendar.expected))
        if control.threads > 1 and worth_sharing(control, EXECUTE, expected, control.event_cost):
            control.stage, calendar.started = AT_SETTLED, clock_ns()
            control.shared_rounds += 1
            calendar.grain = max(int64(1), -(-calendar.window_days // (RANGES * control.threads)))
            calendar.n_ranges = -(-calendar.window_days // calendar.grain)
            share(control, SETTLE, calendar.n_ranges, expected * control.event_cost, int64(1))
            return True
        run_window(control, calendar, worker, worker_address)
        if worker.rule != 0:
            break
        if worker.events - looked >= MOST_EVENTS:
            looked = worker.events
            keep_density(control, calendar, before + worker.events)
            if clock_ns() - started > LOOK_NS:
                break
    elapsed = float(clock_ns() - started)
    control.event_cost = moving_average(control.event_cost, elapsed, worker.events - events)
    return False


@kernel
def advance(control, worker, worker_address):
    """What this scheduler does alone between the actions and the boundary (`transition.transitions`)."""
    calendar = calendar_of(control)
    if control.stage == AT_WINDOW:
        return next_windows(control, calendar, worker, worker_address)
    if control.stage == AT_SETTLED:
        control.stage = AT_EXECUTED
        expected = max(1.0, calendar.expected) * control.event_cost
        share(control, EXECUTE, control.threads, expected, int64(1))
        return True
    if control.stage == AT_EXECUTED:
        events = totals(control)[0]
        elapsed = float(clock_ns() - calendar.started)
        walls = control.shared_ns, control.shared_units
        close_window(control, calendar, walls, elapsed, events - control.events_before)
        keep_density(control, calendar, events)
    control.stage = AT_WINDOW
    return False


# -- workers -----------------------------------------------------------------------------------------------

work = working("nbse", claim, perform, transitions("nbse", offering("nbse", perform), advance))


def global_queue_main(index, control_address):
    """C entry point of worker `index`; -1 begins a step as worker 0 (`worker.worker_main`)."""
    control = record_at(control_address, CONTROL)
    me = max(index, int64(0))
    worker_address = control.workers + me * WORKER_BYTES
    if index < 0:
        calendar = calendar_of(control)
        calendar.measured_events -= control.events
        if control.stage < AT_SETTLE and control.queued_for != control.threads:
            build(control, calendar, first_density(control))
            calendar.measured_events, calendar.measured_at = 0, control.clock
        begin(control)
    work(control, workers_of(control)[me], worker_address)


@lru_cache(maxsize=1)
def _worker():
    """The compiled worker, kept for the life of the process."""
    return c_function(global_queue_main, types.void(types.int64, types.int64), package_fingerprint())


# -- the engine --------------------------------------------------------------------------------------------


class CalendarMemory(Memory):
    """The arrays of a world whose pending events are in one calendar."""

    def __init__(self, model, compiled, threads: int):
        self.calendar, self.calendar_words = (
            aligned_zeros(1, CALENDAR),
            aligned_zeros(CALENDAR_WORDS, np.int64),
        )
        self.owner = aligned_zeros(model.n_entities, np.int64)
        self.ranges = aligned_zeros((RANGES * threads + 1, 2), np.int64)
        self.queues = aligned_zeros((threads, 2), LEQ)
        self.cut_at = aligned_zeros(threads, np.int64)
        self.cut_at[:] = NEVER
        for name in ("owner", "ranges", "queues", "cut_at"):
            self.calendar[name] = getattr(self, name).ctypes.data
        self.calendar["words"] = self.calendar_words.ctypes.data
        super().__init__(model, compiled, threads)
        self.control["own"] = self.calendar.ctypes.data

    def new_pool(self, slots: int) -> None:
        """A pool, a run that holds all its events, and a year with a day for each."""
        slots += ALIGNMENT
        self.buckets = aligned_zeros(1 << int(2 * slots).bit_length(), np.int64)
        self.run = aligned_zeros((2, -(-slots // ALIGNMENT) * ALIGNMENT), np.int32)
        super().new_pool(slots - ALIGNMENT)

    def point_pool(self) -> None:
        """Have the engine use this pool, this run and this year."""
        self.calendar["buckets"], self.calendar["days"] = self.buckets.ctypes.data, len(self.buckets)
        self.calendar["run_slot"], self.calendar["run_target"] = (row.ctypes.data for row in self.run)
        super().point_pool()


class GlobalQueueEngine(CompiledEngine):
    """All workers take from one queue; an entity is the first taker's until the window ends."""

    def _worker_function(self) -> int:
        return int(_worker().address)

    def _new_memory(self) -> Memory:
        return CalendarMemory(self.model, compile_model(self.model), self.threads)
