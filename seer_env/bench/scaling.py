"""`seer-env bench scaling`: time over entities and over threads, and the efficiency of two threads.

entities    PHOLD without work, 100 to 1,000,000 entities: nanoseconds per event, the exponent of a step's
            time, and beside it what a random access to as much memory takes
efficiency  floor / (threads x wall): the handlers alone on one core, over the time of all threads
threads     1 to 8 threads, more than there are cores, of every parallel scheduler
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from seer_env.bench.calibration import NOTE, calibrate, phold_event_us
from seer_env.bench.child import Child
from seer_env.bench.experiment import Claim, Contender, Experiment, Group, Measure
from seer_env.bench.floor import Floor
from seer_env.bench.memory_walk import Walk
from seer_env.bench.phold import World
from seer_env.envs.phold import Phold
from seer_env.machine import effective_cpus

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from seer_env.bench.results import Results

ENTITIES = (100, 1_000, 10_000, 100_000, 1_000_000)
THREADS = (1, 2, 3, 4, 6, 8)
#: Entities and microseconds per event, whose efficiency is measured and whose threads are swept.
EFFICIENT = tuple((n, us) for us in (2, 10) for n in (1_000, 5_000, 20_000))
SWEPT = ((5_000, 0), (5_000, 1), (5_000, 10))
PARALLEL = ("seer", "ross-t", "nbse", "root-sim")
#: At least this floor / (threads x wall) on two threads, by microseconds per event.
EFFICIENCY = {2: 0.90, 10: 0.95}
#: Times that the cost of an event may grow from 1e3 to 1e6 entities; times its best time that `seer` may
#: take on eight threads.
GROWTH, OVERSUBSCRIBED = 4.0, 1.3
SERIAL, SEER, FLOOR, WALK = Contender("serial"), Contender("seer", 2), Contender("floor"), Contender("walk")
NS, EFFICIENT_PART, OVER_BEST = "ns/event", "efficiency", "it / its best"
#: Events in a measured window.
EVENTS, QUICK_EVENTS = 400_000, 20_000


@dataclass
class ScalingExperiment(Experiment):
    """Time over entities from 1e2 to 1e6, over threads from 1 to 8, and the efficiency of two threads."""

    name: ClassVar[str] = "scaling"
    columns: ClassVar[Mapping[str, str]] = {
        NS: ".1f", "ns/access": ".1f", EFFICIENT_PART: ".3f", OVER_BEST: ".2f"
    }  # fmt: skip

    def groups(self) -> Sequence[Group]:
        few = self.quick
        sizes = ENTITIES[1:4] if few else ENTITIES
        efficient = EFFICIENT[::3] if few else EFFICIENT
        swept = SWEPT[:1] if few else SWEPT
        return [
            *(Group(entities(n), partial(self.over_entities, n)) for n in sizes),
            *(self.calibrated(efficient_at(n, us), self.beside_the_floor, n, us) for n, us in efficient),
            *(self.calibrated(threads_at(n, us), self.over_threads, n, us) for n, us in swept),
        ]

    def calibrated(
        self, name: str, make: Callable[..., dict[Contender, Measure]], n: int, us: float
    ) -> Group:
        """A group whose events take so long; 0 microseconds is no work at all."""

        def prepare() -> dict[str, float]:
            if us == 0:
                return {"work": 0.0}
            world = self.world(n, us)
            found = calibrate(lambda work: phold_event_us(work, self.seed, **world), us)
            return {"work": found.work, "us/event": found.measured_us, "error %": 100.0 * found.error}

        return Group(name, lambda stack, found: make(n, us, int(found["work"]), stack), prepare=prepare)

    def over_entities(self, n: int, stack: ExitStack) -> dict[Contender, Measure]:
        """Two schedulers on a world of `n`, and a walk through as much memory."""
        model = Phold(**self.world(n, 0))
        return {
            SERIAL: warm(World(model, "serial", 1, self.seed)),
            SEER: warm(World(model, "seer", 2, self.seed)),
            WALK: Walk(n),
        }

    def beside_the_floor(self, n: int, us: float, work: int, stack: ExitStack) -> dict[Contender, Measure]:
        """The handlers alone, and schedulers that do the same events."""
        model = Phold(**self.world(n, us), work=work)
        floor = Floor(model, self.seed)
        stack.callback(floor.close)
        return {
            FLOOR: warm(partial(measure_floor, floor, model)),
            SERIAL: warm(World(model, "serial", 1, self.seed)),
            SEER: warm(World(model, "seer", 2, self.seed)),
        }

    def over_threads(self, n: int, us: float, work: int, stack: ExitStack) -> dict[Contender, Measure]:
        """All parallel schedulers at all thread counts, where numba has threads enough."""
        pool = {"NUMBA_NUM_THREADS": str(max(THREADS))}
        model = Phold(**self.world(n, us), work=work)
        child = Child(sweep, (model, self.seed, PARALLEL, THREADS), pool)
        stack.callback(child.close)
        return child.contenders

    def world(self, n: int, us: float) -> dict[str, Any]:
        """Arguments of `Phold`: `n` entities with one event each; a window holds enough events to time."""
        wanted = QUICK_EVENTS if self.quick else EVENTS
        events = max(wanted / (1.0 + 4.0 * us), 4.0 * n)
        return {"n": n, "population": 1, "lookahead": 0.5, "mean": 1.0, "remote": 1.0, "dt": 1.5 * events / n}

    def derived(self, results: Results, group: Group, contender: Contender) -> Mapping[str, float]:
        here = results.contenders(group.name)
        if FLOOR in here:
            return {EFFICIENT_PART: efficiency(results, group.name, contender)}
        if len(here) > len(THREADS):
            return {OVER_BEST: over_best(results, group.name, contender)}
        return {}

    def claims(self, results: Results) -> Sequence[Claim]:
        claims = []
        if all(results.turns(entities(n)) for n in (1_000, 1_000_000)):
            growth = better(results, 1_000_000) / better(results, 1_000)
            claims.append(Claim("cost of an event, 1e6 entities / 1e3", growth, "at most", GROWTH))
        for n, us in EFFICIENT:
            if results.turns(efficient_at(n, us)):
                measured = efficiency(results, efficient_at(n, us), SEER)
                claims.append(Claim(efficient_at(n, us), measured, "at least", EFFICIENCY[us]))
        for n, us in SWEPT:
            if results.turns(threads_at(n, us)):
                measured = over_best(results, threads_at(n, us), Contender("seer", 8))
                text = f"{threads_at(n, us)}: seer on eight, times its best"
                claims.append(Claim(text, measured, "at most", OVERSUBSCRIBED))
        return claims

    def notes(self, results: Results) -> Sequence[str]:
        notes = [
            f"{effective_cpus()} usable cores. Efficiency is floor / (threads x wall); above 1 means that "
            "going entity by entity was kinder to the cache than key order.",
            NOTE,
        ]
        sizes = [n for n in ENTITIES if results.turns(entities(n))]
        if len(sizes) > 1:
            notes.append(
                f"A step's time grows as entities ** {exponent(results, sizes):.3f}. An event touches some "
                "three cache lines of its own; `ns/access` is one dependent access to as many lines."
            )
        return notes

    def draw(self, results: Results, figure: Figure) -> None:
        left, middle, right = figure.subplots(1, 3)
        sizes = [n for n in ENTITIES if results.turns(entities(n))]
        for contender, quantity in ((SERIAL, NS), (SEER, NS), (WALK, "ns/access")):
            times = [results.median(entities(n), contender, quantity) for n in sizes]
            label = "a random access" if contender == WALK else str(contender)
            left.plot(sizes, times, "--" if contender == WALK else "-", marker="o", label=label)
        left.set(xscale="log", xlabel="entities", ylabel="ns per event", title="over entities")
        for us in EFFICIENCY:
            n = [n for n, work in EFFICIENT if work == us and results.turns(efficient_at(n, us))]
            parts = [efficiency(results, efficient_at(each, us), SEER) for each in n]
            middle.plot(n, parts, marker="o", label=f"{us} us events")
        middle.set(xscale="log", xlabel="entities", ylim=(0.0, 1.1), title="floor / (2 threads x wall)")
        swept = [cell for cell in SWEPT if results.turns(threads_at(*cell))]
        for name in PARALLEL if swept else ():
            group = threads_at(*swept[len(swept) // 2])
            times = [results.median(group, Contender(name, t), NS) for t in THREADS]
            right.plot(THREADS, np.array(times) / min(times), marker="o", label=name)
            right.set(xlabel="threads", ylabel="time / its best", title=group)
        for axes in (left, middle, right):
            axes.set_ylim(bottom=0.0)
            axes.legend(fontsize="small")


def entities(n: int) -> str:
    """Name of a group."""
    return f"{n:,} entities"


def efficient_at(n: int, us: float) -> str:
    """Name of a group."""
    return f"efficiency, {n:,} entities, {us:g} us"


def threads_at(n: int, us: float) -> str:
    """Name of a group."""
    return f"threads, {n:,} entities, {us:g} us"


def warm(measure: Measure) -> Measure:
    """The same measure, after a first window."""
    measure()
    return measure


def measure_floor(floor: Floor, model: Phold) -> dict[str, float]:
    """The next window's handlers alone."""
    seconds = floor.window(np.zeros((0, model.action_size)), np.zeros(0, bool))
    return {NS: 1e9 * seconds / max(floor.events, 1), "events": floor.events}


def sweep(
    model: Phold, seed: int, schedulers: Sequence[str], threads: Sequence[int], stack: ExitStack
) -> dict[Contender, Measure]:
    """Every scheduler at every thread count, after a first window."""
    return {
        Contender(name, count): warm(World(model, name, count, seed))
        for name in schedulers
        for count in threads
    }


def efficiency(results: Results, group: str, contender: Contender) -> float:
    """floor / (threads x wall)."""
    return results.ratio(group, FLOOR, contender, NS) / contender.threads


def over_best(results: Results, group: str, contender: Contender) -> float:
    """Its time over the best that the same scheduler takes on any number of threads."""
    own = [c for c in results.contenders(group) if c.name == contender.name]
    return results.ratio(group, contender, results.best(group, own, NS), NS) if own else math.nan


def better(results: Results, n: int) -> float:
    """Nanoseconds per event of the better of one thread and two."""
    return results.median(entities(n), results.best(entities(n), (SERIAL, SEER), NS), NS)


def exponent(results: Results, sizes: Sequence[int]) -> float:
    """Slope of the time of a step over entities, both as logarithms: a least-squares fit."""
    times = [n * better(results, n) for n in sizes]
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
