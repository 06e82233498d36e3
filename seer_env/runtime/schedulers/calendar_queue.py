"""The global queue: a calendar of lock-free stacks, shared by all workers.

Brown, "Calendar queues: a fast O(1) priority queue implementation for the simulation event set problem",
CACM 1988. A bucket holds the events of one day, newest first; a push is one compare-and-swap (Treiber
1986), so it is non-blocking as in Marotta, Ianni, Cingolani, Pellegrini and Quaglia's queue for
share-everything simulation (PPoPP 2017 and "The ultimate share-everything PDES system", PADS 2018). A day is
put in order when it is taken: equal times, however many, cost no more than others. Events beyond the
year wait on one more stack.
"""

from __future__ import annotations

import numpy as np
from numba import int32, int64

from seer_env.runtime.atomics import array_at, compare_and_swap, load
from seer_env.runtime.layout import BUMP, MICRO_SHIFT, STRIDE
from seer_env.runtime.leq import inlined, kernel
from seer_env.runtime.window import pool_of, sync_of, workers_of

#: What the global queue keeps, at `control.own`. Written by the transition.
CALENDAR = np.dtype(
    [
        ("buckets", "i8"),  # address of the newest event of each bucket's day, or -1: int64 [days]
        ("days", "i8"),  # of a year: a power of two
        ("per_unit", "f8"),  # days per unit of time
        ("origin", "f8"),  # time at which day 0 begins
        ("base", "i8"),  # no pending event has an earlier day; a year begins here
        ("far_base", "i8"),  # `base` when the far events were last looked through
        ("words", "i8"),  # address of the words that workers share
        ("owner", "i8"),  # address of who has taken an entity, int64 [N]: see taking.py
        ("run_slot", "i8"),  # address of the slots of the window's events, int32, in ranges of key order
        ("run_target", "i8"),  # and of their entities
        ("ranges", "i8"),  # address of the first event and the number of events of each range, int64
        ("n_ranges", "i8"),
        ("grain", "i8"),  # days per range
        ("queues", "i8"),  # address of two heaps per worker, of dtype LEQ
        ("cut_at", "i8"),  # address of where each taker stopped, int64
        ("window_days", "i8"),  # of the current window
        ("number", "i8"),  # of the current window, since the engine was made
        ("started", "i8"),
        ("until", "i8"),  # when a window that one worker executes alone is cut short
        ("expected", "f8"),  # events of a window, moving average
        ("density", "f8"),  # events per unit of time when it was last measured
        ("measured_at", "f8"),  # time up to which the density is known
        ("measured_events", "i8"),  # events of this step that were executed then; negative: of earlier ones
    ],
    align=True,
)
#: Words that workers share, each alone on two cache lines: the newest event beyond the year, the first
#: free place of the run, and whether a taker has stopped before the window's end.
FAR, RUN_NEXT, CUT = 0, STRIDE, 2 * STRIDE
CALENDAR_WORDS = 3 * STRIDE
#: Events that a day should hold, and how far from it a year may be before it is made anew.
PER_DAY, TOLERANCE = 2.0, 8.0
#: It is looked at every so many events and days: events of one time alone have no density.
MEASURED, MEASURED_DAYS = 4096, 8.0
LAST_DAY = 1 << 61
#: Where a taker stops that does not.
NEVER = np.iinfo(np.int64).max


@inlined
def buckets_of(calendar):
    """int64 per day of the year."""
    return array_at(calendar.buckets, np.int64)


@inlined
def day_of(calendar, time):
    """The day of a time, from 0 at the origin on; never falls as time grows."""
    return int64(min((time - calendar.origin) * calendar.per_unit, float(LAST_DAY)))


@inlined
def push_stack(pool, words, at, slot):
    """Push an event on a stack that others may push on."""
    head = load(words, at)
    while True:
        pool[slot].sibling = int32(head)
        seen = compare_and_swap(words, at, head, int64(slot))
        if seen == head:
            return
        head = seen


@inlined
def push_day(control, calendar, slot):
    """Push an event on the stack of its day, or on that of the far ones."""
    pool = pool_of(control)
    day = day_of(calendar, pool[slot].time)
    words, at = buckets_of(calendar), day & (calendar.days - 1)
    if day - calendar.base >= calendar.days:
        words, at = array_at(calendar.words, np.int64), int64(FAR)
    if control.direct:
        pool[slot].sibling = int32(words[at])
        words[at] = slot
    else:
        push_stack(pool, words, at, slot)


# -- the earliest event, while one worker runs -------------------------------------------------------------


@kernel
def look_through_far(control, calendar):
    """Give the far events whose day is within the year now to their days; returns the earliest day of all."""
    pool, words = pool_of(control), array_at(calendar.words, np.int64)
    slot, earliest = words[FAR], int64(LAST_DAY)
    words[FAR] = -1
    calendar.far_base = calendar.base
    direct, control.direct = control.direct, 1
    while slot >= 0:
        following = int64(pool[slot].sibling)
        earliest = min(earliest, day_of(calendar, pool[slot].time))
        push_day(control, calendar, slot)
        slot = following
    control.direct = direct
    return earliest


@kernel
def first_day(control, calendar, last):
    """Move `base` to the first day with an event, or beyond day `last`; False if there is none up to it."""
    buckets, words = buckets_of(calendar), array_at(calendar.words, np.int64)
    mask = calendar.days - 1
    while True:
        year_end = min(calendar.base + calendar.days, last + 1)
        day = calendar.base
        while day < year_end and buckets[day & mask] < 0:
            day += 1
        calendar.base = min(day, last)
        if day < year_end:
            break
        if words[FAR] < 0 or day > last:
            return False
        calendar.base = min(look_through_far(control, calendar), last)
        look_through_far(control, calendar)
    if calendar.base - calendar.far_base >= calendar.days // 4:
        look_through_far(control, calendar)
    return True


@kernel
def earliest_of_day(control, calendar):
    """Time and micro-step of the earliest event of day `base`."""
    pool = pool_of(control)
    slot = buckets_of(calendar)[calendar.base & (calendar.days - 1)]
    time, micro = np.inf, int64(0)
    while slot >= 0:
        event = pool[slot]
        step = event.seq >> MICRO_SHIFT
        if event.time < time or (event.time == time and step < micro):
            time, micro = event.time, step
        slot = int64(event.sibling)
    return time, micro


# -- building it -------------------------------------------------------------------------------------------


@kernel
def build(control, calendar, density):
    """Make a year for this many events per unit of time, and push all events of the pool."""
    pool, worker = pool_of(control), workers_of(control)[0]
    buckets, words = buckets_of(calendar), array_at(calendar.words, np.int64)
    used = min(sync_of(control)[BUMP], worker.slots)
    origin = np.inf
    for slot in range(0, used, worker.lines):
        if pool[slot].target >= 0:
            origin = min(origin, pool[slot].time)
    calendar.origin = min(origin, control.clock)
    # A year is longer than two windows: none reaches the far events.
    longest = calendar.days / (2.0 * control.lookahead) if control.lookahead > 0.0 else np.inf
    calendar.per_unit = max(min(density / PER_DAY, longest), 1e-300)
    calendar.density, calendar.base, calendar.far_base = density, 0, 0
    for k in range(calendar.days):
        buckets[k] = -1
    words[FAR], words[CUT] = -1, 0
    cut_at = array_at(calendar.cut_at, np.int64)
    for taker in range(control.threads):
        cut_at[taker] = NEVER
    control.direct = 1
    for slot in range(0, used, worker.lines):
        if pool[slot].target >= 0:
            push_day(control, calendar, int64(slot))
    control.queued_for = control.threads


@kernel
def first_density(control):
    """Events per unit of time, guessed from those that are pending."""
    pool, worker = pool_of(control), workers_of(control)[0]
    low, high, count = np.inf, -np.inf, int64(0)
    for slot in range(0, min(sync_of(control)[BUMP], worker.slots), worker.lines):
        if pool[slot].target >= 0:
            low, high = min(low, pool[slot].time), max(high, pool[slot].time)
            count += 1
    span = high - low if high > low else control.end - control.clock
    return max(1.0, float(count)) / max(span, control.lookahead)


@kernel
def keep_density(control, calendar, events):
    """Make the year anew if it has become unfit; `events` is how many this step has executed."""
    now = control.window
    days = (now - calendar.measured_at) * calendar.per_unit
    if events - calendar.measured_events < MEASURED or days < MEASURED_DAYS:
        return
    density = (events - calendar.measured_events) / (now - calendar.measured_at)
    calendar.measured_events, calendar.measured_at = events, now
    if not calendar.density / TOLERANCE < density < calendar.density * TOLERANCE:
        build(control, calendar, density)
