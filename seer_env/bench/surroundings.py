"""What figures were measured on: machine, versions, load. Goes beside every result."""

from __future__ import annotations

import os
import platform
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from seer_env.machine import cpu_limits, processor

__all__ = ["load", "surroundings"]

PACKAGES = ("seer-env", "numpy", "numba", "llvmlite", "pettingzoo", "gymnasium", "torch", "magent2")


def surroundings() -> dict[str, Any]:
    """Machine and versions, ready for JSON; a package that is absent is None."""
    import numba

    limits = cpu_limits()
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "processor": processor(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cpus": os.cpu_count(),
        "affinity": limits.affinity,
        "quota": limits.quota,
        "effective_cpus": limits.effective,
        "most_threads": numba.config.NUMBA_NUM_THREADS,
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
    }


def load() -> list[float] | None:
    """Processes waiting to run, averaged over 1, 5 and 15 minutes, where the system tells."""
    return [round(value, 2) for value in os.getloadavg()] if hasattr(os, "getloadavg") else None


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
