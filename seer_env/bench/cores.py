"""How much a second core is worth right now.

Virtual cores may be the two threads of one physical core, or another's, for a while: then nothing
can run twice as fast on two. A measurement on two threads is read beside this figure.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numba
import numpy as np

ITERATIONS = 8_000_000  # about five milliseconds


@numba.njit(nogil=True, cache=True)
def arithmetic(n):
    """Independent chains of integer arithmetic that keep one core's units busy, and no memory."""
    a = b = c = d = np.uint64(1)
    for _ in range(n):
        a = a * np.uint64(3) + np.uint64(1)
        b = b ^ (a >> np.uint64(3))
        c = c + b
        d = d * np.uint64(5) ^ c
    return d


def worth_of_second_core(rounds: int = 3) -> float:
    """Speed of two threads of plain arithmetic over that of one: 2.0 on two free cores, best of `rounds`."""
    arithmetic(1)
    return max(_once() for _ in range(rounds))


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
    arithmetic(ITERATIONS)
    alone = time.perf_counter() - start
    threads = [threading.Thread(target=arithmetic, args=(ITERATIONS,)) for _ in range(2)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return 2.0 * alone / (time.perf_counter() - start)
