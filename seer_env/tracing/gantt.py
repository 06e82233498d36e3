"""A trace as a picture: a row per worker, a colour per kind of work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from seer_env.runtime.phases import ACT, COUNT_CELLS, EXECUTE, OBSERVE, PUBLISH, RESUME, SETTLE
from seer_env.runtime.recording import TRANSITION
from seer_env.tracing.timeline import NAMES, ROUND_ALONE, WAIT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from seer_env.tracing.trace import StepTrace

#: Colours that people with any colour vision tell apart (Okabe and Ito 2008, "Color universal design").
COLOURS = {
    RESUME: "#999999",
    ACT: "#cc79a7",
    EXECUTE: "#0072b2",
    ROUND_ALONE: "#56b4e9",
    SETTLE: "#e69f00",
    COUNT_CELLS: "#f0e442",
    PUBLISH: "#d55e00",
    OBSERVE: "#009e73",
    TRANSITION: "#000000",
    WAIT: "#eeeeee",
}
#: More borders of rounds than this would hide the work.
MOST_BORDERS = 150
#: Inches, and dots per inch of a saved picture.
WIDTH, ROW, MARGINS, DPI = 11.0, 0.45, 1.7, 120


def gantt(trace: StepTrace) -> Figure:
    """The picture of a trace."""
    from matplotlib.figure import Figure

    workers = len(trace.stats.workers)
    figure = Figure(figsize=(WIDTH, MARGINS + ROW * workers), dpi=DPI, layout="constrained")
    axes = figure.add_subplot()
    end = int(max(trace.spans["ended"].max(initial=1), trace.waits["ended"].max(initial=1)))
    scale, unit = (1e-6, "ms") if end > 10_000_000 else (1e-3, "microseconds")
    _draw_rows(axes, trace, scale)
    borders = trace.rounds["begun"] * scale
    if len(borders) <= MOST_BORDERS:
        axes.vlines(borders, -0.5, workers - 0.5, color="#555555", linewidth=0.6, linestyle=":")
    axes.set_xlim(0, end * scale)
    axes.set_ylim(workers - 0.5, -0.5)
    axes.set_yticks(range(workers), [f"worker {w}" for w in range(workers)])
    note = "; dotted: a round begins" if 0 < len(borders) <= MOST_BORDERS else ""
    axes.set_xlabel(f"{unit} since the step began{note}")
    axes.set_title("\n".join(filter(None, (trace.title, trace.missing))), fontsize="medium")
    handles, _ = axes.get_legend_handles_labels()
    columns = len(NAMES)
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False, fontsize="small")
    return figure


def _draw_rows(axes: Axes, trace: StepTrace, scale: float) -> None:
    """A bar per span, all of one kind and worker at once."""
    spans = np.concatenate([trace.waits, trace.spans])
    for kind, name in NAMES.items():
        label = name
        for worker in range(len(trace.stats.workers)):
            mine = spans[(spans["worker"] == worker) & (spans["kind"] == kind)]
            if len(mine):
                bars = np.stack([mine["begun"], mine["ended"] - mine["begun"]], axis=1) * scale
                axes.broken_barh(
                    bars.tolist(), (worker - 0.4, 0.8), color=COLOURS[kind], linewidth=0, label=label
                )
                label = "_"  # one entry in the legend
