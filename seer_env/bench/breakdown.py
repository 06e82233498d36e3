"""`seer-env bench breakdown`: where the time of a step goes when a policy acts, before and after.

Fig. 2 of the SEER paper (arXiv 2611.07996): observation gathering, policy inference, step window, outputs,
per step, with MAPPO's policy. Before: a heap of events and dicts. After: `seer` and arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from seer_env.bench.end_to_end import PARTS, ActorPolicy, ByArrays, ByDicts, measure_parts, torch_missing
from seer_env.bench.experiment import Claim, Contender, Experiment, Group, Measure
from seer_env.bench.options import check_seconds
from seer_env.registration import make

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from seer_env.bench.results import Results

#: Sizes of the paper.
SIZES = {"aircraft_v0": (206, 400, 800, 1426), "pcs_v0": (800, 1600, 2500, 3600, 4900)}
BEFORE, BETWEEN, AFTER = Contender("heap, dicts"), Contender("seer, dicts", 2), Contender("seer, arrays", 2)
#: Part of the end-to-end latency that must go: the paper's gain on Aircraft, and ours on PCS of 3600.
LESS = {"aircraft_v0": (0.162, SIZES["aircraft_v0"]), "pcs_v0": (0.4, (3600,))}
ENDLESS = 1 << 40


@dataclass
class BreakdownExperiment(Experiment):
    """Observation gathering, policy inference, step window and outputs of a step with MAPPO's policy."""

    name: ClassVar[str] = "breakdown"
    columns: ClassVar[Mapping[str, str]] = {
        "total": ".3f", **dict.fromkeys(PARTS, ".3f"), "environment's share": ".0%", "less than before": ".1%"
    }  # fmt: skip

    seconds: float = 0.5
    """Wall seconds per measurement."""

    def missing(self) -> str | None:
        return torch_missing()

    def groups(self) -> Sequence[Group]:
        check_seconds(self.seconds)
        sizes = {world: several[::3] if self.quick else several for world, several in SIZES.items()}
        return [
            Group(group_name(world, n), partial(self.make, world, n))
            for world, several in sizes.items()
            for n in several
        ]

    def make(self, world: str, n: int, stack: ExitStack) -> dict[Contender, Measure]:
        """The same policy in the same world, before and after."""
        loops: dict[Contender, ByArrays | ByDicts] = {}
        for contender, kind in ((BEFORE, ByDicts), (BETWEEN, ByDicts), (AFTER, ByArrays)):
            scheduler = contender.name.split(",")[0]
            env = make(world, n_agents=n, scheduler=scheduler, threads=contender.threads, max_cycles=ENDLESS)
            stack.callback(env.close)
            policy = ActorPolicy(env.model.observation_size, env.model.action_space, self.seed)
            loops[contender] = kind(env, policy, self.seed)
            measure_parts(loops[contender], 0.05)
        span = 0.05 if self.quick else self.seconds
        return {contender: partial(measure_parts, loop, span) for contender, loop in loops.items()}

    def derived(self, results: Results, group: Group, contender: Contender) -> Mapping[str, float]:
        total = results.median(group.name, contender, "total")
        inference = results.median(group.name, contender, "inference")
        figures = {"environment's share": 1.0 - inference / total}
        if contender != BEFORE:
            figures["less than before"] = 1.0 - results.ratio(group.name, contender, BEFORE, "total")
        return figures

    def claims(self, results: Results) -> Sequence[Claim]:
        return [
            Claim(
                f"{group_name(world, n)}: part of the latency that goes",
                1.0 - results.ratio(group_name(world, n), AFTER, BEFORE, "total"),
                "at least",
                limit,
            )
            for world, (limit, several) in LESS.items()
            for n in several
            if results.turns(group_name(world, n))
        ]

    def notes(self, results: Results) -> Sequence[str]:
        return ["Times are milliseconds per step. Inference is torch's, on torch's own threads."]

    def draw(self, results: Results, figure: Figure) -> None:
        axes = figure.subplots()
        groups = results.groups()
        colours = dict(zip(PARTS, ("tab:gray", "tab:blue", "tab:orange", "tab:green")))
        for offset, contender in ((-0.27, BEFORE), (0.0, BETWEEN), (0.27, AFTER)):
            places, bottom = np.arange(len(groups)) + offset, np.zeros(len(groups))
            for part in PARTS:
                height = np.array([results.median(group, contender, part) for group in groups])
                label = part if contender == BEFORE else None
                axes.bar(places, height, 0.25, bottom, color=colours[part], label=label)
                bottom += height
        axes.set_xticks(range(len(groups)), groups, rotation=30, ha="right", fontsize="small")
        axes.set_ylabel("milliseconds per step")
        axes.set_title(f"Left to right: {BEFORE}; {BETWEEN}; {AFTER}")
        axes.legend()


def group_name(world: str, n: int) -> str:
    """A group's name."""
    return f"{world}, {n} agents"
