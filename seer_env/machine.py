"""What this machine grants the process: CPUs, after affinity and cgroup quotas, and hardware counters."""

from __future__ import annotations

import ctypes
import errno
import math
import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

__all__ = ["CpuLimits", "HardwareCounters", "cpu_limits", "effective_cpus", "hardware_counters"]


@dataclass(frozen=True)
class CpuLimits:
    """Why a process may use as many CPUs as it may.

    Attributes:
        affinity: CPUs in the affinity mask (where there is none: CPUs of the machine).
        quota: CPUs' worth of time that the tightest cgroup grants, or None without a quota.
        quota_source: the file that sets the quota, or None.
    """

    affinity: int
    quota: float | None
    quota_source: str | None

    @property
    def effective(self) -> int:
        """Threads that can run at once: a fraction of a CPU still needs a thread."""
        return self.affinity if self.quota is None else max(1, min(self.affinity, math.ceil(self.quota)))


def effective_cpus(root: str | os.PathLike = "/", affinity: int | None = None) -> int:
    """CPUs this process can keep busy: the lesser of its affinity mask and its cgroups' quotas, >= 1.

    Args:
        root: folder in which `proc/self/...` and the cgroup mounts are looked up.
        affinity: CPUs in the affinity mask; asked of the operating system by default.
    """
    return cpu_limits(root, affinity).effective


def cpu_limits(root: str | os.PathLike = "/", affinity: int | None = None) -> CpuLimits:
    """The limits behind `effective_cpus`, with the same arguments.

    Quotas are read from cgroup v1 (`cpu.cfs_quota_us`) and v2 (`cpu.max`) over every ancestor that
    the process can see; where it can see none, as outside Linux, there is no quota.
    """
    quotas = [(quota, str(file)) for file, quota in _quotas(Path(root))]
    quota, source = min(quotas, default=(None, None))
    return CpuLimits(_affinity() if affinity is None else affinity, quota, source)


def _affinity() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _quotas(root: Path) -> Iterator[tuple[Path, float]]:
    """Files that set a CPU quota for this process, and the quotas in CPUs."""
    mounts = list(_cgroup_mounts(root))
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        for mount in mounts:
            if mount.unified == (controllers == "") and (mount.unified or "cpu" in controllers.split(",")):
                read = _quota_v2 if mount.unified else _quota_v1
                for folder in mount.ancestors(path, root):
                    yield from read(folder)


class _Mount(NamedTuple):
    unified: bool
    inside: PurePosixPath  # the cgroup that is mounted; not "/" in many containers
    point: PurePosixPath

    def ancestors(self, path: str, root: Path) -> Iterator[Path]:
        """Folders of the cgroup `path` and of its ancestors, down to up, as far as they are mounted."""
        cgroup = PurePosixPath(path)
        # A path from outside this cgroup namespace (`/../..`) leaves the mount point as all we see.
        below = cgroup.relative_to(self.inside) if cgroup.is_relative_to(self.inside) else PurePosixPath()
        if ".." in below.parts:
            below = PurePosixPath()
        for part in (below, *below.parents):
            yield root / self.point.relative_to("/") / part


def _cgroup_mounts(root: Path) -> Iterator[_Mount]:
    """cgroup v2 mounts, and the v1 mounts that carry the cpu controller (proc(5), mountinfo)."""
    for line in _read(root / "proc/self/mountinfo").splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(" ", 2)
        if kind == "cgroup2" or (kind == "cgroup" and "cpu" in options.split(",")):
            inside, point = (_unescape(field) for field in left.split(" ")[3:5])
            yield _Mount(kind == "cgroup2", PurePosixPath(inside), PurePosixPath(point))


def _unescape(field: str) -> str:
    """Undo mountinfo's octal escapes of space, tab, newline and backslash."""
    for code in ("040", "011", "012", "134"):
        field = field.replace("\\" + code, chr(int(code, 8)))
    return field


def _quota_v2(folder: Path) -> Iterator[tuple[Path, float]]:
    words = _read(folder / "cpu.max").split()
    if words and words[0] != "max":
        period = int(words[1]) if len(words) > 1 else 100_000
        yield folder / "cpu.max", int(words[0]) / period


def _quota_v1(folder: Path) -> Iterator[tuple[Path, float]]:
    quota = _read(folder / "cpu.cfs_quota_us").strip()
    period = _read(folder / "cpu.cfs_period_us").strip()
    if quota and period and int(quota) > 0:
        yield folder / "cpu.cfs_quota_us", int(quota) / int(period)


def _read(file: Path) -> str:
    """A file's text; empty if it is not there or not ours to read, which means no known limit."""
    try:
        return file.read_text()
    except OSError:
        return ""


# -- hardware counters ---------------------------------------------------------------------------

#: Number of `perf_event_open` by machine (the kernel's syscall tables).
_PERF_EVENT_OPEN = {
    "x86_64": 298,
    "aarch64": 241,
    "riscv64": 241,
    "loongarch64": 241,
    "ppc64le": 319,
    "s390x": 331,
}
#: `perf_event_attr.config` of generic hardware events (perf_event_open(2)).
_HARDWARE_EVENTS = {"cycles": 0, "instructions": 1, "cache references": 2, "cache misses": 3}
_DISABLED, _EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR = 1 << 0, 1 << 5, 1 << 6


class _PerfEventAttr(ctypes.Structure):
    """The first published layout of `perf_event_attr` (64 bytes), which every kernel still takes."""

    _fields_ = (
        ("type", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("config", ctypes.c_uint64),
        ("sample_period", ctypes.c_uint64),
        ("sample_type", ctypes.c_uint64),
        ("read_format", ctypes.c_uint64),
        ("flags", ctypes.c_uint64),
        ("wakeup_events", ctypes.c_uint32),
        ("bp_type", ctypes.c_uint32),
        ("bp_addr", ctypes.c_uint64),
    )


class HardwareCounters(NamedTuple):
    """Which hardware events this process may count in user space.

    Attributes:
        available: names of the events that opened.
        reason: why the others did not, empty if all did.
    """

    available: tuple[str, ...]
    reason: str


def hardware_counters() -> HardwareCounters:
    """Try to open each generic hardware counter for the calling thread, and close it again."""
    number = _PERF_EVENT_OPEN.get(platform.machine())
    if platform.system() != "Linux":
        return HardwareCounters((), f"perf_event_open is Linux's; this is {platform.system()}")
    if number is None:
        return HardwareCounters((), f"perf_event_open's number is not known for {platform.machine()}")
    failures = {name: _try_counter(number, config) for name, config in _HARDWARE_EVENTS.items()}
    available = tuple(name for name, failure in failures.items() if not failure)
    return HardwareCounters(available, next((f for f in failures.values() if f), ""))


def _try_counter(number: int, config: int) -> str:
    """Open and close one hardware counter; the reason it would not open, empty if it did."""
    flags = _DISABLED | _EXCLUDE_KERNEL | _EXCLUDE_HYPERVISOR
    attr = _PerfEventAttr(type=0, size=ctypes.sizeof(_PerfEventAttr), config=config, flags=flags)
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.restype = ctypes.c_long
    this_thread, any_cpu, no_group, no_flags = 0, -1, -1, 0
    descriptor = syscall(
        ctypes.c_long(number),
        ctypes.byref(attr),
        ctypes.c_long(this_thread),
        ctypes.c_long(any_cpu),
        ctypes.c_long(no_group),
        ctypes.c_ulong(no_flags),
    )
    if descriptor >= 0:
        os.close(descriptor)
        return ""
    return _explain(ctypes.get_errno())


def _explain(code: int) -> str:
    name = errno.errorcode.get(code, str(code))
    if code in (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV):
        return f"{name}: the processor, as this (virtual) machine shows it, has no such counter"
    if code in (errno.EACCES, errno.EPERM):
        paranoid = _read(Path("/proc/sys/kernel/perf_event_paranoid")).strip() or "unknown"
        return (
            f"{name}: not permitted (kernel.perf_event_paranoid is {paranoid}; a container may forbid it too)"
        )
    return f"{name}: {os.strerror(code)}"
