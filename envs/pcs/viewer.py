"""Pictures of the PCS world, drawn with matplotlib's Agg canvas: no display is needed."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["render_frame"]

#: Height of the figure in inches: letters and lines shrink with the picture.
INCHES = 9.0
#: Links drawn, at most; of more, those that carried most handoffs are drawn, or they would cover the cells.
MOST_LINKS = 500
HANDOFF, HOT, LOST, TEXT = "#14507e", "#c2185b", "#111111", "#2d343c"
COLOURS, PALEST_LOAD = "YlOrBr", 0.5


def render_frame(
    model: Any, state: np.ndarray, clock: float, size: tuple[int, int] = (1000, 900)
) -> np.ndarray:
    """Map of the cells: their load as colour, the step's handoffs as lines, the hot spot's border.

    Args:
        state: entity rows `[N]` at a boundary. clock: s since reset. size: width, height in pixels.

    Returns:
        uint8 `[height, width, 3]`.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    width, height = (int(side) for side in size)
    figure = Figure((INCHES * width / height, INCHES), dpi=height / INCHES)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0.01, 0.06, 0.87, 0.86))
    corners = _corners(model.topology)
    _draw_cells(figure, axes, corners, state["busy"] / model.channels)
    least = _draw_handoffs(axes, model.topology, state["sent"])
    lost = state["dropped"] > state["dropped_before"]
    x, y = model.topology.positions[lost].T
    axes.scatter(x, y, s=8.0 + 8000.0 / len(state), c=LOST, marker="x", linewidths=1.5)
    _draw_hot_spot(axes, corners[_hot(model, clock)])
    _decorate(axes, corners, least)
    axes.set_title(_title(model, state, clock), color=TEXT, fontsize=11)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def _corners(topology: Any) -> np.ndarray:
    """Corners of every cell: hexagons, squares, or small hexagons at the nodes of a graph; `[N, K, 2]`."""
    if topology.shape == "square":
        outline = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
    else:
        angle = np.pi / 6 + np.arange(6) * np.pi / 3
        radius = 1.0 / np.sqrt(3.0) if topology.shape == "hexagonal" else 0.35
        outline = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return topology.positions[:, None] + outline


def _draw_cells(figure, axes, corners, load) -> None:
    from matplotlib.collections import PolyCollection

    cells = PolyCollection(list(corners), array=load, cmap=COLOURS, edgecolors="white", linewidths=0.3)
    cells.set_clim(PALEST_LOAD, 1.0)
    axes.add_collection(cells)
    bar = figure.colorbar(cells, cax=figure.add_axes((0.9, 0.2, 0.02, 0.6)), extend="min")
    bar.set_label("load: channels busy / channels", color=TEXT)


def _hot(model: Any, clock: float) -> np.ndarray:
    """bool `[N]`: cells of the hot spot; none where the load is the same everywhere."""
    weights = model.weights(clock)
    return weights > weights.min()


def _draw_hot_spot(axes, corners) -> None:
    """The border of the cells together: their sides that no two of them share."""
    from matplotlib.collections import LineCollection

    sides = np.stack([corners, np.roll(corners, -1, axis=1)], axis=2).reshape(-1, 2, 2)
    middle = np.rint(sides.mean(axis=1) * 1000).astype(np.int64)
    _, first, times = np.unique(middle, axis=0, return_index=True, return_counts=True)
    axes.add_collection(LineCollection(list(sides[first[times == 1]]), colors=HOT, linewidths=2.5))


def _draw_handoffs(axes, topology, sent) -> int:
    """Lines between cells, wider for more handoffs; returns from how many handoffs on a link is drawn."""
    from matplotlib.collections import LineCollection

    source = np.repeat(np.arange(len(topology)), np.diff(topology.offsets))
    slot = np.arange(len(source)) - topology.offsets[source]
    count = sent[source, slot]
    back = topology.offsets[topology.neighbours] + topology.slots
    both = np.where(source < topology.neighbours, count + count[back], 0)
    links_from = np.cumsum(np.bincount(both)[::-1])[::-1]  # with at least 0, 1, 2, ... handoffs
    least = 1 + int((links_from[1:] > MOST_LINKS).sum())
    drawn = np.flatnonzero(both >= least)
    start, end = topology.positions[source[drawn]], topology.positions[topology.neighbours[drawn]]
    if topology.extent is not None:  # the short way round the torus: out over the border
        extent = np.asarray(topology.extent)
        end = start + (end - start + extent / 2) % extent - extent / 2
    widths = 1.0 + 0.6 * (both[drawn] - least)
    lines = np.stack([start, end], axis=1)
    axes.add_collection(
        LineCollection(list(lines), colors=HANDOFF, linewidths=widths, alpha=0.75, capstyle="round")
    )
    return least


def _decorate(axes, corners, least) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    low, high = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
    axes.set_xlim(low[0] - 0.3, high[0] + 0.3)
    bar, margin = max(1, round((high[0] - low[0]) / 10)), 0.03 * (high[1] - low[1])
    axes.set_ylim(low[1] - 2.0 * margin, high[1] + 0.3)
    axes.plot((low[0], low[0] + bar), (low[1] - margin,) * 2, color=TEXT, linewidth=3.0)
    axes.text(low[0] + 1.05 * bar, low[1] - margin, f"{bar} cell{'s' * (bar > 1)}", color=TEXT, va="center")
    axes.set_aspect("equal")
    axes.set_axis_off()
    some = f" (from {least} on)" if least > 1 else ""
    legend = [
        Line2D([], [], color=HANDOFF, linewidth=2.5, label=f"handoffs in the last step, wider: more{some}"),
        Line2D([], [], color=LOST, marker="x", linestyle="", label="handoff dropped"),
        Patch(fill=False, edgecolor=HOT, linewidth=2.0, label="hot spot: more new calls"),
    ]
    axes.legend(handles=legend, loc="upper center", bbox_to_anchor=(0.5, 0.01), ncols=3, frameon=False)


def _title(model, state, clock) -> str:
    seconds = int(model.params["start"] + clock)
    day, hour = divmod(seconds * 86_400 / model.params["day"] / 3600, 24)
    arrived = (state["arrived"] - state["arrived_before"]).sum()
    blocked = (state["blocked"] - state["blocked_before"]).sum()
    received = (state["received"] - state["received_before"]).sum()
    dropped = (state["dropped"] - state["dropped_before"]).sum()
    time = f"day {int(day) + 1}, {int(hour):02d}:{int(hour * 60) % 60:02d}"
    return (
        f"{len(state):,} cells after {clock:,.0f} s ({time})"
        f"    {state['busy'].sum():,} calls, {state['busy'].mean() / model.channels:.0%} of all channels\n"
        f"last step: {blocked} of {arrived:,} new calls blocked, {dropped} of {received:,} handoffs dropped, "
        f"{(state['outages'] - state['outages_before']).sum()} calls lost to fading"
    )
