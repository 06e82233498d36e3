"""`seer-env bench balance`: how evenly the work of a PCS hot spot falls on the workers.

Figure 11 of the SEER paper (arXiv 2611.07996), which gives variances of 23.79 for ross-t and 2.59 for
SEER. A worker's time is that in which it executes actions and events: the system's count of CPU time
would also hold the spinning of a worker that waits for others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from seer_env.bench.calibration import NOTE
from seer_env.bench.experiment import Claim, Contender, Group
from seer_env.bench.hot_spot import HOT_SHARE, hot_half, hot_spot
from seer_env.bench.pcs import PcsSystems

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from seer_env.bench.results import Results

GROUP = "hot spot"
#: ross-t's variance by seer's; the paper's is 9.2.
AT_LEAST = 9.0


@dataclass
class BalanceExperiment(PcsSystems):
    """CPU time of each worker under a PCS hot spot, and its variance over the workers."""

    name: ClassVar[str] = "balance"
    columns: ClassVar[Mapping[str, str]] = {
        "busiest %": ".1f", "idlest %": ".1f", "variance": ".2f", "ross-t / it": ".1f", "ms/step": ".1f",
    }  # fmt: skip

    def groups(self) -> Sequence[Group]:
        return self.loads({GROUP: hot_spot})

    def derived(self, results: Results, group: Group, contender: Contender) -> Mapping[str, float]:
        ross = Contender("ross-t", self.threads)
        return {"ross-t / it": results.ratio(group.name, ross, contender, "variance")}

    def claims(self, results: Results) -> Sequence[Claim]:
        if not results.turns(GROUP):
            return ()
        ross, seer = (Contender(name, self.threads) for name in ("ross-t", "seer"))
        ratio = results.ratio(GROUP, ross, seer, "variance")
        return [Claim("hot spot: ross-t's variance of worker time / seer's", ratio, "at least", AT_LEAST)]

    def notes(self, results: Results) -> Sequence[str]:
        return (
            NOTE,
            "Worker time: percent of the window's wall time in which the worker executed; variance in "
            "percent squared, over the workers, of the means over a measurement's steps.",
            f"Hot spot: a tenth of the cells has {HOT_SHARE:.0%} of the new calls, the half of the cells "
            f"that holds it {hot_half():.0%}.",
        )

    def draw(self, results: Results, figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        contenders = results.contenders(GROUP)
        places = np.arange(len(contenders))
        for worker, shift in (("busiest %", -0.2), ("idlest %", 0.2)):
            heights = [results.median(GROUP, contender, worker) for contender in contenders]
            left.bar(places + shift, heights, 0.4, label=f"{worker.removesuffix(' %')} worker")
        left.set(ylabel="percent of the window in which it executes", ylim=(0, 115))
        left.legend(ncols=2, fontsize="small")
        right.bar(places, [results.median(GROUP, contender, "variance") for contender in contenders], 0.5)
        right.set(yscale="log", ylabel="variance over workers, percent squared")
        for axes in (left, right):
            axes.set_xticks(places, [contender.name.replace(":", ":\n") for contender in contenders])
        figure.suptitle(f"PCS under a hot spot, {self.threads} workers")
