"""`seer-env bench profile`: where the time of every scheduler goes, on PHOLD and on PCS.

By the engine's own counts: what its workers did while they did not wait, what one of them did alone while the
others waited, what was executed in vain.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from seer_env.bench.calibration import NOTE, calibrated_group
from seer_env.bench.experiment import Contender, Experiment, Group
from seer_env.bench.hot_spot import hot_spot, uniform
from seer_env.bench.options import check_positive, check_threads
from seer_env.bench.phold import QUICK, ROWS, digest
from seer_env.bench.stepping import Stepping, World
from seer_env.commands.output import CommandError
from seer_env.envs.phold import Phold
from seer_env.runtime.engine import Engine, make_engine
from seer_env.runtime.stats import StepStats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from seer_env.bench.results import Results

SERIAL = Contender("serial")
SYSTEMS = ("seer", "ross-t", "nbse", "root-sim")
LOADS = {"hot spot": hot_spot, "uniform": uniform}
#: Windows of PHOLD are a tenth of those of `bench phold`: all contenders take turns within seconds.
SHORTER = 10.0


@dataclass
class ProfileExperiment(Experiment):
    """Where the time of an event goes under every scheduler: work, work alone, waiting, rollbacks."""

    name: ClassVar[str] = "profile"
    columns: ClassVar[Mapping[str, str]] = {
        "ns/event": ".0f", "work, ns/event": ".0f", "work / serial": ".2f", "alone %": ".0f", "idle %": ".0f",
        "undone %": ".1f", "lost claims/1000": ".1f",
    }  # fmt: skip

    rows: tuple[str, ...] = ("A", "B", "D", "G")
    """Rows of PHOLD: A..H and 1..8, see `bench phold`."""
    loads: tuple[str, ...] = tuple(LOADS)
    """Loads of PCS: "hot spot", "uniform"."""
    cells: int = 3600
    """Number of PCS cells."""
    event_us: float = 10.0
    """Microseconds per event of PCS, set by the world's complexity."""
    threads: tuple[int, ...] = (1, 2, 8)
    """Thread counts of every system."""

    def groups(self) -> Sequence[Group]:
        for option, given, known in (("rows", self.rows, ROWS), ("loads", self.loads, LOADS)):
            unknown = [name for name in given if name not in known]
            if unknown:
                raise CommandError(f"--{option}: no {unknown[0]!r}; there are {', '.join(known)}")
        check_threads(self.threads)
        check_positive(cells=[self.cells], event_us=[self.event_us])
        cells = self.cells // 4 if self.quick else self.cells
        return [
            *(Group(f"PHOLD row {row}", partial(self.make_phold, row)) for row in self.rows),
            *(self.pcs_group(load, LOADS[load](cells), cells) for load in self.loads),
        ]

    def pcs_group(self, load: str, world: World, cells: int) -> Group:
        """PCS with events of the wanted time."""
        group = calibrated_group(f"PCS {load}", world, (), self.event_us, self.seed, 1.0, {"cells": cells})
        return replace(group, make=partial(self.make_pcs, world))

    @property
    def contenders(self) -> list[Contender]:
        """`serial`, and every system on every number of threads."""
        return [SERIAL, *(Contender(name, threads) for threads in self.threads for name in SYSTEMS)]

    def make_phold(self, row: str, stack: ExitStack) -> dict[Contender, Profiled]:
        """The contenders on a row, after a first window."""
        dt = ROWS[row].dt / (SHORTER * QUICK if self.quick else SHORTER)
        made = {}
        for contender in self.contenders:
            model = Phold(**{**vars(ROWS[row]), "dt": dt})
            engine = make_engine(model, *contender)
            stack.callback(engine.close)
            engine.reset(self.seed)
            nobody = np.zeros((0, model.action_size)), np.zeros(0, bool)
            step, stats = partial(engine.step, *nobody), partial(getattr, engine, "stats")
            made[contender] = Profiled(step, stats, partial(state_digest, engine))
            made[contender]()
        return made

    def make_pcs(
        self, world: World, stack: ExitStack, found: Mapping[str, float]
    ) -> dict[Contender, Profiled]:
        """The contenders on PCS, after a first step."""
        made = {}
        for contender in self.contenders:
            stepping = Stepping(world.but(complexity=int(found["complexity"])), *contender, self.seed)
            stack.callback(stepping.close)
            made[contender] = Profiled(
                stepping.step, partial(getattr, stepping.env, "last_step_stats"), stepping.digest
            )
            made[contender]()
        return made

    def derived(self, results: Results, group: Group, contender: Contender) -> Mapping[str, float]:
        return {"work / serial": results.ratio(group.name, contender, SERIAL, "work, ns/event")}

    def notes(self, results: Results) -> Sequence[str]:
        return (
            NOTE,
            "Work: time in which workers did not wait, all together, per event that counts; under root-sim "
            "with saving, undoing and what was undone. On more threads than cores it holds time in which "
            "another thread had the core.",
            "Alone: of the time of the step, what one worker did between two phases, the small ones "
            "included. Idle: of the time of all workers, what they waited.",
        )

    def draw(self, results: Results, figure: Figure) -> None:
        groups = results.groups()
        for k, (axes, group) in enumerate(zip(figure.subplots(1, len(groups), squeeze=False)[0], groups)):
            contenders = results.contenders(group)
            places = np.arange(len(contenders))
            axes.barh(places, [results.median(group, contender, "ns/event") for contender in contenders])
            axes.set_yticks(places, [] if k else [str(contender) for contender in contenders])
            axes.invert_yaxis()
            axes.set(title=group, xlabel="ns per event")


def state_digest(engine: Engine) -> int:
    """48 bits of a digest of the entities' rows."""
    return digest(engine.state)


class Profiled:
    """A world under a scheduler; calling it runs a step and tells where its time went."""

    def __init__(self, step: Callable[[], object], stats: Callable[[], StepStats], digest: Callable[[], int]):
        self._step, self._stats, self._digest = step, stats, digest

    def __call__(self) -> dict[str, float]:
        """Run a step: its wall time and what `ProfileExperiment.columns` explains."""
        start = time.perf_counter()
        self._step()
        elapsed = time.perf_counter() - start
        return {**shares(self._stats(), elapsed), "digest": self._digest()}


def shares(stats: StepStats, elapsed: float) -> dict[str, float]:
    """Where the `elapsed` seconds of a step went, by its statistics."""
    events, workers = max(stats.events, 1), stats.workers
    undone = sum(worker.undone for worker in workers)
    return {
        "ns/event": 1e9 * elapsed / events,
        "work, ns/event": 1e9 * sum(worker.busy_s - worker.outputs_s for worker in workers) / events,
        "alone %": 100.0 * sum(worker.alone_s for worker in workers) / elapsed,
        "idle %": 100.0 * stats.idle_share,
        "undone %": 100.0 * undone / (stats.events + undone) if undone else 0.0,
        "lost claims/1000": 1e3 * stats.lost_claims / events,
    }
