"""CPUs of workers: worker `w` of an env runs on `affinity[w]`, and every thread gets its mask back.

Workers are the threads of numba's pool, which is the process's: all open envs share one `affinity`. Worker
0 is the calling thread. It is pinned during steps and resets alone, as threads that it starts in between,
such as torch's, inherit its mask.
"""

from __future__ import annotations

import ctypes
import os
import platform
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numba
import numpy as np

from seer_env.checks import whole
from seer_env.errors import SeerError
from seer_env.runtime.entry import pool, pool_lost
from seer_env.runtime.layout import CLAIMS, CONTROL

__all__ = ["ANYWHERE", "Affinity", "checked_cpus"]

#: Guards what follows; a garbage collection may close an env while this very thread holds it.
_LOCK = threading.RLock()
#: The CPUs of each open env that may use the pool, all the same.
_claims: list[tuple[int, ...]] = []
#: Masks that threads of the pool had before they were pinned, by the kernel's id.
_masks: dict[int, set[int]] = {}
_AS_IT_IS: AbstractContextManager[None] = nullcontext()
_WORKER = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_masks.clear)  # the threads are the parent's


def checked_cpus(affinity: Any, threads: int | None) -> tuple[int, ...] | None:
    """The argument `affinity`, if it can be that of an env with so many threads (None: to be chosen).

    Raises:
        ValueError: it is no sequence of different CPUs that the calling thread may use, one per thread.
        SeerError: the operating system does not pin threads.
    """
    if affinity is None:
        return None
    if not hasattr(os, "sched_setaffinity"):
        raise SeerError(
            f"affinity={affinity!r}: threads are pinned to CPUs under Linux only, and this is "
            f"{platform.system()}: leave affinity out"
        )
    if isinstance(affinity, (str, bytes)) or not isinstance(affinity, (Sequence, np.ndarray)):
        raise ValueError(f"affinity must be None or a sequence of CPU numbers, got {affinity!r}")
    cpus = tuple(whole(f"affinity[{w}]", cpu, 0, error=ValueError) for w, cpu in enumerate(affinity))
    allowed = os.sched_getaffinity(0)
    for worker, cpu in enumerate(cpus):
        if cpu not in allowed:
            raise ValueError(
                f"affinity[{worker}] must be a CPU that this thread may use, one of {sorted(allowed)}, "
                f"got {cpu}"
            )
        if cpu in cpus[:worker]:
            raise ValueError(f"affinity names CPU {cpu} twice: give every worker one of its own")
    if len(cpus) < (threads or 1):
        raise ValueError(
            f"affinity must name a CPU per thread: threads={threads or 'auto'} needs {threads or 1}, got "
            f"{list(cpus)}: name more CPUs, or ask for fewer threads"
        )
    return cpus


class Affinity:
    """Pins the workers of one env.

    Threads of the pool stay pinned until the last env with an affinity is closed or collected.

    Args:
        cpus: one per worker, as `checked_cpus` returns them; None leaves all threads as they are.
        threads: the most that the env may step on.

    Raises:
        SeerError: an open env has pinned the pool to other CPUs.
    """

    def __init__(self, cpus: tuple[int, ...] | None, threads: int = 1):
        self._cpus = cpus
        self._workers: list[int] = []  # the kernel's ids of the threads that were pinned last
        self.close: Callable[[], object] = lambda: None
        if cpus is not None and threads > 1:
            _claim(cpus)
            self.close = weakref.finalize(self, _give_up, cpus)

    def on(self, threads: int) -> AbstractContextManager[None]:
        """A context in which the calling thread and those of the pool, so many in all, are pinned.

        Raises:
            SeerError: they cannot be; all have the masks that they had.
        """
        return _AS_IT_IS if self._cpus is None else self._pinned(threads)

    @contextmanager
    def _pinned(self, threads: int) -> Iterator[None]:
        assert self._cpus is not None
        threads = 1 if pool_lost() else min(threads, numba.config.NUMBA_NUM_THREADS)
        caller = threading.get_native_id()
        if threads > 1 and not self._in_place(caller, threads):
            self._place(threads)
        mask = os.sched_getaffinity(caller)
        try:
            _pin(caller, self._cpus[0])
            yield
        finally:
            os.sched_setaffinity(caller, mask)

    def _in_place(self, caller: int, threads: int) -> bool:
        """Whether the pool's threads are those that were pinned, and still are.

        OpenMP has threads of its own for each calling thread, and ends and starts some as the number
        of threads changes, whoever changes it.
        """
        if len(self._workers) != threads or self._workers[0] != caller:
            return False
        try:
            pairs = zip(self._workers[1:], self._cpus[1:])  # type: ignore[index]  # not None
            return all(os.sched_getaffinity(worker) == {cpu} for worker, cpu in pairs)
        except ProcessLookupError:
            return False

    def _place(self, threads: int) -> None:
        """Pin the pool's threads, while the caller has its own mask, which new ones inherit."""
        with _LOCK:
            workers = _workers(threads)
            try:
                for worker, cpu in zip(workers[1:], self._cpus[1:]):  # type: ignore[index]  # not None
                    _masks.setdefault(worker, os.sched_getaffinity(worker))
                    _pin(worker, cpu)
            except BaseException:
                _restore()
                raise
        self._workers = workers


#: Leaves all threads as they are.
ANYWHERE = Affinity(None)


def _claim(cpus: tuple[int, ...]) -> None:
    with _LOCK:
        if _claims and _claims[0] != cpus:
            raise SeerError(
                f"affinity={list(cpus)}: an open env has this process's pool of threads on "
                f"{list(_claims[0])}: give both the same affinity, or close that one first"
            )
        _claims.append(cpus)


def _give_up(cpus: tuple[int, ...]) -> None:
    """An env is closed: with the last one, threads get their masks back."""
    with _LOCK:
        _claims.remove(cpus)
        if not _claims:
            _restore()


def _restore() -> None:
    for worker, mask in _masks.items():
        if os.path.exists(f"/proc/self/task/{worker}"):  # else it has ended
            os.sched_setaffinity(worker, mask)
    _masks.clear()


def _pin(thread: int, cpu: int) -> None:
    try:
        os.sched_setaffinity(thread, {cpu})
    except OSError as error:
        raise SeerError(f"affinity: thread {thread} cannot run on CPU {cpu}: {error.strerror}") from error


def _workers(threads: int) -> list[int]:
    """The kernel's ids of the threads that run the workers of a parallel region, by worker.

    Raises:
        SeerError: numba's threading layer has no fixed thread per worker, or too few threads.
    """
    loop, layer = pool(), numba.threading_layer()
    if layer != "omp":
        raise SeerError(
            f"affinity needs numba's OpenMP layer: {layer!r} runs a worker on any of its threads. Set "
            "NUMBA_THREADING_LAYER=omp, or leave affinity out"
        )
    found: dict[int, int] = {}
    note = _WORKER(lambda worker, _: found.__setitem__(worker, threading.get_native_id()))
    sync, control = np.zeros(CLAIMS, np.int64), np.zeros(1, CONTROL)
    control["sync"] = sync.ctypes.data
    loop(ctypes.cast(note, ctypes.c_void_p).value, threads, control.ctypes.data)
    if len(set(found.values())) != threads:
        raise SeerError(
            f"affinity: OpenMP runs {threads} workers on {len(set(found.values()))} threads: raise "
            "OMP_THREAD_LIMIT, or ask for fewer threads"
        )
    return [found[worker] for worker in range(threads)]
