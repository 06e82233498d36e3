"""How much a second core is worth right now.

Virtual cores may be the two threads of one physical core, or another's, for a while: then nothing
can run twice as fast on two. A measurement on two threads is read beside this figure.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numba
import numpy as np

from seer_env.runtime.entry import start_layer

ITERATIONS = 2_000_000  # about a millisecond


@numba.njit(cache=True)
def arithmetic(n):
    """Independent chains of integer arithmetic that keep one core's units busy, and no memory."""
    a = b = c = d = np.uint64(1)
    for _ in range(n):
        a = a * np.uint64(3) + np.uint64(1)
        b = b ^ (a >> np.uint64(3))
        c = c + b
        d = d * np.uint64(5) ^ c
    return d


@numba.njit(cache=True, parallel=True)
def arithmetic_on(threads, n):
    """The same on each of numba's threads, whose pool waits awake between two calls."""
    total = np.uint64(0)
    for _ in numba.prange(threads):
        total += arithmetic(n)
    return total


def worth_of_second_core(rounds: int = 5) -> float:
    """Speed of two threads of plain arithmetic over that of one, 2.0 on free cores; a median."""
    start_layer()  # which torch in this process must not notice
    before = numba.get_num_threads()
    numba.set_num_threads(min(2, numba.config.NUMBA_NUM_THREADS))
    try:
        arithmetic_on(2, 1)
        return statistics.median(_once() for _ in range(rounds))
    finally:
        numba.set_num_threads(before)


@contextmanager
def busy_core(busy: bool) -> Iterator[None]:
    """While inside, another process holds a core, if `busy`."""
    if not busy:
        yield
        return
    spinner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        spinner.kill()
        spinner.wait()


def _once() -> float:
    start = time.perf_counter()
    arithmetic_on(1, ITERATIONS)
    alone = time.perf_counter() - start
    start = time.perf_counter()
    arithmetic_on(2, ITERATIONS)
    return 2.0 * alone / (time.perf_counter() - start)
