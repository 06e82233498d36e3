"""`seer-env bench pcs`: PCS with a hot spot and with a uniform load, under all systems.

Figure 10 of the SEER paper (arXiv 2611.07996): end-to-end throughput, the policy's choice of actions
included, and environment latency.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from seer_env.bench.calibration import NOTE, calibrated_group
from seer_env.bench.experiment import Claim, Contender, Experiment, Group
from seer_env.bench.hot_spot import HOT_SHARE, hot_half, hot_spot, uniform
from seer_env.bench.options import check_positive, check_threads
from seer_env.bench.stepping import World

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from seer_env.bench.results import Results

SYSTEMS = ("seer", "ross-t", "ross-t:round-robin", "nbse", "root-sim")
LOADS = {"hot spot": hot_spot, "uniform": uniform}
#: Percent by which seer's latency is to be below each system's under the hot spot.
BELOW = {"ross-t": 30.0, "nbse": 20.0, "root-sim": 65.0}
#: Percent by which it may be above ross-t's under a uniform load.
ABOVE = 3.0


@dataclass
class PcsSystems(Experiment):
    """Options of an experiment that runs all systems on PCS."""

    cells: int = 3600
    """Number of cells."""
    event_us: float = 10.0
    """Microseconds per event, set by the world's complexity."""
    threads: int = 2
    """Threads of every system."""
    seconds: float = 0.3
    """Wall seconds of steps per measurement of the first contender, one step at least."""

    def loads(self, worlds: Mapping[str, Callable[[int], World]]) -> list[Group]:
        """A group of all systems on each of the worlds, which are made for a number of cells."""
        check_threads([self.threads])
        check_positive(cells=[self.cells], event_us=[self.event_us], seconds=[self.seconds])
        cells = self.cells // 4 if self.quick else self.cells
        contenders = [Contender(name, self.threads) for name in SYSTEMS]
        measured = self.event_us, self.seed, self.seconds
        return [
            calibrated_group(load, world(cells), contenders, *measured, {"cells": cells})
            for load, world in worlds.items()
        ]


@dataclass
class PcsExperiment(PcsSystems):
    """Latency and end-to-end throughput of PCS, with a hot spot and with a uniform load."""

    name: ClassVar[str] = "pcs"
    columns: ClassVar[Mapping[str, str]] = {
        "ms/step": ".1f", "seer below it by %": ".1f", "end-to-end steps/s": ".2f",
    }  # fmt: skip

    def groups(self) -> Sequence[Group]:
        return self.loads(LOADS)

    def derived(self, results: Results, group: Group, contender: Contender) -> Mapping[str, float]:
        return {"seer below it by %": self.below(results, group.name, contender)}

    def below(self, results: Results, group: str, other: Contender) -> float:
        """Percent by which seer's latency is below another's."""
        seer = Contender("seer", self.threads)
        return 100.0 * (1.0 - results.ratio(group, seer, other, "ms/step"))

    def claims(self, results: Results) -> Sequence[Claim]:
        claims = []
        if results.turns("hot spot"):
            for name, limit in BELOW.items():
                below = self.below(results, "hot spot", Contender(name, self.threads))
                claims.append(Claim(f"hot spot: latency below {name}, percent", below, "at least", limit))
        if results.turns("uniform"):
            above = -self.below(results, "uniform", Contender("ross-t", self.threads))
            claims.append(Claim("uniform: latency above ross-t, percent", above, "at most", ABOVE))
        return claims

    def notes(self, results: Results) -> Sequence[str]:
        return (
            NOTE,
            f"Hot spot: a tenth of the cells, in one half of their order, has {HOT_SHARE:.0%} of the new "
            f"calls, that half {hot_half():.0%}. Were handoffs, announcements and actions free, two blocks "
            f"would take {2 * hot_half():.2f} times as long as an even division: no scheduler could be "
            f"below ross-t by more than {100 - 50 / hot_half():.0f} %.",
            "ross-t binds blocks of neighbours, ross-t:round-robin the cells in turn.",
        )

    def draw(self, results: Results, figure: Figure) -> None:
        loads = [load for load in LOADS if results.turns(load)]
        left, right = figure.subplots(1, 2)
        for axes, quantity, label in zip(
            (left, right),
            ("ms/step", "end-to-end steps/s"),
            ("environment latency, milliseconds per step", "end-to-end steps per second"),
        ):
            width = 0.8 / len(SYSTEMS)
            for i, name in enumerate(SYSTEMS):
                heights = [results.median(load, Contender(name, self.threads), quantity) for load in loads]
                places = np.arange(len(loads)) + (i - (len(SYSTEMS) - 1) / 2) * width
                axes.bar(places, heights, width, label=name)
            axes.set_xticks(range(len(loads)), loads)
            axes.set(ylabel=label)
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=len(SYSTEMS))
        figure.suptitle(f"PCS, {self.event_us:g} microsecond events, {self.threads} threads")
