"""`seer-env bench throughput`: Aircraft that do not communicate, over the time that an event takes.

Without communication no event crosses between aircraft and a step is one safe window: what is left to
the schedulers is how they divide work. Figure 7 of the SEER paper (arXiv 2611.07996).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from seer_env.bench.calibration import NOTE, calibrated_group
from seer_env.bench.experiment import Claim, Contender, Experiment, Group
from seer_env.bench.options import check_positive, check_threads
from seer_env.bench.stepping import STPA, World, choice, choice_claims

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from seer_env.bench.results import Results


@dataclass
class ThroughputExperiment(Experiment):
    """Steps and events per second of non-communicating Aircraft, over the time that an event takes."""

    name: ClassVar[str] = "throughput"
    columns: ClassVar[Mapping[str, str]] = {
        "steps/s": ".2f", "k events/s": ".1f", "beside ross-t": ".2f", "threads used": ".0f",
    }  # fmt: skip

    aircraft: tuple[int, ...] = (400, 800)
    """Numbers of aircraft."""
    event_us: tuple[float, ...] = (100.0, 200.0, 400.0, 800.0)
    """Microseconds per event, set by the world's complexity."""
    threads: int = 2
    """Threads of ross-t and of seer where it does not choose them."""
    seconds: float = 0.3
    """Wall seconds of steps per measurement, one step at least."""

    def groups(self) -> Sequence[Group]:
        check_threads([self.threads])
        check_positive(aircraft=self.aircraft, event_us=self.event_us, seconds=[self.seconds])
        sizes, times = (
            (self.aircraft[:1], self.event_us[:2]) if self.quick else (self.aircraft, self.event_us)
        )
        return [self.group(n // 2 if self.quick else n, us) for n in sizes for us in times]

    def group(self, n: int, us: float) -> Group:
        """`n` aircraft with events of `us` microseconds."""
        world = World("aircraft_v0", "goal", {"n_agents": n, "communication": False})
        name, facts = f"{n} aircraft, {us:g} us", {"aircraft": n}
        return calibrated_group(name, world, self.contenders, us, self.seed, self.seconds, facts)

    @property
    def contenders(self) -> tuple[Contender, Contender, Contender]:
        """`ross-t`, `seer` with fixed threads, and `seer` with threads of its choice."""
        return choice(self.threads)

    def derived(self, results: Results, group: Group, contender: Contender) -> Mapping[str, float]:
        ross, _, _ = self.contenders
        return {"beside ross-t": results.ratio(group.name, ross, contender, "ms/step")}

    def claims(self, results: Results) -> Sequence[Claim]:
        return choice_claims(results, self.contenders)

    def notes(self, results: Results) -> Sequence[str]:
        return (
            NOTE,
            f"'{STPA}' is the env made with threads=\"auto\"; 'threads used' is what it chose on reset.",
        )

    def draw(self, results: Results, figure: Figure) -> None:
        groups = {group.name: group for group in self.groups() if results.turns(group.name)}
        sizes = list(dict.fromkeys(group.facts["aircraft"] for group in groups.values()))
        for axes, n in zip(figure.subplots(1, len(sizes), squeeze=False)[0], sizes):
            names = [name for name, group in groups.items() if group.facts["aircraft"] == n]
            times = [results.prepared(name)["us/event"] for name in names]
            for contender in self.contenders:
                rates = [results.median(name, contender, "k events/s") for name in names]
                axes.plot(times, rates, "o-", label=str(contender))
            axes.set(xscale="log", yscale="log", title=f"Aircraft, {n}, not communicating")
            axes.set(xlabel="event time, microseconds", ylabel="thousand events per second")
            axes.set_xticks(times, [f"{us:.0f}" for us in times])
            axes.xaxis.set_minor_formatter("")
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_formatter("{x:g}")
            axes.legend()
