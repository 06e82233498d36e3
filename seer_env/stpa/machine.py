"""What a choice of threads depends on of the machine and of this process, and the counts it may be."""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import dataclass

import numba

from seer_env.machine import cpu_limits, physical_cores, processor

__all__ = ["Machine", "describe", "ladder"]


@dataclass(frozen=True)
class Machine:
    """The machine as this process sees it.

    Attributes:
        processor: its name.
        affinity: CPUs in the affinity mask.
        quota: CPUs' worth of time that the tightest cgroup grants, or None.
        cores: physical cores behind the affinity mask; fewer than `affinity` where cores have several
            hardware threads (SMT).
        numba_threads: the most threads that numba runs in this process.
        torch_threads: threads of torch's pool in this process, the caller's included; 0 without torch.
        cpus: effective CPUs for a world: see `describe`.
    """

    processor: str
    affinity: int
    quota: float | None
    cores: int
    numba_threads: int
    torch_threads: int
    cpus: int

    @property
    def fingerprint(self) -> str:
        """Hex digest: choices made on one machine hold on another with the same one."""
        return hashlib.blake2b(repr(self).encode(), digest_size=8).hexdigest()


def describe(root: str | os.PathLike = "/") -> Machine:
    """Describe the machine now; affinity, quota and torch's pool may change while a process runs.

    Effective CPUs are the lesser of affinity mask and quota. A torch pool counts against them: a policy
    infers between steps, not during them, but its threads go on spinning for a while and wake up on the
    CPUs that a step has just used. So its threads beside the caller's are taken off, down to half of the
    CPUs: the two pools take turns, so giving torch more than half would leave CPUs idle. Worlds on two CPUs
    keep both of them.

    Args:
        root: folder in which `proc`, `sys` and the cgroup mounts are looked up.
    """
    limits = cpu_limits(root)
    torch_threads = _torch_threads()
    granted = limits.effective
    beside = max(granted - max(torch_threads - 1, 0), -(-granted // 2), min(granted, 2))
    return Machine(
        processor=processor(root),
        affinity=limits.affinity,
        quota=limits.quota,
        cores=physical_cores(root),
        numba_threads=int(numba.config.NUMBA_NUM_THREADS),
        torch_threads=torch_threads,
        cpus=beside,
    )


def ladder(machine: Machine) -> tuple[int, ...]:
    """The thread counts to choose from: 1, 2, 3, 4, 6, 8, 12, ..., and the effective CPUs as the last one."""
    most = max(1, min(machine.cpus, machine.numba_threads))
    rungs, power = {1, most}, 2
    while power < most:
        rungs |= {power, min(power + power // 2, most)}
        power *= 2
    return tuple(sorted(rungs))


def _torch_threads() -> int:
    """Threads of torch's pool; torch is asked only if something else has imported it."""
    torch = sys.modules.get("torch")
    return 0 if torch is None else int(torch.get_num_threads())
