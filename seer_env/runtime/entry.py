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
from numba import int64, prange, types
from numba.np.ufunc import parallel as numba_parallel

from seer_env.runtime.atomics import array_at, call2, record_at, store
from seer_env.runtime.compile import c_function, cached_njit, package_fingerprint
from seer_env.runtime.layout import CONTROL, PAUSED
from seer_env.runtime.transition import RUNNING
from seer_env.runtime.waiting import clock_ns
from seer_env.runtime.worker import worker_main

_ENTER = types.void(types.int64, types.int64, types.int64)
_FLAGS = types.boolean[::1]
_ARRAYS = (types.float64[:, ::1], _FLAGS, types.float32[:, ::1], types.float64[::1], _FLAGS)
_NUMBERS = (types.int64, types.int64, types.int64, types.float64, types.float64)
_PREPARE = types.void(types.int64, *_ARRAYS, *_NUMBERS)
_POOL_LOCK = threading.Lock()
_FORKED_AFTER_POOL = False


def _enter_alone(address, index, control):
    call2(address, index, control)


def _enter_pool(address, threads, control):
    for index in prange(threads):
        call2(address, int64(index), control)


def _prepare(address, actions, live, observations, rewards, terminated, info, stage, threads, clock, end):
    """Point the control record at the arrays of one call: compiled, as every step does it."""
    control = record_at(address, CONTROL)
    control.actions, control.live = actions.ctypes.data, live.ctypes.data
    control.observations, control.rewards = observations.ctypes.data, rewards.ctypes.data
    control.terminated, control.info = terminated.ctypes.data, info
    control.clock, control.end = clock, end
    control.stage, control.status, control.threads = stage, RUNNING, threads
    control.alone = 1 if threads > 1 else 0
    store(array_at(control.sync, np.int64), PAUSED, int64(0))


def _now():
    return clock_ns()


@lru_cache(maxsize=1)
def engine():
    """The compiled engine: (the worker's C function, enter_alone, now_ns, prepare)."""
    stamp = package_fingerprint()
    worker = c_function(worker_main, types.void(types.int64, types.int64), stamp)
    return (
        worker,
        cached_njit(_enter_alone, _ENTER, stamp),
        cached_njit(_now, types.int64(), stamp),
        cached_njit(_prepare, _PREPARE, stamp),
    )


@lru_cache(maxsize=1)
def pool():
    """The compiled parallel loop. Loading it starts numba's threading layer: not before it is needed."""
    return cached_njit(_enter_pool, _ENTER, package_fingerprint(), parallel=True)


def pool_available() -> bool:
    """Whether a parallel region can run in this process; warns once if a fork made it impossible."""
    if _FORKED_AFTER_POOL:
        _warn_fork()
        return False
    return True


def run_pool(threads: int, control: int) -> bool:
    """Run the workers on numba's threads; False if the layer cannot run them now.

    The layer may deliver fewer threads than asked for: the engine needs only one.
    """
    address, enter_pool = engine()[0], pool()
    before = numba.get_num_threads()
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    try:
        if _layer_takes_one_caller():
            if not _POOL_LOCK.acquire(blocking=False):
                _warn_busy()
                return False
            try:
                enter_pool(address.address, threads, control)
            finally:
                _POOL_LOCK.release()
        else:
            enter_pool(address.address, threads, control)
    finally:
        numba.set_num_threads(before)
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
