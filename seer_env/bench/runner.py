"""Runs an experiment: turn by turn into its folder, then table, picture and claims."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from seer_env.bench.cores import busy_core, worth_of_second_core
from seer_env.bench.experiment import Claim, Contender, Experiment, Group
from seer_env.bench.folder import Folder
from seer_env.bench.report import print_table, progress_bar
from seer_env.bench.results import BEFORE, PREPARED, SECOND_CORE, Measurement, Median, Results
from seer_env.bench.surroundings import load, surroundings
from seer_env.bench.timing import in_turn, machine, median_interval
from seer_env.commands.output import CommandError

__all__ = ["run"]


def run(experiment: Experiment) -> int:
    """Measure what is missing, show everything; 1 if contenders disagree about a digest, else 0.

    Ctrl-C loses the turn that was being measured and nothing else: the same command goes on from there.

    Raises:
        CommandError: an option out of its range, a package that is absent, or a folder that cannot be used.
    """
    missing = experiment.missing()
    if missing is not None:
        raise CommandError(f"bench {experiment.name}: {missing}")
    groups = experiment.groups()
    folder = Folder(experiment)
    results = Results(folder.measurements())
    measure_all(experiment, groups, folder, results)
    rows = summary(experiment, groups, results)
    claims = experiment.claims(results)
    folder.write_summary(SUMMARY, rows)
    folder.write_plot(plot(experiment, results))
    folder.write_record(
        title=(type(experiment).__doc__ or experiment.name).strip().splitlines()[0],
        claims=[{**claim._asdict(), "holds": claim.holds} for claim in claims],
        notes=list(experiment.notes(results)),
    )
    show(experiment, groups, results, claims)
    print(f"Results are in {folder.path}/: {', '.join(sorted(p.name for p in folder.path.iterdir()))}")
    differing = results.disagreements()
    if differing:
        print(f"Digests differ on {', '.join(differing)}: contenders disagree about the final state.")
    return 1 if differing else 0


def measure_all(experiment: Experiment, groups: Sequence[Group], folder: Folder, results: Results) -> None:
    """Measure the turns that `results` lacks, and write each when it is over."""
    missing = sum(max(0, experiment.turns - results.turns(group.name)) for group in groups)
    if not missing:
        return
    before = folder.record()
    folder.write_record(
        **surroundings(), load_before=load(), seconds=before.get("seconds", 0.0), interrupted=True
    )
    started = time.perf_counter()
    try:
        with progress_bar() as progress, busy_core(experiment.busy):
            total = experiment.turns * len(groups)
            task = progress.add_task(experiment.name, total=total, completed=total - missing)
            for group in groups:
                tell = partial(progress.update, task, refresh=True)
                tell(description=f"{experiment.name}: {group.name}")
                measure(group, experiment.turns, folder, results, partial(tell, advance=1))
        folder.write_record(interrupted=False)
    finally:
        seconds = before.get("seconds", 0.0) + time.perf_counter() - started
        folder.write_record(load_after=load(), seconds=round(seconds, 1))


def measure(group: Group, turns: int, folder: Folder, results: Results, done: Callable[[], object]) -> None:
    """Measure the missing turns of a group."""
    if results.turns(group.name) >= turns:
        return
    found = () if group.prepare is None else (prepared(group, group.prepare, folder, results),)
    with ExitStack() as stack:
        contenders = group.make(stack, *found)
        for turn in range(results.turns(group.name), turns):
            values = {**in_turn(contenders, turn), SECOND_CORE: {"worth": worth_of_second_core()}}
            measurements = [
                Measurement(group.name, contender.name, contender.threads, turn, quantity, float(value))
                for contender, quantities in values.items()
                for quantity, value in quantities.items()
            ]
            folder.append(measurements)
            results.add(measurements)
            done()


def prepared(
    group: Group, prepare: Callable[[], Mapping[str, float]], folder: Folder, results: Results
) -> Mapping[str, float]:
    """What the group's preparation finds, or found in an earlier run."""
    if not results.prepared(group.name):
        found = [
            Measurement(group.name, *PREPARED, BEFORE, quantity, float(value))
            for quantity, value in prepare().items()
        ]
        folder.append(found)
        results.add(found)
    return results.prepared(group.name)


#: Columns of `summary.csv`; derived quantities have no interval.
SUMMARY = (
    "group", "facts", "contender", "threads", "quantity", "median", "low", "high", "coverage", "turns",
)  # fmt: skip


def summary(experiment: Experiment, groups: Sequence[Group], results: Results) -> list[Sequence[Any]]:
    """Rows of `summary.csv`."""
    facts = {
        group.name: "; ".join(f"{k}={v}" for k, v in all_facts(group, results).items()) for group in groups
    }
    rows: list[Sequence[Any]] = [
        (group, facts.get(group, ""), contender.name, contender.threads, quantity, *median)
        for group, contender, quantity, median in results.medians()
    ]
    for group in groups:
        for contender in results.contenders(group.name):
            for quantity, value in experiment.derived(results, group, contender).items():
                rows.append((group.name, facts[group.name], *contender, quantity, value, "", "", "", ""))
    return rows


def show(experiment: Experiment, groups: Sequence[Group], results: Results, claims: Sequence[Claim]) -> None:
    """Print the table, what must be known to read it, and the claims."""
    facts = {group.name: all_facts(group, results) for group in groups}
    names = list(dict.fromkeys(name for known in facts.values() for name in known))
    lines = []
    for group in groups:
        worth = f"{results.median(group.name, SECOND_CORE, 'worth'):.2f}"
        about = [group.name, *(facts[group.name].get(name, "") for name in names)]
        for contender in results.contenders(group.name):
            cells = quantity_cells(experiment, results, group, contender)
            lines.append((*about, contender.name, str(contender.threads), *cells, worth))
            about, worth = [""] * len(about), ""  # what a group's first line says holds for all
    head = ("group", *names, "contender", "threads", *experiment.columns, "2nd core")
    coverage = median_interval([0.0] * experiment.turns).coverage
    note = (
        f"medians of {experiment.turns} [interval that covers the median with {coverage:.0%}]; 2nd core: "
        f"speed of two threads of plain arithmetic over one, 2.0 on free cores; {machine()}"
    )
    print_table(experiment.name, head, lines, note)
    for sentence in experiment.notes(results):
        print(sentence)
    if claims:
        print_table("claims", ("claim", "measured", "limit", "holds"), [claim_cells(c) for c in claims])


def quantity_cells(experiment: Experiment, results: Results, group: Group, contender: Contender) -> list[str]:
    """Cells of the experiment's columns; the first, which matters most, with its interval."""
    derived = experiment.derived(results, group, contender)
    cells = []
    for place, (quantity, form) in enumerate(experiment.columns.items()):
        values = results.values(group.name, contender, quantity)
        if values:
            median = Median.of(values)
            interval = f" [{median.low:{form}}, {median.high:{form}}]" if place == 0 < len(values) - 1 else ""
            cells.append(f"{median.value:{form}}{interval}")
        else:
            cells.append(f"{derived[quantity]:{form}}" if quantity in derived else "")
    return cells


def all_facts(group: Group, results: Results) -> dict[str, str]:
    """What is known of a group's work: its facts, and what its preparation found."""
    found = {k: f"{v:.0f}" if v.is_integer() else f"{v:.3g}" for k, v in results.prepared(group.name).items()}
    return {**{name: str(value) for name, value in group.facts.items()}, **found}


def claim_cells(claim: Claim) -> tuple[str, str, str, str]:
    """A claim as cells of a table."""
    limit = f"{claim.relation} {claim.limit:g}"
    return claim.text, f"{claim.measured:.3g}", limit, "yes" if claim.holds else "NO"


def plot(experiment: Experiment, results: Results) -> bytes:
    """The picture as PNG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5), layout="constrained")
    experiment.draw(results, figure)
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=120)
    return file.getvalue()
