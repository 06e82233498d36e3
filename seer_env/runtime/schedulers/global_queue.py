"""The `nbse` scheduler: one global non-blocking queue from which all workers take.

After Ianni, Marotta, Cingolani, Pellegrini and Quaglia, "The ultimate share-everything PDES system",
SIGSIM-PADS 2018, in conservative safe windows. `global_queue.md` holds the protocol.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import int64, types

from seer_env.runtime.atomics import array_at, call3, record_at
from seer_env.runtime.compile import c_function, package_fingerprint
from seer_env.runtime.layout import ALIGNMENT, CONTROL, LEQ, aligned_zeros
from seer_env.runtime.leq import kernel
from seer_env.runtime.memory import Memory
from seer_env.runtime.phases import ACT, EXECUTE, SETTLE, perform_boundary
from seer_env.runtime.schedulers.calendar_queue import (
    CALENDAR,
    CALENDAR_WORDS,
    NEVER,
    RUN_NEXT,
    build,
    day_of,
    earliest_of_day,
    first_day,
    first_density,
    keep_density,
    push_day,
)
from seer_env.runtime.schedulers.compiled import CompiledEngine
from seer_env.runtime.schedulers.taking import order_range, put_back, take
from seer_env.runtime.schedulers.windows import learn_window, windows
from seer_env.runtime.sharing import totals
from seer_env.runtime.shims import compile_model
from seer_env.runtime.transition import (
    AT_EXECUTED,
    AT_SETTLE,
    AT_SETTLED,
    AT_WINDOW,
    offering,
    share,
    transitions,
)
from seer_env.runtime.waiting import clock_ns
from seer_env.runtime.window import pool_of, workers_of
from seer_env.runtime.worker import WORKER_BYTES, begin, claim, working

#: Ranges of a window's days per worker: what one worker puts in order at once.
RANGES = 4


@kernel
def calendar_of(control):
    """What this scheduler keeps."""
    return record_at(control.own, CALENDAR)


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
    control.lbts = earliest
    control.zero, control.window = 0, min(earliest + control.lookahead, control.end)
    if control.window <= earliest:
        control.zero, control.window, control.micro = 1, np.nextafter(earliest, np.inf), micro
    calendar.window_days = day_of(calendar, control.window) - calendar.base + 1
    calendar.number += 1
    array_at(calendar.words, np.int64)[RUN_NEXT] = 0
    return True


@kernel
def publish_window(control, calendar, expected):
    """Have all workers put the window that is open in order, and then execute it."""
    control.stage, calendar.started = AT_SETTLED, clock_ns()
    calendar.grain = max(int64(1), -(-calendar.window_days // (RANGES * control.threads)))
    calendar.n_ranges = -(-calendar.window_days // calendar.grain)
    share(control, SETTLE, calendar.n_ranges, expected * control.event_cost, int64(1))


@kernel
def run_window(control, calendar, worker, worker_address):
    """Execute a window too small to share: one range, one taker."""
    calendar.n_ranges, calendar.grain = 1, calendar.window_days
    perform(control, worker, worker_address, SETTLE, int64(0), int64(1))
    perform(control, worker, worker_address, EXECUTE, int64(0), int64(1))
    put_back(control, calendar)


next_windows = windows("nbse", open_window, publish_window, run_window, keep_density)


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
        put_back(control, calendar)
        learn_window(control, calendar, walls, elapsed, events - control.events_before)
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
