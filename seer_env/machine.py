"""What this machine grants the process: CPUs, after affinity and cgroup quotas, memory, and counters."""

from __future__ import annotations

import ctypes
import errno
import math
import os
import platform
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

__all__ = [
    "CpuLimits",
    "HardwareCounters",
    "cpu_limits",
    "effective_cpus",
    "hardware_counters",
    "memory_bytes",
    "open_counter",
    "physical_cores",
    "processor",
]


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


def physical_cores(root: str | os.PathLike = "/", cpus: Iterable[int] | None = None) -> int:
    """Cores behind the CPUs of the affinity mask: hardware threads of one core count once, >= 1.

    Args:
        root: folder in which `sys/devices/system/cpu` is looked up; where there is none, every CPU is a core.
        cpus: indices of the CPUs; those of the affinity mask by default.
    """
    if cpus is None:
        cpus = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    topology = "sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    siblings = (_read(Path(root) / topology.format(cpu)).strip() or str(cpu) for cpu in cpus)
    return max(1, len(set(siblings)))


def memory_bytes() -> float:
    """Bytes of the machine's memory; infinite where the system does not tell."""
    if not hasattr(os, "sysconf") or not {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= os.sysconf_names.keys():
        return math.inf
    return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


def processor(root: str | os.PathLike = "/") -> str:
    """The processor's name, where the system tells it."""
    lines = _read(Path(root) / "proc/cpuinfo").splitlines()
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or "unknown processor"


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
_EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR = 1 << 5, 1 << 6


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
    if platform.system() != "Linux":
        return HardwareCounters((), f"perf_event_open is Linux's; this is {platform.system()}")
    if platform.machine() not in _PERF_EVENT_OPEN:
        return HardwareCounters((), f"perf_event_open's number is not known for {platform.machine()}")
    available, reason = [], ""
    for name in _HARDWARE_EVENTS:
        try:
            os.close(open_counter(name))
            available.append(name)
        except OSError as error:
            reason = reason or _explain(error.errno or 0)
    return HardwareCounters(tuple(available), reason)


def open_counter(name: str, thread: int = 0) -> int:
    """A descriptor that counts one hardware event of a thread in user space, from now on.

    Each `os.read(descriptor, 8)` gives the count so far as a native uint64.

    Args:
        name: "cycles", "instructions", "cache references" or "cache misses".
        thread: the kernel's id of a thread of this process; 0 is the calling one.

    Raises:
        OSError: there is no such counter here, or it is forbidden.
    """
    number = _PERF_EVENT_OPEN.get(platform.machine())
    if platform.system() != "Linux" or number is None:
        raise OSError(errno.ENOSYS, "perf_event_open is not known here")
    attr = _PerfEventAttr(
        type=0,
        size=ctypes.sizeof(_PerfEventAttr),
        config=_HARDWARE_EVENTS[name],
        flags=_EXCLUDE_KERNEL | _EXCLUDE_HYPERVISOR,
    )
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.restype = ctypes.c_long
    any_cpu, no_group, no_flags = -1, -1, 0
    descriptor = syscall(
        ctypes.c_long(number),
        ctypes.byref(attr),
        ctypes.c_long(thread),
        ctypes.c_long(any_cpu),
        ctypes.c_long(no_group),
        ctypes.c_ulong(no_flags),
    )
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), f"perf_event_open: {name}")
    return descriptor


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
