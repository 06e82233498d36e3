"""`seer-env bench phold`: the engine against a numba heap that runs PHOLD and nothing else.

Per row and turn every contender runs the same window `[k*dt, (k+1)*dt)` of the same world; a first
window is a warm-up.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from seer_env.bench.experiment import Claim, Contender, Experiment, Group
from seer_env.bench.inlined_heap import HeapPhold
from seer_env.bench.options import check_threads
from seer_env.commands.output import CommandError
from seer_env.envs.phold import Phold
from seer_env.runtime.engine import ONE_THREAD, make_engine

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from seer_env.bench.results import Results


@dataclass(frozen=True)
class Row:
    """One PHOLD configuration; see `Phold` for the fields. `dt` makes a window of about a second."""

    n: int
    population: int
    work: int
    lookahead: float
    mean: float
    remote: float
    dt: float


#: A..H: delay 0.1 + Exp(0.9). 1..8: delay lookahead + Exp(1), every target drawn from all.
ROWS = {
    "A": Row(1024, 1, 0, 0.1, 0.9, 0.5, 1000.0),
    "B": Row(1024, 16, 0, 0.1, 0.9, 0.5, 100.0),
    "C": Row(4096, 4, 0, 0.1, 0.9, 0.5, 100.0),
    "D": Row(16384, 1, 0, 0.1, 0.9, 0.5, 100.0),
    "E": Row(1024, 4, 0, 0.1, 0.9, 0.1, 400.0),
    "F": Row(1024, 4, 0, 0.1, 0.9, 0.9, 400.0),
    "G": Row(1024, 1, 4100, 0.1, 0.9, 0.5, 100.0),
    "H": Row(1024, 1, 41000, 0.1, 0.9, 0.5, 10.0),
    "1": Row(1000, 1, 0, 0.5, 1.0, 1.0, 1000.0),
    "2": Row(5000, 1, 0, 0.5, 1.0, 1.0, 400.0),
    "3": Row(5000, 4, 0, 0.5, 1.0, 1.0, 100.0),
    "4": Row(5000, 1, 500, 0.5, 1.0, 1.0, 100.0),
    "5": Row(5000, 1, 5000, 0.5, 1.0, 1.0, 20.0),
    "6": Row(5000, 1, 0, 0.01, 1.0, 1.0, 200.0),
    "7": Row(5000, 1, 0, 0.0, 1.0, 1.0, 20.0),
    "8": Row(100000, 1, 0, 0.5, 1.0, 1.0, 20.0),
}
#: `--quick` divides windows by this.
QUICK = 20.0

#: PHOLD written out on a heap; no scheduler, but stricter than `heap`.
INLINED = "inlined-heap"
Name = Literal[
    "inlined-heap", "heap", "python", "serial", "seer", "ross-t", "ross-t:round-robin", "nbse", "root-sim"
]
HEAP, SERIAL, SEER = Contender(INLINED), Contender("serial"), Contender("seer", 2)
#: Times as fast as the heap that `seer` on two threads should be.
AT_LEAST = {"B": 1.6, "C": 1.6, "D": 1.6, "G": 1.9, "H": 1.9}


@dataclass
class PholdExperiment(Experiment):
    """Nanoseconds per PHOLD event: `serial` and `seer` beside a numba heap with the model inlined."""

    name: ClassVar[str] = "phold"
    columns: ClassVar[Mapping[str, str]] = {"ns/event": ".1f", "heap / it": ".2f"}

    rows: tuple[str, ...] = tuple(ROWS)
    """Rows to run: A..H and 1..8."""
    schedulers: tuple[Name, ...] = ("inlined-heap", "serial", "seer")
    """Contenders."""
    threads: tuple[int, ...] = (1, 2)
    """Thread counts of `seer` and of the systems to compare it with."""

    def groups(self) -> Sequence[Group]:
        unknown = [name for name in self.rows if name not in ROWS]
        if unknown:
            raise CommandError(f"--rows: no row {unknown[0]!r}; there are {' '.join(ROWS)}")
        check_threads(self.threads)
        facts = ("n", "population", "work", "lookahead", "remote")
        return [
            Group(f"row {name}", partial(self.make, name), {f: getattr(ROWS[name], f) for f in facts})
            for name in self.rows
        ]

    def make(self, name: str, stack: ExitStack) -> dict[Contender, World]:
        """The contenders on a row, after a first window."""
        row = ROWS[name]
        dt = row.dt / QUICK if self.quick else row.dt
        worlds = {}
        for scheduler in self.schedulers:
            for threads in (1,) if scheduler in (INLINED, *ONE_THREAD) else self.threads:
                world = World(Phold(**{**vars(row), "dt": dt}), scheduler, threads, self.seed)
                world()
                worlds[Contender(scheduler, threads)] = world
        return worlds

    def derived(self, results: Results, group: Group, contender: Contender) -> Mapping[str, float]:
        if not results.values(group.name, HEAP, "ns/event"):
            return {}
        return {"heap / it": results.ratio(group.name, HEAP, contender, "ns/event")}

    def claims(self, results: Results) -> Sequence[Claim]:
        claims = []
        for group in results.groups():
            ours = [c for c in results.contenders(group) if c.name in ("serial", "seer")]
            if HEAP not in results.contenders(group) or not ours:
                continue
            best = results.best(group, ours, "ns/event")
            gain = results.ratio(group, HEAP, best, "ns/event")
            claims.append(
                Claim(f"{group}: times as fast as the heap, the better of ours", gain, "at least", 1.0)
            )
            limit = AT_LEAST.get(group.removeprefix("row "))
            if limit and SEER in ours:
                gain = results.ratio(group, HEAP, SEER, "ns/event")
                claims.append(
                    Claim(f"{group}: times as fast as the heap, two threads", gain, "at least", limit)
                )
        return claims

    def draw(self, results: Results, figure: Figure) -> None:
        axes = figure.subplots()
        groups = results.groups()
        contenders = list(dict.fromkeys(c for group in groups for c in results.contenders(group)))
        width = 0.8 / max(1, len(contenders))
        for i, contender in enumerate(contenders):
            speeds = [1e3 / results.median(group, contender, "ns/event") for group in groups]
            places = np.arange(len(groups)) + (i - (len(contenders) - 1) / 2) * width
            axes.bar(places, speeds, width, label=str(contender))
        axes.set_yscale("log")
        axes.set_xticks(range(len(groups)), [group.removeprefix("row ") for group in groups])
        axes.set(xlabel="row", ylabel="million events per second", title="PHOLD")
        axes.legend(ncols=4, fontsize="small")


class World:
    """A PHOLD world under one contender: the inlined heap, or a scheduler of the engine with its threads."""

    def __init__(self, model: Phold, scheduler: str, threads: int, seed: int):
        if scheduler == INLINED:
            heap = HeapPhold(model, seed)
            self._step, self._state = heap.step, lambda: heap.state
            return
        engine = make_engine(model, scheduler, threads)
        engine.reset(seed)
        actions, live = np.zeros((0, model.action_size)), np.zeros(0, bool)

        def step() -> int:
            engine.step(actions, live)
            return engine.stats.events

        self._step, self._state = step, lambda: engine.state

    def __call__(self) -> dict[str, float]:
        """Run the next window: wall nanoseconds per event, events, and a digest of the entities' rows."""
        start = time.perf_counter_ns()
        events = self._step()
        elapsed = time.perf_counter_ns() - start
        return {"ns/event": elapsed / max(events, 1), "events": events, "digest": digest(self._state())}


def digest(state: np.ndarray) -> int:
    """48 bits of a digest of the entities' rows: a whole number that a float holds exactly."""
    return int.from_bytes(hashlib.blake2b(state.tobytes(), digest_size=6).digest(), "little")
