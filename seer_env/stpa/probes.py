"""Cheap sources of what the operating system knows of this process: held open, read once per trace step.

Reading a held-open file of /proc takes microseconds; opening it afresh while the machine is busy may take
a millisecond. A source that this machine does not have reads NaN: never a made-up figure.
"""

from __future__ import annotations

import os
import re
import sys
from typing import NamedTuple

import numpy as np

from seer_env.machine import open_counter

__all__ = ["HARDWARE", "ProcessReading", "Probes", "THREAD_COLUMNS"]

#: Hardware events that are counted per thread, where that is possible.
HARDWARE = ("cycles", "instructions", "cache references", "cache misses")
#: Columns of `Probes.threads`: nanoseconds run and waited for a CPU, switches, hardware events.
THREAD_COLUMNS = ("run_ns", "delay_ns", "voluntary", "involuntary", *HARDWARE)
_SWITCHES = re.compile(rb"^voluntary_ctxt_switches:\s*(\d+)\s+nonvoluntary_ctxt_switches:\s*(\d+)", re.M)
#: Enough for /proc/<pid>/status, whose lines on switches are the last.
_STATUS_BYTES = 1 << 14


class ProcessReading(NamedTuple):
    """Of the whole process: bytes of resident memory (NaN where unknown), and minor page faults so far."""

    resident: float
    faults: float


class Probes:
    """The sources of one process, for the threads that it has when they are opened.

    A context manager: leaving it closes what it holds.
    """

    def __init__(self, proc: str = "/proc/self", hardware: bool = True):
        """Open what there is below `proc`; `hardware=False` leaves the hardware counters out."""
        self._open: list[int] = []
        self._statm = self._try_open(f"{proc}/statm")
        try:
            tasks = sorted(os.listdir(f"{proc}/task"), key=int)
        except OSError:
            tasks = []
        self._tasks = [
            (self._try_open(f"{proc}/task/{task}/schedstat"), self._try_open(f"{proc}/task/{task}/status"))
            for task in tasks
        ]
        #: Which hardware events opened, for every thread.
        self.hardware: tuple[str, ...] = ()
        self._counters: list[dict[str, int]] = [{} for _ in tasks]
        if hardware:
            self._open_counters([int(task) for task in tasks])

    def threads(self) -> np.ndarray:
        """Totals since each thread began, float64 `[threads, len(THREAD_COLUMNS)]`, NaN where unknown."""
        readings = np.full((len(self._tasks), len(THREAD_COLUMNS)), np.nan)
        for row, (schedstat, status), counters in zip(readings, self._tasks, self._counters):
            words = _pread(schedstat, 64).split()
            if len(words) == 3:
                row[0:2] = float(words[0]), float(words[1])
            switches = _SWITCHES.search(_pread(status, _STATUS_BYTES))
            if switches:
                row[2:4] = float(switches[1]), float(switches[2])
            for name, descriptor in counters.items():
                row[4 + HARDWARE.index(name)] = int.from_bytes(os.read(descriptor, 8), "little")
        return readings

    def process(self) -> ProcessReading:
        """Memory and page faults of the whole process."""
        words = _pread(self._statm, 128).split()
        if sys.platform == "win32" or len(words) < 2:
            return ProcessReading(np.nan, np.nan)
        import resource

        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        return ProcessReading(float(words[1]) * resource.getpagesize(), float(faults))

    def close(self) -> None:
        """Close all descriptors; what is read afterwards is unknown."""
        for descriptor in self._open:
            os.close(descriptor)
        self._open, self._tasks, self._counters, self._statm = [], [], [], None

    def __enter__(self) -> Probes:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _try_open(self, path: str) -> int | None:
        """A descriptor of `path`, or None: not Linux, a hidden file, a thread that has just ended."""
        try:
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        except OSError:
            return None
        self._open.append(descriptor)
        return descriptor

    def _open_counters(self, tasks: list[int]) -> None:
        """Open each hardware event for all threads, or for none: half a channel would mislead."""
        for name in HARDWARE:
            opened: list[int] = []
            try:
                for task in tasks:
                    opened.append(open_counter(name, task))
            except OSError:
                for descriptor in opened:
                    os.close(descriptor)
                continue
            for counters, descriptor in zip(self._counters, opened):
                counters[name] = descriptor
            self._open += opened
            self.hardware += (name,)


def _pread(descriptor: int | None, size: int) -> bytes:
    """What the file says now; empty if it is not open or its thread has ended."""
    if descriptor is None:
        return b""
    try:
        return os.pread(descriptor, size, 0)
    except OSError:
        return b""
