"""What was chosen, what it was chosen from, and why: as a table, as HTML and as a picture."""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from seer_env.html import report_html
from seer_env.stpa.search import TIE

if TYPE_CHECKING:
    from seer_env.stpa.machine import Machine
    from seer_env.stpa.search import GuardedSearch

__all__ = ["Decision", "Proposal", "Source", "StpaReport", "Timing"]

#: Where a decision comes from: the argument `threads`, a machine without a choice, a remembered choice,
#: rehearsed steps, or the episode's own steps.
Source = Literal["asked", "machine", "remembered", "preflight", "steps"]


@dataclass(frozen=True)
class Proposal:
    """What a search starts from.

    Attributes:
        threads: the count.
        source: `"rule"`, `"similar"` (a remembered choice for a similar world) or `"predictor"`.
        note: where it comes from, in words.
        favoured: number of threads that ties of the search go to: what a predictor said, or 1.
    """

    threads: int
    source: Literal["rule", "similar", "predictor"]
    note: str
    favoured: float = 1.0


@dataclass(frozen=True)
class Decision:
    """One decision: the threads, where it comes from, and why it fell."""

    threads: int
    source: Source
    reason: str


@dataclass(frozen=True)
class Timing:
    """What was measured of one candidate.

    Attributes:
        threads: the candidate; 1 is the scheduler `serial`.
        blocks: how many blocks of steps.
        median_s, low_s, high_s: seconds per step of the blocks: median, smallest, largest.
    """

    threads: int
    blocks: int
    median_s: float
    low_s: float
    high_s: float


@dataclass(frozen=True)
class StpaReport:
    """The choice of threads of one env; `print` shows it as a table, Jupyter as HTML.

    Attributes:
        world: its name.
        threads: in force now.
        machine: what limits the candidates; None where nothing was to be chosen.
        ladder: the candidates.
        start: what the search started from, or None.
        decisions: in the order they fell; the last one holds.
        rehearsed, stepped: timings of candidates on rehearsed steps, and on the episode's own.
        searching: whether a search runs on the episode's steps now.
        preflight_s, budget_s: seconds that the rehearsal of the reset took, and might take.
    """

    world: str
    threads: int
    machine: Machine | None = None
    ladder: tuple[int, ...] = ()
    start: Proposal | None = None
    decisions: tuple[Decision, ...] = ()
    rehearsed: tuple[Timing, ...] = ()
    stepped: tuple[Timing, ...] = ()
    searching: bool = False
    preflight_s: float = 0.0
    budget_s: float = 0.0

    def facts(self) -> list[tuple[str, str]]:
        """Names and values, in reading order, of all but the timings."""
        facts = [("threads", f"{self.threads}{' for now: a search is under way' if self.searching else ''}")]
        if self.machine is not None:
            facts.append(("machine", machine_line(self.machine)))
            facts.append(("candidates", " ".join(map(str, self.ladder))))
        if self.start is not None:
            facts.append(("start", f"{self.start.threads}, {self.start.source}: {self.start.note}"))
        if self.preflight_s:
            facts.append(("preflight", f"{1e3 * self.preflight_s:.1f} ms of {1e3 * self.budget_s:g}"))
        facts += [(d.source, f"{d.threads}: {d.reason}") for d in self.decisions]
        return facts

    def rows(self) -> list[tuple[str, ...]]:
        """A row of cells per timing, as `COLUMNS` has them."""
        return [
            row
            for where, timings in (("rehearsed", self.rehearsed), ("episode", self.stepped))
            for row in _rows(where, timings)
        ]

    def figures(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return asdict(self)

    def __repr__(self) -> str:
        lines = [f"threads of {self.world}"]
        lines += [f"  {name:<11}{value}" for name, value in self.facts()]
        if rows := self.rows():
            widths = [max(map(len, column)) for column in zip(COLUMNS, *rows)]
            for row in (COLUMNS, *rows):
                lines.append("  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths)))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """For Jupyter: a table of facts, and one of the timings."""
        return report_html(self)

    def plot(self) -> Any:
        """A matplotlib figure: milliseconds per step by threads, with the choice marked."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.0, 4.0), layout="constrained")
        axes = figure.add_subplot()
        for where, timings in (("rehearsed steps", self.rehearsed), ("steps of the episode", self.stepped)):
            if timings:
                medians = [1e3 * t.median_s for t in timings]
                spread = [
                    [1e3 * (t.median_s - t.low_s) for t in timings],
                    [1e3 * (t.high_s - t.median_s) for t in timings],
                ]
                counts = [t.threads for t in timings]
                axes.errorbar(counts, medians, yerr=spread, marker="o", capsize=3, label=where)
        axes.axvline(self.threads, color="grey", linestyle=":", label=f"in force: {self.threads}")
        axes.set(title=f"threads of {self.world}", xlabel="threads", ylabel="ms per step")
        axes.set_xticks(self.ladder or (self.threads,))
        axes.set_ylim(bottom=0.0)
        axes.legend()
        return figure


COLUMNS = ("steps", "threads", "scheduler", "blocks", "ms", "from", "to", "against best")


def asked(world: str, threads: int, reason: str) -> StpaReport:
    """The report where nothing was to be chosen."""
    return StpaReport(world, threads, decisions=(Decision(threads, "asked", reason),))


def timings(search: GuardedSearch | None) -> tuple[Timing, ...]:
    """What a search has measured, by rising threads."""
    if search is None:
        return ()
    return tuple(
        Timing(count, len(blocks), statistics.median(blocks), min(blocks), max(blocks))
        for count, blocks in sorted(search.blocks.items())
        if blocks
    )


def why(search: GuardedSearch, where: str) -> str:
    """Why a search chose as it did, in words."""
    medians, choice = search.medians, search.choice
    if len(medians) < 2:
        seen = f": {1e3 * next(iter(medians.values())):.3f} ms per step" if medians else ""
        return f"nothing to compare in {where}{seen}"
    fastest = min(medians, key=lambda count: medians[count])
    mine = f"{1e3 * medians[choice]:.3f} ms per step in {where}"
    if search.unshared:
        return f"{mine}: too short to share"
    if fastest != choice:
        kept, gain = search.gain_on_start(fastest), medians[choice] / medians[fastest] - 1.0
        if kept is not None:
            least = f"less than the {search.keep:.0%} that fewer have to"
            return f"{mine}; {fastest} gain {kept:.1%} on its better blocks, {least}"
        to = f"to the predicted {search.favoured:.1f}" if search.favoured > 1.0 else "to fewer"
        return f"{mine}; {fastest} gain {gain:.1%}, less than {TIE:.0%}, and ties go {to}"
    second = min((count for count in medians if count != choice), key=lambda count: medians[count])
    return f"{mine}; {second} took {medians[second] / medians[choice]:.2f} times as long"


def machine_line(machine: Machine) -> str:
    """One line on what limits the threads."""
    quota = "no quota" if machine.quota is None else f"quota {machine.quota:g}"
    torch = f", torch's pool of {machine.torch_threads}" if machine.torch_threads else ""
    cpus = f"{machine.cpus} effective CPU{'s' if machine.cpus > 1 else ''}"
    cores = f"{machine.cores} core{'s' if machine.cores > 1 else ''}"
    return (
        f"{cpus}: {machine.affinity} in the affinity mask on {cores}, {quota}, "
        f"numba's most {machine.numba_threads}{torch}; {machine.processor}"
    )


def _rows(where: str, timings: tuple[Timing, ...]) -> list[tuple[str, ...]]:
    best = min((t.median_s for t in timings), default=0.0)
    return [
        (
            where,
            str(t.threads),
            "serial" if t.threads == 1 else "seer",
            str(t.blocks),
            *(f"{1e3 * seconds:.3f}" for seconds in (t.median_s, t.low_s, t.high_s)),
            f"{t.median_s / best:.2f}",
        )
        for t in timings
    ]
