"""`seer-env bench ablation`: what sharing events gains over static binding, and what STPA adds to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from seer_env.bench.experiment import Claim, Contender, Experiment, Group
from seer_env.bench.options import check_positive
from seer_env.bench.stepping import STPA, World, choice, choice_claims, contest
from seer_env.machine import effective_cpus

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from seer_env.bench.results import Results

POLICIES = {"aircraft_v0": "goal", "pcs_v0": "guard"}


@dataclass
class AblationExperiment(Experiment):
    """Time of a step of Aircraft and PCS as shipped: ross-t, seer with a thread per core, seer with STPA."""

    name: ClassVar[str] = "ablation"
    columns: ClassVar[Mapping[str, str]] = {
        "ms/step": ".3f", "beside ross-t": ".2f", "beside fixed": ".2f", "threads used": ".0f",
    }  # fmt: skip

    aircraft: tuple[int, ...] = (20, 200, 800)
    """Numbers of aircraft."""
    pcs: tuple[int, ...] = (20, 400, 3600)
    """Numbers of PCS cells."""
    seconds: float = 0.3
    """Wall seconds of steps per measurement of the first contender, one step at least."""

    def groups(self) -> Sequence[Group]:
        check_positive(aircraft=self.aircraft, pcs=self.pcs, seconds=[self.seconds])
        seconds = self.seconds / 3 if self.quick else self.seconds
        worlds = [
            World(name, POLICIES[name], {"n_agents": n})
            for name, sizes in (("aircraft_v0", self.aircraft), ("pcs_v0", self.pcs))
            for n in sizes
        ]
        return [
            Group(
                f"{world.name}, {world.arguments['n_agents']}",
                partial(contest, world, self.contenders, self.seed, seconds),
            )
            for world in worlds
        ]

    @property
    def contenders(self) -> tuple[Contender, Contender, Contender]:
        """`ross-t`, `seer` with a thread per core, and `seer` with threads of its choice."""
        return choice(effective_cpus())

    def derived(self, results: Results, group: Group, contender: Contender) -> Mapping[str, float]:
        ross, fixed, _ = self.contenders
        return {
            "beside ross-t": results.ratio(group.name, ross, contender, "ms/step"),
            "beside fixed": results.ratio(group.name, fixed, contender, "ms/step"),
        }

    def claims(self, results: Results) -> Sequence[Claim]:
        return choice_claims(results, self.contenders)

    def notes(self, results: Results) -> Sequence[str]:
        return (
            "'beside' is how many times as fast. "
            f"'{STPA}' is the env made with threads=\"auto\"; 'threads used' is what it chose on reset.",
        )

    def draw(self, results: Results, figure: Figure) -> None:
        axes, groups = figure.subplots(), results.groups()
        ross = self.contenders[0]
        for i, contender in enumerate(self.contenders):
            gains = [results.ratio(group, ross, contender, "ms/step") for group in groups]
            axes.bar(np.arange(len(groups)) + (i - 1) * 0.27, gains, 0.27, label=str(contender))
        axes.set_xticks(range(len(groups)), groups, rotation=15)
        axes.set(ylabel="times as fast as ross-t", title="Worlds as shipped")
        axes.legend()
