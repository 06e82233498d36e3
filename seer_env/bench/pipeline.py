"""`seer-env bench pipeline`: MAPPO's plain loop beside overlapping rollouts, in samples per second.

Each contender trains in a process of its own: idle threads of one would slow the barriers of another.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

from seer_env.bench.child import Child
from seer_env.bench.experiment import Claim, Contender, Experiment, Group, Measure
from seer_env.bench.options import check_seconds
from seer_env.commands.train import missing_packages

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from seer_env.bench.results import Results

#: A contender's threads are those of one network's operations; actor and critic train beside each other, and
#: windows have as many threads as their env chooses. The plain loop is the better of networks on one thread
#: and on two. On one core it does all of that in turn: twice as fast is the most that two can be.
PLAIN = (Contender("plain loop"), Contender("plain loop", 2))
ONE_CORE = Contender("one core")
RING, AHEAD, BOTH = Contender("ring"), Contender("asynchronous"), Contender("ring and asynchronous")
SETTINGS: dict[Contender, dict[str, Any]] = {
    **({ONE_CORE: {}} if hasattr(os, "sched_setaffinity") else {}),
    **{plain: {} for plain in PLAIN},
    RING: {"ring": 2},
    AHEAD: {"staleness": 1, "engine": "process"},
    BOTH: {"staleness": 1, "engine": "process", "ring": 2},
}
#: As in configs/train, but for what the name of a piece of work says: with fewer passes rollouts weigh more.
AIRCRAFT: dict[str, Any] = {
    "env": "aircraft_v0", "world": {"n_agents": 100}, "copies": 2, "rollout_steps": 64, "minibatch_size": 3200
}  # fmt: skip
CELLS: dict[str, Any] = {
    "n_agents": 100, "topology": "square", "channels": 4, "interarrival": 12.0, "residence": 40.0,
    "hotspot": 0.3, "skew": 10.0, "discrete": True,
}  # fmt: skip
PCS: dict[str, Any] = {
    "env": "pcs_v0", "world": CELLS, "copies": 8, "rollout_steps": 32, "minibatch_size": 6400,
    "neighbour_reward": 1.0,
}  # fmt: skip
WORK: dict[str, dict[str, Any]] = {
    "aircraft, 2 passes": AIRCRAFT | {"epochs": 2},
    "aircraft, 5 passes": AIRCRAFT | {"epochs": 5},
    "pcs, 1 pass": PCS | {"epochs": 1},
    "pcs, 2 passes": PCS | {"epochs": 2},
    "pcs, 4 passes": PCS | {"epochs": 4},
    "pcs of 400 cells, 2 passes": PCS | {"world": CELLS | {"n_agents": 400}, "copies": 2, "epochs": 2},
}
ENDLESS = 1_000_000


@dataclass
class PipelineExperiment(Experiment):
    """MAPPO's plain loop beside the environment ring and asynchronous rollouts, in decisions per second."""

    name: ClassVar[str] = "pipeline"
    columns: ClassVar[Mapping[str, str]] = {
        "decisions/s": ".0f", "rollouts, ms": ".1f", "training, ms": ".1f", "to one core": ".2f",
        "to the plain loop": ".2f",
    }  # fmt: skip

    seconds: float = 2.0
    """Wall seconds per measurement."""

    def missing(self) -> str | None:
        return missing_packages()

    def groups(self) -> Sequence[Group]:
        check_seconds(self.seconds)
        names = list(WORK)[: 1 if self.quick else None]
        return [Group(name, partial(self.make, WORK[name])) for name in names]

    def make(self, settings: Mapping[str, Any], stack: ExitStack) -> dict[Contender, Measure]:
        """A process for each contender."""
        contenders: dict[Contender, Measure] = {}
        for contender in SETTINGS:
            seed, span = self.seed, 0.1 if self.quick else self.seconds
            child = Child(training, ({**settings, "seed": seed % (1 << 31)}, contender, span), parent=True)
            stack.callback(child.close)
            contenders |= child.contenders
        return contenders

    def derived(self, results: Results, group: Group, contender: Contender) -> Mapping[str, float]:
        beside = {"to the plain loop": best_plain(results, group.name)}
        if ONE_CORE in SETTINGS:
            beside["to one core"] = ONE_CORE
        return {
            name: results.ratio(group.name, contender, other, "decisions/s") for name, other in beside.items()
        }

    def claims(self, results: Results) -> Sequence[Claim]:
        return [
            Claim(
                f"{group}: the better of {AHEAD} and {BOTH}, to the better plain loop",
                max(
                    results.ratio(group, contender, best_plain(results, group), "decisions/s")
                    for contender in (AHEAD, BOTH)
                ),
                "at least",
                1.25,
            )
            for group in results.groups()
        ]

    def notes(self, results: Results) -> Sequence[str]:
        return (
            "Milliseconds are an update's; where rollouts and training overlap, each is longer than alone. "
            "Operations on two threads wait at barriers: with another process on a core they slow down most.",
        )

    def draw(self, results: Results, figure: Figure) -> None:
        axes, groups = figure.subplots(), results.groups()
        width = 0.8 / len(SETTINGS)
        for i, contender in enumerate(SETTINGS):
            heights = [results.median(group, contender, "decisions/s") for group in groups]
            axes.bar([at + i * width for at in range(len(groups))], heights, width, label=str(contender))
        axes.set_xticks([at + 0.4 - width / 2 for at in range(len(groups))], groups)
        axes.set_ylabel("decisions per second")
        axes.legend()


def best_plain(results: Results, group: str) -> Contender:
    """The plain loop that is faster in the median."""
    return max(PLAIN, key=lambda contender: results.median(group, contender, "decisions/s"))


def training(
    settings: Mapping[str, Any], contender: Contender, seconds: float, stack: ExitStack
) -> dict[Contender, Measure]:
    """A run that has begun, in this process; each measurement goes on with it."""
    if contender == ONE_CORE:
        stack.callback(os.sched_setaffinity, 0, os.sched_getaffinity(0))
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import torch

    from seer_env.training.checkpoints import Progress
    from seer_env.training.config import TrainConfig
    from seer_env.training.trainer import one_update, set_up

    torch.set_num_threads(contender.threads)
    config = TrainConfig(**settings, **SETTINGS[contender], torch_threads=contender.threads, updates=ENDLESS)
    learner, rollouts = set_up(config)
    stack.callback(rollouts.close)
    rollouts.reset(config.seed)
    progress = Progress()
    go_on = partial(one_update, learner, rollouts, progress)
    for _ in range(3):
        go_on()

    def measure() -> dict[str, float]:
        done: list[dict[str, float]] = []
        before, started = progress.decisions, perf_counter()
        while not done or perf_counter() - started < seconds:
            done.append(go_on())
        with tempfile.TemporaryDirectory() as folder:  # waits for the rollouts ahead, which are not free
            rollouts.save(Path(folder))
        elapsed = perf_counter() - started
        return {
            "decisions/s": (progress.decisions - before) / elapsed,
            "rollouts, ms": 1e3 * sum(figures["charts/rollout_seconds"] for figures in done) / len(done),
            "training, ms": 1e3 * sum(figures["time/update"] for figures in done) / len(done),
        }

    return {contender: measure}
