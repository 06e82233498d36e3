"""`seer-env bench memory`: peak resident memory of every scheduler, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from seer_env.bench.experiment import Contender, Experiment, Group, Measure
from seer_env.bench.options import check_positive, check_threads
from seer_env.bench.stepping import STPA, World, stpa
from seer_env.commands.output import CommandError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from seer_env.bench.results import Results

#: A process that imports what the others import, and makes no env.
IMPORTS = Contender("imports only")
SHARING = ("seer", "ross-t", "nbse", "root-sim")
POLICIES = {"aircraft_v0": "goal", "pcs_v0": "guard"}


@dataclass
class Memory(Experiment):
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
            "hold the checkpoint that makes steps atomic.",
        )

    def draw(self, results: Results, figure: Figure) -> None:
        groups = results.groups()
        for axes, group in zip(figure.subplots(1, max(1, len(groups)), squeeze=False)[0], groups):
            contenders = [contender for contender in results.contenders(group) if contender != IMPORTS]
            places = np.arange(len(contenders))
            axes.bar(places, [self.above_imports(results, group, contender) for contender in contenders])
            axes.set_xticks(places, [str(contender) for contender in contenders], rotation=30, ha="right")
            axes.set(ylabel="peak memory above imports, MiB", title=group)


def in_a_process(world: World, contender: Contender, seed: int, steps: int) -> dict[str, float]:
    """Peak resident memory of a process that steps the world, and the digest at the end.

    Raises:
        CommandError: the process failed; with the last line that it wrote.
    """
    name, threads = ("auto", "auto") if contender.name == STPA else contender
    work = {
        "world": None if contender == IMPORTS else world.name,
        "policy": world.policy,
        "arguments": dict(world.arguments),
        "scheduler": name,
        "threads": threads,
        "seed": seed,
        "steps": steps,
    }
    command = [sys.executable, "-m", "seer_env.bench.memory_process", json.dumps(work)]
    process = subprocess.run(command, capture_output=True, text=True)
    if process.returncode:
        last = (process.stderr.strip().splitlines() or ["no message"])[-1]
        raise CommandError(f"memory: {contender} on {world.name} ended with {process.returncode}: {last}")
    return json.loads(process.stdout)
