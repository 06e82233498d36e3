"""Pictures of the Aircraft world, drawn with Pillow: no display is needed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from seer_env.envs.aircraft.traffic import close_pairs

BACKGROUND, ROUTE, TEXT, GRID = (250, 250, 247), (205, 212, 220), (45, 52, 60), (235, 236, 233)
CALM, ALERT, LOSS = (52, 101, 164), (237, 148, 0), (204, 0, 0)
#: Frames are drawn this many times larger and shrunk: smooth edges.
OVERSAMPLING = 2
#: Beyond this many aircraft, routes and rings are left out: they would cover everything.
CROWD = 1500


def render_frame(
    model: Any, state: np.ndarray, clock: float, size: tuple[int, int] = (900, 900)
) -> np.ndarray:
    """Map of routes and aircraft: triangles along their headings, coloured by alert.

    Args:
        state: entity rows `[N]` at a boundary. clock: s since reset. size: width, height in pixels.

    Returns:
        uint8 `[height, width, 3]`.
    """
    width, height = (OVERSAMPLING * int(side) for side in size)
    image = Image.new("RGB", (width, height), BACKGROUND)
    draw = ImageDraw.Draw(image)
    scale = min(width, height) / (2.1 * model.half)

    def to_pixels(x, y):
        return width / 2 + np.asarray(x) * scale, height / 2 - np.asarray(y) * scale

    flying = np.flatnonzero(state["active"] == 1)
    losing = _losing(model, state, flying)
    alerted = ((state["near_id"] >= 0) & (state["near_urgency"] < model.params["horizon"])).any(axis=1)
    _draw_regions(draw, model, to_pixels)
    if len(flying) <= CROWD:
        _draw_routes(draw, model, state[flying], to_pixels)
    radius = max(3.0 * OVERSAMPLING, min(5.5 * OVERSAMPLING, 4_000.0 * scale))
    px, py = to_pixels(state["x"], state["y"])
    level = np.where(losing, 2, alerted)[flying]
    for i in flying[np.argsort(level, kind="stable")].tolist():  # the most urgent on top
        colour = LOSS if losing[i] else ALERT if alerted[i] else CALM
        course = math.atan2(state["vy"][i], state["vx"][i])
        draw.polygon(_triangle(px[i], py[i], course, radius), fill=colour)
        if losing[i] and len(flying) <= CROWD:
            ring = model.params["separation_h"] / 2 * scale
            box = (px[i] - ring, py[i] - ring, px[i] + ring, py[i] + ring)
            draw.ellipse(box, outline=LOSS, width=OVERSAMPLING)
    counts = np.bincount(level, minlength=3).tolist()
    _draw_legend(draw, (width, height), scale, clock, counts, len(state) - len(flying))
    return np.asarray(image.resize((width // OVERSAMPLING, height // OVERSAMPLING), Image.Resampling.BOX))


def _losing(model, state, flying) -> np.ndarray:
    """bool `[N]`: aircraft that have lost separation."""
    xyz = np.stack([state[a][flying] for a in "xyz"], axis=1)
    pairs = close_pairs(xyz, model.params["separation_h"], model.params["separation_v"])
    losing = np.zeros(len(state), bool)
    losing[flying[pairs.ravel()]] = True
    return losing


def _triangle(x, y, course, radius):
    """Corners in pixels; the picture's y axis points down."""
    corners = ((course, 1.5), (course + 2.5, 1.0), (course + math.pi, 0.4), (course - 2.5, 1.0))
    return [(x + radius * r * math.cos(a), y - radius * r * math.sin(a)) for a, r in corners]


def _draw_regions(draw, model, to_pixels) -> None:
    for edge in np.arange(-model.half, model.half + 1, 100_000.0):
        for a, b in (((edge, -model.half), (edge, model.half)), ((-model.half, edge), (model.half, edge))):
            (x0, x1), (y0, y1) = to_pixels([a[0], b[0]], [a[1], b[1]])
            draw.line((x0, y0, x1, y1), fill=GRID, width=OVERSAMPLING)


def _draw_routes(draw, model, state, to_pixels) -> None:
    """What is left of every route, from the aircraft on."""
    x, y = model.tables["route_x"], model.tables["route_y"]
    for me in state:
        ahead = slice(me["point"], me["last"] + 1)
        px, py = to_pixels(
            np.r_[me["x"], me["mirror_x"] * x[ahead] + me["shift_x"]],
            np.r_[me["y"], me["mirror_y"] * y[ahead] + me["shift_y"]],
        )
        draw.line(list(zip(px.tolist(), py.tolist())), fill=ROUTE, width=OVERSAMPLING)


def _draw_legend(draw, extent, scale, clock, counts, ended) -> None:
    unit = 8 * OVERSAMPLING
    font = ImageFont.load_default(size=1.6 * unit)
    seconds = int(clock)
    time = f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    lines = ["on course", "conflict predicted", "separation lost"]
    draw.rectangle((unit, unit, 30 * unit, 14.5 * unit), fill=BACKGROUND, outline=GRID, width=OVERSAMPLING)
    draw.text((2 * unit, 1.6 * unit), f"{time}    ended: {ended}", fill=TEXT, font=font)
    for row, (line, colour, count) in enumerate(zip(lines, (CALM, ALERT, LOSS), counts)):
        top = (4.6 + 3 * row) * unit
        draw.polygon(_triangle(3 * unit, top + 0.9 * unit, 0.0, unit), fill=colour)
        if colour == LOSS:
            box = (1.7 * unit, top - 0.4 * unit, 4.3 * unit, top + 2.2 * unit)
            draw.ellipse(box, outline=LOSS, width=OVERSAMPLING)
        draw.text((5 * unit, top), f"{line}: {count}", fill=TEXT, font=font)
    nice = [step for step in (10, 20, 50, 100, 200, 500, 1000, 2000) if step * 1000 * scale > 10 * unit]
    kilometres = nice[0] if nice else 5000
    left, bottom = 2 * unit, extent[1] - 3 * unit
    bar = kilometres * 1000 * scale
    draw.line((left, bottom, left + bar, bottom), fill=TEXT, width=2 * OVERSAMPLING)
    draw.text((left, bottom - 2.4 * unit), f"{kilometres} km", fill=TEXT, font=font)
