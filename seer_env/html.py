"""How an env, or what it measured, looks as the last expression of a Jupyter cell: tables and a picture."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Iterator
from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from seer_env.env import SeerParallelEnv
    from seer_env.runtime.stats import StepStats

__all__ = ["env_html", "picture_html", "stats_html"]

#: Width of the picture in a cell, CSS pixels.
WIDTH = 450


def env_html(env: SeerParallelEnv) -> str:
    """HTML of an env at its boundary; with a picture where the model draws one and an episode has begun."""
    table = _facts_table(str(env), _facts(env))
    if env.status in ("new", "closed") or not hasattr(env.model, "render_frame"):
        return f"<div>{table}</div>"
    picture = _png(env.model.render_frame(env.entities, env.clock))
    image = f'<img alt="{escape(str(env))}" width="{WIDTH}" src="data:image/png;base64,{picture}">'
    return _side_by_side(table, image)


def stats_html(stats: StepStats) -> str:
    """HTML of a step's statistics: a table of facts, and one with a row per worker."""
    names, *workers = stats.worker_facts()
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    cells = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in workers)
    rows = "".join(f"<tr>{row}</tr>" for row in cells)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return _side_by_side(_facts_table("last step", stats.facts()), table)


def picture_html(caption: str, facts: Iterable[tuple[str, str]], figure: Figure) -> str:
    """HTML of a figure below a table of facts."""
    file = io.BytesIO()
    figure.savefig(file, format="png")
    picture = base64.b64encode(file.getvalue()).decode("ascii")
    image = f'<img alt="{escape(caption)}" src="data:image/png;base64,{picture}">'
    return f"<div>{_facts_table(caption, facts)}{image}</div>"


def _side_by_side(*parts: str) -> str:
    return f'<div style="display:flex;align-items:flex-start;gap:1em">{"".join(parts)}</div>'


def _facts_table(caption: str, facts: Iterable[tuple[str, str]]) -> str:
    rows = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in facts
    )
    return f"<table><caption>{escape(caption)}</caption><tbody>{rows}</tbody></table>"


def _facts(env: SeerParallelEnv) -> Iterator[tuple[str, str]]:
    model, stats = env.model, env.last_step_stats
    yield "world", type(model).__name__
    yield "status", env.status
    yield "agents", f"{len(env.agents):,} live of {model.n_agents:,}"
    yield "entities", f"{model.n_entities:,}"
    yield "step", f"{env.steps:,}" + (f" of {env.max_cycles:,}" if env.max_cycles is not None else "")
    yield "clock", f"{env.clock:g}"
    yield "scheduler", env.scheduler
    yield "threads", str(env.threads)
    yield "observation space", str(model.observation_space)
    yield "action space", str(model.action_space)
    if env.steps:
        milliseconds = 1000 * (stats.window_s + stats.outputs_s + stats.actions_s + stats.dicts_s)
        yield "last step", f"{stats.events:,} events, {stats.rounds:,} rounds, {milliseconds:.2f} ms"


def _png(frame: np.ndarray) -> str:
    """A frame, uint8 `[H, W, 3]`, as base64 of a PNG file."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(frame).save(file, format="PNG")
    return base64.b64encode(file.getvalue()).decode("ascii")
