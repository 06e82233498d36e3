"""Training curves: what runs logged, with the runs that differ in their seed alone brought together."""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seer_env.commands.output import CommandError
from seer_env.training.config import load_config

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["AXES", "Baseline", "Curve", "draw", "read_curves"]

#: What a curve may be drawn against: the column of progress.csv, and what divides it.
AXES = {
    "decisions": ("charts/decisions", 1.0),
    "minutes": ("charts/seconds", 60.0),
    "updates": ("update", 1.0),
}

#: Settings in which runs of one curve may differ.
OWN = ("seed", "run")


class Curve(NamedTuple):
    """Runs that differ in their seed alone.

    Attributes:
        label: settings in which it differs from the other curves; empty without others.
        seeds: how many runs.
        x: float64 `[n]`, increasing, within what all runs have.
        mean, low, high: float64 `[n]`, over the runs: their mean, the smallest and the largest.
    """

    label: str
    seeds: int
    x: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Baseline(NamedTuple):
    """A horizontal line, and the ends of its confidence interval where it has one."""

    name: str
    value: float
    low: float
    high: float


def read_curves(runs: Sequence[Path], figure: str, against: str, smooth: int = 1) -> list[Curve]:
    """The curves of runs, in the order in which they are first named.

    Args:
        runs: folders of runs.
        figure: a column of progress.csv, with or without what is before its slash.
        against: a key of `AXES`.
        smooth: updates that each point is the mean of: its own and those before it.

    Raises:
        CommandError: a folder has no figures, or no such figure; a run is named twice, or another one of
            its settings and seed, which says nothing of other seeds.
        ConfigError: its settings are damaged.
    """
    groups: dict[str, dict[int, Path]] = {}
    for run in runs:
        group, seed = groups.setdefault(repr(_settings(run)), {}), load_config(run / "config.yaml").seed
        if seed in group:
            raise CommandError(f"{group[seed]} and {run}: seed {seed} of the same settings; name one of them")
        group[seed] = run
    first = [_settings(next(iter(group.values()))) for group in groups.values()]
    differing = [name for name in first[0] if any(settings[name] != first[0][name] for settings in first)]
    labels = [", ".join(f"{name} {settings[name]}" for name in differing) for settings in first]
    return [
        _curve(label, [*group.values()], [_series(run, figure, against, smooth) for run in group.values()])
        for label, group in zip(labels, groups.values())
    ]


def draw(curves: Sequence[Curve], baselines: Sequence[Baseline], title: str, axes: tuple[str, str]) -> Figure:
    """A picture of curves, each with a band from its lowest to its highest run, and of baselines."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.2), layout="constrained")
    plot = figure.add_subplot(title=title, xlabel=axes[0], ylabel=axes[1])
    for number, curve in enumerate(curves):
        seeds = f"{curve.seeds} seeds, lowest to highest" if curve.seeds > 1 else "1 seed"
        label = f"{curve.label} ({seeds})" if curve.label else f"trained ({seeds})"
        plot.plot(curve.x, curve.mean, color=f"C{number}", label=label)
        plot.fill_between(curve.x, curve.low, curve.high, color=f"C{number}", alpha=0.25, linewidth=0)
    for number, line in enumerate(baselines, start=len(curves)):
        plot.axhline(line.value, color=f"C{number}", linestyle="--", label=line.name)
        plot.axhspan(line.low, line.high, color=f"C{number}", alpha=0.15, linewidth=0)
    plot.grid(alpha=0.3)
    plot.legend(fontsize="small")
    return figure


def _settings(run: Path) -> dict[str, Any]:
    """What makes runs comparable: all settings but the run's own."""
    settings = dataclasses.asdict(load_config(run / "config.yaml"))
    return {name: value for name, value in settings.items() if name not in OWN}


def _series(run: Path, figure: str, against: str, smooth: int) -> tuple[np.ndarray, np.ndarray]:
    """One run's `x` and `y`, of the updates that have the figure."""
    path = run / "progress.csv"
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}; name the folder of a run") from error
    except (ValueError, csv.Error) as error:  # no UTF-8, or no table
        raise CommandError(f"{path}: damaged: {error!r}") from error
    columns = list(rows[0]) if rows else []
    column = next((name for name in columns if figure in (name, name.rpartition("/")[2])), None)
    if column is None:
        known = f"there are {', '.join(columns[1:])}" if rows else "it has no update yet"
        raise CommandError(f"{path}: no figure {figure!r}; {known}")
    source, unit = AXES[against]
    try:
        points = [(float(row[source]) / unit, float(row[column])) for row in rows if row[column]]
    except (KeyError, TypeError, ValueError) as error:
        raise CommandError(f"{path}: damaged: {error!r}") from error
    if not points:
        raise CommandError(f"{path}: no update has the figure {figure!r}")
    x, y = np.array(points).T
    return x, _smoothed(y, smooth)


def _smoothed(values: np.ndarray, span: int) -> np.ndarray:
    """The mean of each value and those before it, `span` at most."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.arange(1, len(values) + 1)
    begins = np.maximum(ends - span, 0)
    return (sums[ends] - sums[begins]) / (ends - begins)


def _curve(label: str, runs: list[Path], series: list[tuple[np.ndarray, np.ndarray]]) -> Curve:
    """Bring runs to the points of any of them, within what all have."""
    begin, end = max(x[0] for x, _ in series), min(x[-1] for x, _ in series)
    points = np.unique(np.concatenate([x for x, _ in series]))
    points = points[(points >= begin) & (points <= end)]
    if not len(points):
        raise CommandError(f"{', '.join(map(str, runs))}: they have no part of the way in common")
    rows = np.array([np.interp(points, x, y) for x, y in series])
    return Curve(label, len(series), points, rows.mean(axis=0), rows.min(axis=0), rows.max(axis=0))
