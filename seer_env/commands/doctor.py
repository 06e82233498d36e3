"""`seer-env doctor`: what this machine offers, and what to do about what is not right."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from seer_env import __version__
from seer_env.commands.output import check_writable, print_table, write_json
from seer_env.machine import CpuLimits, HardwareCounters, cpu_limits, hardware_counters

SUPPORTED = ((3, 10), (3, 13))
PROBE_TIMEOUT_S = 120.0
MARKS = {"ok": "ok", "note": "note", "fix": "FIX"}


@dataclass
class Doctor:
    """Examine Python, numba, its threads, the CPUs, hardware counters and the compile cache.

    Prints what was found and what to do about each thing that is not right. A `note` costs speed or
    a feature; a `FIX` keeps seer_env from working as it should, and makes the exit status 1.
    """

    json_file: Annotated[Path | None, tyro.conf.arg(name="json", metavar="FILE", help_behavior_hint="")] = (
        None
    )
    """Write the findings here too: a list of {name, value, level, advice}."""

    def main(self) -> int:
        """Examine and report; 1 if something must be fixed."""
        check_writable(self.json_file)
        findings = list(examine())
        print_table(
            "seer-env doctor", ("", "what", "found"), ((MARKS[f.level], f.name, f.value) for f in findings)
        )
        for finding in findings:
            if finding.advice:
                print(f"{MARKS[finding.level]}: {finding.name}: {finding.advice}")
        write_json(self.json_file, [asdict(finding) for finding in findings])
        return int(any(finding.level == "fix" for finding in findings))


@dataclass(frozen=True)
class Finding:
    """One thing examined; `advice` is empty where nothing needs doing."""

    name: str
    value: str
    level: Literal["ok", "note", "fix"] = "ok"
    advice: str = ""


def examine() -> Iterator[Finding]:
    """All findings about this process's machine, in reading order."""
    limits = cpu_limits()
    yield Finding("seer_env", __version__)
    yield python_finding(sys.version_info[:2], platform.python_implementation())
    yield from numba_findings(limits)
    yield Finding("idle workers", waiting_strategy())
    yield cpu_finding(limits)
    yield counter_finding(hardware_counters())
    from seer_env.runtime.compile import cache_directory

    yield cache_finding(Path(cache_directory()))


def waiting_strategy() -> str:
    """How workers wait on this platform."""
    from seer_env.runtime.waiting import describe

    return describe()


def python_finding(version: tuple[int, int], implementation: str) -> Finding:
    """Whether the interpreter is one that the project supports."""
    value = f"{implementation} {version[0]}.{version[1]} on {platform.system()} {platform.machine()}"
    if SUPPORTED[0] <= version <= SUPPORTED[1] and implementation == "CPython":
        return Finding("Python", value)
    low, high = (f"{a}.{b}" for a, b in SUPPORTED)
    return Finding("Python", value, "fix", f"install CPython {low} to {high}; make demo PYTHON=/path/to/it")


def numba_findings(limits: CpuLimits) -> Iterator[Finding]:
    """Ask a fresh process what numba does here; a probe that fails is itself the finding."""
    command = [sys.executable, "-m", "seer_env.commands.numba_probe"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        yield broken_numba(f"a parallel function did not end within {PROBE_TIMEOUT_S:.0f} s")
        return
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"it ended with status {done.returncode}"]
        yield broken_numba(last[0])
        return
    seen = json.loads(done.stdout.splitlines()[-1])
    yield jit_finding(seen)
    if seen["layer"] is None:
        yield missing_layer(seen["layer_fault"], os.environ)
    else:
        yield layer_finding(seen["layer"])
    yield cap_finding(seen["thread_cap"], limits, os.environ)
    yield svml_finding(seen["svml"])


def broken_numba(reason: str) -> Finding:
    """A parallel numba function could not run."""
    return Finding(
        "numba", f"a parallel function failed: {reason}", "fix",
        "reinstall numba (pip install --force-reinstall numba llvmlite), or choose another threading layer "
        "with NUMBA_THREADING_LAYER=workqueue; see `numba -s` for details",
    )  # fmt: skip


def jit_finding(seen: Mapping) -> Finding:
    """numba's version, and whether it compiles at all."""
    value = f"{seen['numba']} (llvmlite {seen['llvmlite']})"
    if seen["jit"]:
        return Finding("numba", value)
    return Finding(
        "numba", f"{value}, compilation disabled", "fix",
        "NUMBA_DISABLE_JIT is set: unset it, or use scheduler='python', which never compiles",
    )  # fmt: skip


def layer_finding(layer: str) -> Finding:
    """The threading layer that numba picked."""
    if layer != "workqueue":
        return Finding("threading layer", layer)
    advice = (
        "workqueue cannot serve two Python threads at once, so envs stepped from several threads run "
        "serially; `pip install tbb`, where there is one for this machine, gives a layer that can"
    )
    return Finding("threading layer", layer, "note", advice)


def missing_layer(fault: str, environ: Mapping[str, str]) -> Finding:
    """numba has no threading layer, or cannot load the one that it is told to."""
    name, asked = "threading layer", environ.get("NUMBA_THREADING_LAYER")
    if asked is None:
        return Finding(name, fault, "fix", "reinstall numba (pip install --force-reinstall numba llvmlite)")
    advice = "unset NUMBA_THREADING_LAYER, or install what that layer needs; until then, step with threads=1"
    return Finding(name, f"NUMBA_THREADING_LAYER={asked}: {fault}", "fix", advice)


def cap_finding(cap: int, limits: CpuLimits, environ: Mapping[str, str]) -> Finding:
    """How many threads numba can ever use in one process, against the CPUs there are."""
    name, wanted = "numba thread cap", limits.effective
    if cap >= wanted:
        return Finding(name, str(cap))
    origin = "NUMBA_NUM_THREADS is set" if "NUMBA_NUM_THREADS" in environ else "numba was imported first"
    advice = (
        f"{origin}: {wanted - cap} of {wanted} effective CPUs stay idle; set NUMBA_NUM_THREADS={2 * wanted}"
    )
    return Finding(name, str(cap), "note", advice)


def svml_finding(present: bool) -> Finding:
    """Whether numba uses Intel's short vector math library."""
    if not present:
        return Finding("SVML", "absent: math functions are libm's")
    advice = (
        "vectorised math may differ from libm in the last bit, and the `python` scheduler then from the "
        "compiled ones; NUMBA_DISABLE_INTEL_SVML=1 removes the difference"
    )
    return Finding("SVML", "in use", "note", advice)


def cpu_finding(limits: CpuLimits) -> Finding:
    """CPUs that can be kept busy, and what limits them."""
    quota = "no quota" if limits.quota is None else f"quota {limits.quota:g} in {limits.quota_source}"
    value = f"{limits.effective} (affinity {limits.affinity}, {quota})"
    if limits.effective > 1:
        return Finding("effective CPUs", value)
    return Finding("effective CPUs", value, "note", "one CPU: threads cannot shorten a step; use threads=1")


def counter_finding(counters: HardwareCounters) -> Finding:
    """Hardware counters, which refine measurements and are otherwise done without."""
    if not counters.reason:
        return Finding("hardware counters", ", ".join(counters.available))
    value = ", ".join(counters.available) or "none"
    advice = "nothing depends on them: measurements do without cache figures"
    if "not permitted" in counters.reason:
        advice += "; to allow them: sysctl kernel.perf_event_paranoid=2, and CAP_PERFMON in a container"
    return Finding("hardware counters", f"{value} ({counters.reason})", "note", advice)


def cache_finding(folder: Path) -> Finding:
    """Whether compiled code can be kept for the next process."""
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            return Finding("compile cache", str(folder))
    except OSError as error:
        advice = (
            f"{existing} is not writable ({error.strerror}), so every process compiles again; make it "
            "writable, or name another folder in SEER_ENV_CACHE_DIR"
        )
        return Finding("compile cache", str(folder), "fix", advice)
