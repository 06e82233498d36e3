"""Pictures of the Battle world, drawn with Pillow: no display is needed."""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from seer_env.envs.battle.constants import ARMIES

GROUND, WALL, PAPER, TEXT, RULE = (
    (246, 245, 240),
    (96, 99, 104),
    (250, 250, 247),
    (45, 52, 60),
    (214, 214, 208),
)
#: Colour of each army at full health; it fades to `FAINT` of it towards death.
COLOURS = ((200, 30, 30), (30, 84, 180))
FAINT = 0.25
#: Frames are drawn this many times larger and shrunk: smooth edges.
OVERSAMPLING = 2


def render_frame(
    model: Any, state: np.ndarray, clock: float, size: tuple[int, int] = (900, 900)
) -> np.ndarray:
    """The map and both armies, paler the less health is left; above it who lives and who has killed.

    Args:
        state: entity rows `[N]` at a boundary. clock: steps since reset. size: width, height in pixels.

    Returns:
        uint8 `[height, width, 3]`.
    """
    width, height = (OVERSAMPLING * int(side) for side in size)
    image = Image.new("RGB", (width, height), PAPER)
    draw = ImageDraw.Draw(image)
    header = round(0.14 * height)
    edge = min(width, height - header) * 0.97
    left, top = (width - edge) / 2, header
    scale = edge / model.field.size
    draw.rectangle((left, top, left + edge, top + edge), fill=WALL)
    draw.rectangle((left + scale, top + scale, left + edge - scale, top + edge - scale), fill=GROUND)
    _draw_agents(draw, model, state, (left, top), scale)
    _draw_header(draw, model, state, clock, (left, 0, left + edge, header))
    return np.asarray(image.resize((width // OVERSAMPLING, height // OVERSAMPLING), Image.Resampling.BOX))


def shade(army: int, health: float) -> tuple[int, int, int]:
    """Colour of an agent of `army` with `health` from 0 to 1."""
    strength = FAINT + (1.0 - FAINT) * health
    red, green, blue = (round(g + strength * (c - g)) for c, g in zip(COLOURS[army], GROUND))
    return red, green, blue


def _draw_agents(draw, model, state, corner, scale) -> None:
    agents = np.flatnonzero(state["shown"][: model.n_agents] >= 0)
    xy = model.field.xy_of(state["cell"][agents]) * scale + corner
    health = state["shown"][agents] / model.params["max_hp"]
    inset = 0.08 * scale
    for agent, (x, y), full in zip(agents.tolist(), xy.tolist(), health.tolist()):
        box = (x + inset, y + inset, x + scale - inset, y + scale - inset)
        draw.rectangle(box, fill=shade(int(agent >= model.n_agents // 2), full))


def _draw_header(draw, model, state, clock, box) -> None:
    """A line for each army, a bar as long as its share of the living, and what the shades mean."""
    left, top, right, bottom = box
    unit = (bottom - top) / 12
    font = ImageFont.load_default(size=2.2 * unit)
    half = model.n_agents // 2
    kills = state["kills"][: model.n_agents].reshape(2, half).sum(axis=1).tolist()
    alive = state["shown"][model.n_agents : model.n_agents + 2].astype(int).tolist()
    start, end = left + 0.5 * (right - left), left + 0.75 * (right - left)
    for army, name in enumerate(ARMIES):
        y = top + (1.2 + 3.6 * army) * unit
        draw.rectangle((left, y, left + 2.4 * unit, y + 2.4 * unit), fill=COLOURS[army])
        line = f"{name}: {alive[army]} of {half} alive, {kills[army]} kills"
        draw.text((left + 3.4 * unit, y - 0.2 * unit), line, fill=TEXT, font=font)
        draw.rectangle((start, y + 0.3 * unit, end, y + 2.1 * unit), outline=RULE, width=OVERSAMPLING)
        if alive[army]:
            full = start + (end - start) * alive[army] / half
            draw.rectangle((start, y + 0.3 * unit, full, y + 2.1 * unit), fill=COLOURS[army])
    draw.text((end + 3 * unit, top + unit), f"step {round(clock)}", fill=TEXT, font=font)
    _draw_shades(draw, (end + 3 * unit, top + 4.6 * unit), unit, font)


def _draw_shades(draw, corner, unit, font) -> None:
    x, y = corner
    small = font.font_variant(size=1.7 * unit)
    draw.text((x, y + 3 * unit), "health: 0 to full", fill=TEXT, font=small)
    for army in range(len(ARMIES)):
        for step in range(6):
            at = x + 2.4 * step * unit, y + 1.5 * army * unit
            draw.rectangle((*at, at[0] + 2.2 * unit, at[1] + 1.3 * unit), fill=shade(army, step / 5))
