"""Calls from Python into the engine: alone, or as a pool under numba's parallel threading layer.

What the layers cannot do is decided here, once and aloud: GNU OpenMP ends a process that forked
after a parallel region, and `workqueue` aborts when two threads of the host enter it at once.
"""

from __future__ import annotations

import os
import threading
import warnings
from functools import lru_cache

import numba
import numpy as np
from llvmlite import ir
from numba import int32, int64, prange, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.ufunc import parallel as numba_parallel

from seer_env.errors import ThreadingLayerError
from seer_env.runtime.atomics import I32, I64, VOID, array_at, call2, record_at, store
from seer_env.runtime.compile import c_function, cached_njit, package_fingerprint
from seer_env.runtime.layout import CONTROL, PAUSED
from seer_env.runtime.leq import kernel
from seer_env.runtime.transition import RUNNING
from seer_env.runtime.waiting import clock_ns
from seer_env.runtime.worker import worker_main

_ADDRESS = types.int64
#: Read-only, as a roster's `live` is; numba passes writable arrays where read-only ones are asked for.
_LIVE = types.Array(types.boolean, 1, "C", readonly=True)
_ARRAYS = (types.float64[:, ::1], _LIVE, types.float32[:, ::1], types.float64[::1], types.boolean[::1])
_NUMBERS = (types.int64, types.int64, types.float64, types.float64)
_BEGIN = types.void(_ADDRESS, _ADDRESS, *_ARRAYS, types.uint8[::1], *_NUMBERS)
_RESUME = types.void(_ADDRESS, types.int64, _ADDRESS)
#: A compiled call returns to Python this often, so that signals are served.
SLICE_NS = 50_000_000
_POOL_LOCK = threading.Lock()
_FORKED_AFTER_POOL = False


@kernel
def open_slice(control, alone):
    """Let the workers run until the next deadline."""
    control.alone = alone
    control.deadline = clock_ns() + SLICE_NS
    store(array_at(control.sync, np.int64), PAUSED, int64(0))


@kernel
def leave(control):
    """Note when a step has ended, the waiting for all workers included, if there was any to judge."""
    ended = control.threads > 1 and control.status != RUNNING
    control.left_at = clock_ns() if ended else 0


@kernel
def point(control, actions, live, observations, rewards, terminated, info, stage, threads, clock, end):
    """Describe a call: its arrays, where it starts and ends, and how many workers it has."""
    control.actions, control.live = actions.ctypes.data, live.ctypes.data
    control.observations, control.rewards = observations.ctypes.data, rewards.ctypes.data
    control.terminated, control.info = terminated.ctypes.data, info.ctypes.data
    control.clock, control.end = clock, end
    control.stage, control.status, control.threads = stage, RUNNING, threads


def _begin(
    worker, address, actions, live, observations, rewards, terminated, info, stage, threads, clock, end
):
    """Begin a call as worker 0, and run it to its end or, with more threads, to what is worth sharing."""
    control = record_at(address, CONTROL)
    outputs = observations, rewards, terminated, info
    point(control, actions, live, *outputs, stage, threads, clock, end)
    open_slice(control, 1 if threads > 1 else 0)
    call2(worker, -1, address)
    leave(control)


def _resume(worker, threads, address):
    """Go on as worker 0 without the others."""
    open_slice(record_at(address, CONTROL), 0)
    call2(worker, 0, address)


# numba's own functions of these names hold an address of this process, and cannot be cached.
@intrinsic
def get_num_threads(typingctx):
    """The calling thread's count of numba threads."""

    def codegen(context, builder, sig, args):
        function_type = ir.FunctionType(I64, [])  # as a parallel loop declares it
        function = cgutils.get_or_insert_function(builder.module, function_type, "get_num_threads")
        return builder.call(function, [])

    return types.int64(), codegen


@intrinsic
def set_num_threads(typingctx, count):
    """Set the calling thread's count of numba threads, from 1 to NUMBA_NUM_THREADS."""

    def codegen(context, builder, sig, args):
        function_type = ir.FunctionType(VOID, [I32])
        function = cgutils.get_or_insert_function(builder.module, function_type, "set_num_threads")
        builder.call(function, args)
        return context.get_dummy_value()

    return types.void(types.int32), codegen


def _resume_pool(worker, threads, address):
    """Go on as all workers. The caller's own thread count, a word of its thread, is put back."""
    open_slice(record_at(address, CONTROL), 0)
    before = get_num_threads()
    set_num_threads(int32(threads))
    record_at(address, CONTROL).solo, record_at(address, CONTROL).pooled = 0, 1
    for index in prange(threads):
        call2(worker, int64(index), address)
    leave(record_at(address, CONTROL))
    set_num_threads(int32(before))


@lru_cache(maxsize=1)
def engine():
    """The compiled engine: (address of the worker's C function, begin, resume)."""
    stamp = package_fingerprint()
    worker = _worker()
    return worker.address, cached_njit(_begin, _BEGIN, stamp), cached_njit(_resume, _RESUME, stamp)


@lru_cache(maxsize=1)
def _worker():
    """The compiled worker, kept for the life of the process: others hold its address."""
    return c_function(worker_main, types.void(types.int64, types.int64), package_fingerprint())


@lru_cache(maxsize=1)
def start_layer() -> None:
    """Start numba's threading layer, from a thread of its own.

    The OpenMP layer has the thread that starts it take as many threads as numba from then on, in all of its
    OpenMP regions. Torch's are among them: an op meant for one thread would be shared among all.

    Raises:
        ThreadingLayerError: numba has no layer to start.
    """
    errors: list[ValueError] = []

    def start() -> None:
        try:
            numba.get_num_threads()
        except ValueError as error:
            errors.append(error)

    # No executor: those refuse work once the main thread has ended, where others may go on.
    starting = threading.Thread(target=start, name="seer_env: numba's layer")
    starting.start()
    starting.join()
    if errors:
        reason = str(errors[0]).partition("\n")[0].rstrip(".")
        asked = numba.config.THREADING_LAYER
        fix = "" if asked == "default" else f"unset NUMBA_THREADING_LAYER={asked}, install what it needs, or "
        raise ThreadingLayerError(f"numba: {reason}: {fix}step on one thread (threads=1)") from errors[0]


@lru_cache(maxsize=1)
def pool():
    """The compiled parallel loop. Loading it starts numba's threading layer: not before it is needed."""
    start_layer()
    return cached_njit(_resume_pool, _RESUME, package_fingerprint(), parallel=True)


def pool_available() -> bool:
    """Whether a parallel region can run in this process; warns once if a fork made it impossible."""
    if pool_lost():
        _warn_fork()
        return False
    return True


def pool_lost() -> bool:
    """Whether a fork has made parallel regions impossible in this process."""
    return _FORKED_AFTER_POOL


def run_pool(threads: int, control: int, worker: int = 0) -> bool:
    """Run the workers on numba's threads; False if the layer cannot run them now.

    The layer may deliver fewer threads than asked for: the engine needs only one. `worker` is the address
    of another scheduler's C function.
    """
    return run_loop(pool(), worker or engine()[0], threads, control)


def run_loop(loop, worker: int, threads: int, shared: int) -> bool:
    """Run a compiled parallel loop over workers as `run_pool` does.

    Args:
        loop: called with the next three.
        worker: address of the C function that each worker runs with its index and `shared`.
        threads: how many workers.
        shared: address of what they share.
    """
    threads = min(threads, numba.config.NUMBA_NUM_THREADS)
    if not _layer_takes_one_caller():
        loop(worker, threads, shared)
        return True
    if not _POOL_LOCK.acquire(blocking=False):
        _warn_busy()
        return False
    try:
        loop(worker, threads, shared)
    finally:
        _POOL_LOCK.release()
    return True


@lru_cache(maxsize=1)
def _layer_takes_one_caller() -> bool:
    return numba_parallel.threading_layer() == "workqueue"


_WARNED: set[str] = set()


def _warn_once(what: str, text: str) -> None:
    """Warn the first time only, also where warnings are errors."""
    if what not in _WARNED:
        _WARNED.add(what)
        warnings.warn(text, RuntimeWarning, stacklevel=2)


def _warn_fork() -> None:
    _warn_once(
        "fork",
        "this process was forked after a parallel step, and GNU OpenMP cannot run in it: the env steps "
        "on one thread (same results). Use the 'spawn' or 'forkserver' start method, or install tbb.",
    )


def _warn_busy() -> None:
    _warn_once(
        "busy",
        "numba's 'workqueue' threading layer serves one thread of the program at a time: a step that "
        "finds it busy runs on one thread (same results). Install OpenMP (libgomp) or tbb.",
    )


def _after_fork() -> None:
    global _FORKED_AFTER_POOL, _POOL_LOCK
    _POOL_LOCK = threading.Lock()
    if numba_parallel._is_initialized and numba_parallel.threading_layer() == "omp":
        _FORKED_AFTER_POOL = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
