"""`seer-env bench latency`: the time of a step over the number of entities, and what a second thread gains.

Figures 8 and 9 of the SEER paper (arXiv 2611.07996): environment latency over entity count; and the time
of each scheduler on one thread by its own on several, over the time that an event takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from seer_env.bench.calibration import NOTE, calibrated_group
from seer_env.bench.experiment import Claim, Contender, Experiment, Group
from seer_env.bench.options import check_positive, check_threads
from seer_env.bench.stepping import World

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from seer_env.bench.results import Results

#: Who contends on several threads.
SHARING = ("seer", "ross-t", "nbse", "root-sim")
COLOURS = {"serial": "grey", **{name: f"C{i}" for i, name in enumerate(SHARING)}}
#: World and baseline policy; the names in groups.
WORLDS = {"aircraft": ("aircraft_v0", "goal"), "pcs": ("pcs_v0", "guard")}
#: Entities of the worlds in which the event time changes.
FIXED = {"aircraft": 400, "pcs": 400}


@dataclass
class LatencyExperiment(Experiment):
    """Time of a step over the number of entities; speed-up by a second thread over the time of an event."""

    name: ClassVar[str] = "latency"
    columns: ClassVar[Mapping[str, str]] = {"ms/step": ".2f", "speed-up": ".2f"}

    aircraft: tuple[int, ...] = (206, 400, 800, 1426)
    """Numbers of aircraft."""
    pcs: tuple[int, ...] = (400, 900, 1600, 2500, 3600, 4900)
    """Numbers of PCS cells."""
    event_us: float = 10.0
    """Microseconds per event where the number of entities changes, set by the world's complexity."""
    event_times: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0, 100.0)
    """Microseconds per event where these change."""
    threads: int = 2
    """Threads of all but serial."""
    seconds: float = 0.2
    """Wall seconds of steps per measurement of the first contender, one step at least."""

    def groups(self) -> Sequence[Group]:
        check_threads([self.threads])
        check_positive(event_us=[self.event_us], event_times=self.event_times, seconds=[self.seconds])
        check_positive(aircraft=self.aircraft, pcs=self.pcs)
        sizes, times = {"aircraft": self.aircraft, "pcs": self.pcs}, self.event_times
        if self.quick:
            sizes, times = {world: several[:2] for world, several in sizes.items()}, times[::2][:2]
        return [self.by_size(world, n) for world, several in sizes.items() for n in several] + [
            self.by_event_time(world, us) for world in sizes for us in times
        ]

    def by_size(self, world: str, n: int) -> Group:
        """All schedulers on a world of `n` entities."""
        contenders = [Contender("serial"), *(Contender(name, self.threads) for name in SHARING)]
        return self._group(f"{world}, {n} entities", world, n, self.event_us, contenders)

    def by_event_time(self, world: str, us: float) -> Group:
        """Those with threads, on one and on several."""
        contenders = [Contender(name, threads) for name in SHARING for threads in (1, self.threads)]
        return self._group(f"{world}, {us:g} us", world, FIXED[world], us, contenders)

    def _group(self, group: str, world: str, n: int, us: float, contenders: list[Contender]) -> Group:
        name, policy = WORLDS[world]
        facts = {"world": world, "entities": n}
        stepped = World(name, policy, {"n_agents": n})
        return calibrated_group(group, stepped, contenders, us, self.seed, self.seconds, facts)

    def derived(self, results: Results, group: Group, contender: Contender) -> Mapping[str, float]:
        alone = Contender(contender.name)
        if contender == alone or not results.values(group.name, alone, "ms/step"):
            return {}
        return {"speed-up": results.ratio(group.name, alone, contender, "ms/step")}

    def claims(self, results: Results) -> Sequence[Claim]:
        seer, claims = Contender("seer", self.threads), []
        for group in results.groups():
            others = [c for c in results.contenders(group) if c.name not in ("seer", "serial")]
            best = results.best(group, others, "ms/step")
            gain = results.ratio(group, best, seer, "ms/step")
            claims.append(Claim(f"{group}: times as fast as {best}, the best other", gain, "at least", 1.0))
        return claims

    def notes(self, results: Results) -> Sequence[str]:
        return (NOTE, f"Speed-up: a scheduler's own time on one thread by that on {self.threads}.")

    def draw(self, results: Results, figure: Figure) -> None:
        figure.set_size_inches(10, 8)
        groups = [group for group in self.groups() if results.turns(group.name)]
        for (above, below), world in zip(figure.subplots(2, 2).T, WORLDS):
            here = [group for group in groups if group.facts["world"] == world]
            sizes = [group for group in here if group.name.endswith("entities")]
            self._latencies(results, above, sizes)
            above.set_title(f"{world}, {self.event_us:g} microsecond events")
            self._speed_ups(results, below, [group for group in here if group not in sizes])
            below.set_title(f"{world}, {FIXED[world]} entities")

    def _latencies(self, results: Results, axes: Axes, groups: Sequence[Group]) -> None:
        entities = [group.facts["entities"] for group in groups]
        for contender in [Contender("serial"), *(Contender(name, self.threads) for name in SHARING)]:
            latencies = [results.median(group.name, contender, "ms/step") for group in groups]
            axes.plot(entities, latencies, "o-", color=COLOURS[contender.name], label=str(contender))
        axes.set(xscale="log", yscale="log", xlabel="entities", ylabel="milliseconds per step")
        axes.set_xticks(entities, [str(n) for n in entities])
        axes.minorticks_off()
        axes.legend(fontsize="small")

    def _speed_ups(self, results: Results, axes: Axes, groups: Sequence[Group]) -> None:
        times = [results.prepared(group.name)["us/event"] for group in groups]
        for name in SHARING:
            alone, together = Contender(name), Contender(name, self.threads)
            gains = [results.ratio(group.name, alone, together, "ms/step") for group in groups]
            axes.plot(times, gains, "o-", color=COLOURS[name], label=name)
        axes.axhline(self.threads, color="grey", linestyle=":", label="ideal")
        axes.set(xscale="log", xlabel="event time, microseconds")
        axes.set_ylabel(f"time on 1 thread / time on {self.threads}")
        axes.legend(fontsize="small")
