"""`seer-env bench memory`: peak resident memory of every scheduler, each in a process of its own."""

from __future__ import annotations

import importlib
import re
import resource
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from seer_env.bench.child import Child
from seer_env.bench.experiment import Contender, Experiment, Group, Measure
from seer_env.bench.options import check_positive, check_threads
from seer_env.bench.stepping import STPA, Stepping, World, stpa

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from seer_env.bench.results import Results

#: A process that imports what an env imports, and makes none.
IMPORTS = Contender("imports only")
SHARING = ("seer", "ross-t", "nbse", "root-sim")
POLICIES = {"aircraft_v0": "goal", "pcs_v0": "guard"}


@dataclass
class MemoryExperiment(Experiment):
    """Peak resident memory of a process that makes an env, resets it and takes some steps."""

    name: ClassVar[str] = "memory"
    columns: ClassVar[Mapping[str, str]] = {"peak MiB": ".1f", "above imports, MiB": ".1f"}

    aircraft: int = 1426
    """Number of aircraft."""
    pcs: int = 3600
    """Number of PCS cells."""
    steps: int = 20
    """Steps of each process."""
    threads: int = 2
    """Threads of all but serial."""

    def groups(self) -> Sequence[Group]:
        check_threads([self.threads])
        check_positive(aircraft=[self.aircraft], pcs=[self.pcs], steps=[self.steps])
        worlds = {"pcs_v0": self.pcs} if self.quick else {"aircraft_v0": self.aircraft, "pcs_v0": self.pcs}
        return [
            Group(f"{name}, {n} entities", partial(self.make, World(name, POLICIES[name], {"n_agents": n})))
            for name, n in worlds.items()
        ]

    def make(self, world: World, stack: ExitStack) -> Mapping[Contender, Measure]:
        """A fresh process per contender and turn; one before the first, as compiling takes memory too."""
        contenders = [IMPORTS, Contender("serial"), *(Contender(name, self.threads) for name in SHARING)]
        steps = 3 if self.quick else self.steps
        measures = {c: partial(in_a_process, world, c, self.seed, steps) for c in (*contenders, stpa())}
        for measure in measures.values():
            measure()
        return measures

    def derived(self, results: Results, group: Group, contender: Contender) -> Mapping[str, float]:
        return {"above imports, MiB": self.above_imports(results, group.name, contender)}

    def above_imports(self, results: Results, group: str, contender: Contender) -> float:
        """What the env takes, MiB."""
        return results.median(group, contender, "peak MiB") - results.median(group, IMPORTS, "peak MiB")

    def notes(self, results: Results) -> Sequence[str]:
        return (
            f"'{IMPORTS}' is Python with numpy, numba and seer_env. The others also load compiled code, and "
            "hold the checkpoint that makes steps atomic. Nothing is compiled while measured.",
        )

    def draw(self, results: Results, figure: Figure) -> None:
        groups = results.groups()
        for axes, group in zip(figure.subplots(1, max(1, len(groups)), squeeze=False)[0], groups):
            contenders = [contender for contender in results.contenders(group) if contender != IMPORTS]
            places = np.arange(len(contenders))
            axes.bar(places, [self.above_imports(results, group, contender) for contender in contenders])
            axes.set_xticks(places, [str(contender) for contender in contenders], rotation=30, ha="right")
            axes.set(ylabel="peak memory above imports, MiB", title=group)


def in_a_process(world: World, contender: Contender, seed: int, steps: int) -> Mapping[str, float]:
    """Peak resident memory of a process that steps the world, and the digest at the end.

    Raises:
        RuntimeError: the process failed; its own error is on stderr.
    """
    child = Child(working, (world, contender, seed, steps))
    try:
        return child.contenders[contender]()
    finally:
        child.close()


def working(
    world: World, contender: Contender, seed: int, steps: int, stack: ExitStack
) -> dict[Contender, Measure]:
    """What the process does once when it is asked."""
    return {contender: partial(work, world, contender, seed, steps)}


def work(world: World, contender: Contender, seed: int, steps: int) -> dict[str, float]:
    """Step a world, or only import what an env imports; the peak, and the digest of what was stepped."""
    if contender == IMPORTS:
        importlib.import_module("seer_env.runtime.schedulers.compiled")
        return {"peak MiB": peak_mib()}
    name, threads = ("auto", "auto") if contender.name == STPA else contender
    stepping = Stepping(world, name, threads, seed)
    for _ in range(steps):
        stepping.step()
    peak = peak_mib()  # before the digest, which takes a copy
    digest = stepping.digest()
    stepping.close()
    return {"peak MiB": peak, "digest": digest}


def peak_mib() -> float:
    """Peak resident memory of this process, MiB.

    Linux's `ru_maxrss` begins with the peak of the process that started this one, so there it is
    "VmHWM" of /proc, which begins anew.
    """
    status = Path("/proc/self/status")
    found = re.search(r"^VmHWM:\s+(\d+) kB$", status.read_text(), re.MULTILINE) if status.exists() else None
    if found:
        return int(found[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)
