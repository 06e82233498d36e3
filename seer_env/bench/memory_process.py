"""The process that `bench memory` starts: does the work it is given as JSON, and prints what it took."""

from __future__ import annotations

import importlib
import json
import re
import resource
import sys
from pathlib import Path
from typing import Any

from seer_env.bench.stepping import Stepping, World

__all__ = ["peak_mib", "run"]


def peak_mib() -> float:
    """Peak resident memory of this process, MiB.

    Linux's `ru_maxrss` begins with the peak of the process that started this one, so there it is
    `VmHWM` of /proc, which begins anew.
    """
    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"^VmHWM:\s+(\d+) kB$", status.read_text(), re.MULTILINE)
        if found:
            return int(found[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


def run(work: dict[str, Any]) -> dict[str, float]:
    """Step a world; the digest and the peak. Without a world, the peak of what an env imports."""
    if work["world"] is None:
        importlib.import_module("seer_env.env")
        importlib.import_module("seer_env.runtime.schedulers.compiled")
        return {"peak MiB": peak_mib()}
    world = World(work["world"], work["policy"], work["arguments"])
    stepping = Stepping(world, work["scheduler"], work["threads"], work["seed"])
    for _ in range(work["steps"]):
        stepping.step()
    peak = peak_mib()  # before the digest, which takes a copy
    digest = stepping.digest()
    stepping.close()
    return {"peak MiB": peak, "digest": digest}


if __name__ == "__main__":
    print(json.dumps(run(json.loads(sys.argv[1]))))
