"""The driver of copies: one call of the pool that steps many worlds.

Each copy is a world with a control record and `sync` words of its own, and its step follows
PROTOCOL.md, whose section 10 is about the driver. Workers take copies that nobody has taken yet; a
worker that finds none left helps with those that still run. As long as every worker has another copy
to go on with, a copy is its worker's alone, which is cheapest; only the last ones are open to helpers.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import int32, int64, prange, types

from seer_env.runtime.atomics import add, array_at, call2, record_at, store
from seer_env.runtime.compile import c_function, cached_njit, package_fingerprint
from seer_env.runtime.entry import get_num_threads, open_slice, point, set_num_threads, start_layer
from seer_env.runtime.layout import ALIGNMENT, CONTROL, STRIDE
from seer_env.runtime.leq import kernel
from seer_env.runtime.transition import AT_ACTIONS, BREACHED, RUNNING
from seer_env.runtime.waiting import clock_ns
from seer_env.runtime.worker import begin

#: Bytes from one copy's control record to the next: they share no cache lines.
CONTROL_BYTES = -(-CONTROL.itemsize // ALIGNMENT) * ALIGNMENT

#: Words of the driver (int64). `NEXT`, the places in the list that workers have taken, is alone on its
#: cache lines; the others do not change while workers run.
NEXT = 0
#: Unfinished copies, the address of the list of their indices, and those of the first control record
#: and of the worker's C function.
COUNT, ORDER, CONTROLS, WORKER_MAIN = range(STRIDE, STRIDE + 4)
#: Of the copies that this step has finished: those that met a breach, and sums.
FAILED, ROUNDS, SHARED_ROUNDS, EVENTS = range(STRIDE + 4, STRIDE + 8)
DRIVER_WORDS = 2 * STRIDE

_FLAGS = types.Array(types.boolean, 2, "C", readonly=True)  # numba passes writable arrays there too
_OUTPUTS = (types.float32[:, :, ::1], types.float64[:, ::1], types.boolean[:, ::1], types.uint8[:, ::1])
_CLOCKS = (types.Array(types.int64, 1, "C", readonly=True), types.float64)
_BEGIN = types.void(types.int64, types.float64[:, :, ::1], _FLAGS, *_OUTPUTS, *_CLOCKS, types.int64)
_RUN = types.void(types.int64, types.int64, types.int64)


@kernel
def control_at(words, copy):
    """The control record of a copy."""
    return record_at(words[CONTROLS] + copy * CONTROL_BYTES, CONTROL)


@kernel
def enter(words, copy, index):
    """Work on a copy until its step is finished or paused; who has it alone is its worker 0."""
    me = index if control_at(words, copy).threads > 1 else int64(0)
    call2(words[WORKER_MAIN], me, words[CONTROLS] + copy * CONTROL_BYTES)


def drive(index, address):
    """C entry point of worker `index`: take copies until none is left to take, then help with the others."""
    words = array_at(address, np.int64)
    count, order = words[COUNT], array_at(words[ORDER], np.int64)
    while True:
        taken = add(words, NEXT, int64(1))
        if taken >= count:
            break
        enter(words, order[taken], index)
        if clock_ns() > control_at(words, order[taken]).deadline:
            return
    for k in range(count):
        copy = order[(index + k) % count]
        if control_at(words, copy).threads > 1:
            enter(words, copy, index)


def _begin_all(address, actions, live, observations, rewards, terminated, info, steps, dt, threads):
    """Begin a step of every copy that has a live agent, and list those copies. No worker runs yet."""
    words = array_at(address, np.int64)
    order = array_at(words[ORDER], np.int64)
    words[FAILED], words[ROUNDS], words[SHARED_ROUNDS], words[EVENTS] = 0, 0, 0, 0
    count = int64(0)
    for c in range(len(steps)):
        if live[c].any():
            order[count] = c
            count += 1
    words[COUNT] = count
    for k in range(count):
        c = order[k]
        control = control_at(words, c)
        workers = threads if k >= count - threads else int64(1)
        clock, end = steps[c] * dt, (steps[c] + 1) * dt
        outputs = observations[c], rewards[c], terminated[c], info[c]
        point(control, actions[c], live[c], *outputs, AT_ACTIONS, workers, clock, end)
        control.left_at = 0  # a copy's steps are not judged: the pool is entered for all of them
        begin(control)


@kernel
def open_slices(words):
    """Let workers run: all copies on the list are to be taken, until the next deadline."""
    order = array_at(words[ORDER], np.int64)
    for k in range(words[COUNT]):
        open_slice(control_at(words, order[k]), 0)
    store(words, NEXT, int64(0))


@kernel
def close_slices(words):
    """Workers have returned: keep unfinished copies on the list, in order, and count the others."""
    order = array_at(words[ORDER], np.int64)
    kept = int64(0)
    for k in range(words[COUNT]):
        control = control_at(words, order[k])
        if control.status == RUNNING:
            order[kept] = order[k]
            kept += 1
        else:
            words[FAILED] += 1 if control.status == BREACHED else 0
            words[ROUNDS] += control.rounds
            words[SHARED_ROUNDS] += control.shared_rounds
            words[EVENTS] += control.events
    words[COUNT] = kept


def _run_alone(worker, threads, address):
    """Run one slice of all copies as worker 0 alone."""
    words = array_at(address, np.int64)
    open_slices(words)
    call2(worker, 0, address)
    close_slices(words)


def _run_pool(worker, threads, address):
    """Run one slice of all copies on numba's threads."""
    words = array_at(address, np.int64)
    open_slices(words)
    before = get_num_threads()
    set_num_threads(int32(threads))
    for index in prange(threads):
        call2(worker, int64(index), address)
    set_num_threads(int32(before))
    close_slices(words)


@lru_cache(maxsize=1)
def driver():
    """The compiled driver: (address of `drive`, begin_all, run_alone)."""
    stamp = package_fingerprint()
    return _drive().address, cached_njit(_begin_all, _BEGIN, stamp), cached_njit(_run_alone, _RUN, stamp)


@lru_cache(maxsize=1)
def _drive():
    """The compiled worker, kept for the life of the process: others hold its address."""
    return c_function(drive, types.void(types.int64, types.int64), package_fingerprint())


@lru_cache(maxsize=1)
def pool_of_copies():
    """The compiled parallel loop; see `entry.pool`."""
    start_layer()
    return cached_njit(_run_pool, _RUN, package_fingerprint(), parallel=True)
