"""How models, envs, copies and what they measured look as the last expression of a Jupyter cell.

Tables and a picture. Whatever a user named is escaped, and a long table is folded: a click opens it.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from seer_env.errors import ModelError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from seer_env.copies import Copies
    from seer_env.env import SeerParallelEnv
    from seer_env.model import EventModel
    from seer_env.runtime.stats import StepStats
    from seer_env.stpa.report import StpaReport

__all__ = [
    "copies_html", "env_html", "model_html", "picture_html", "report_html", "stats_html", "table_html"
]  # fmt: skip

#: Width of the picture in a cell, CSS pixels.
WIDTH = 450
#: A table of more rows is folded.
MOST_ROWS = 12


def env_html(env: SeerParallelEnv) -> str:
    """HTML of an env at its boundary; with a picture where the model draws one and an episode has begun."""
    table = _facts_table(str(env), _facts(env))
    if env.status in ("new", "closed") or not hasattr(env.model, "render_frame"):
        return f"<div>{table}</div>"
    picture = _png(env.model.render_frame(env.entities, env.clock))
    image = f'<img alt="{escape(str(env))}" width="{WIDTH}" src="data:image/png;base64,{picture}">'
    return _side_by_side(table, image)


def copies_html(copies: Copies) -> str:
    """HTML of copies: a table of facts, and one with a row per copy."""
    model, live, steps = copies.model, copies.live, copies.steps
    rows = [
        (str(copy), f"{steps[copy]:,}", f"{np.count_nonzero(live[copy]):,} of {model.n_agents:,}")
        for copy in range(len(live))
    ]
    facts = [
        ("world", type(model).__name__),
        ("copies", f"{len(live):,}"),
        ("entities", f"{len(live) * model.n_entities:,}"),
        ("scheduler", copies.scheduler),
        ("threads", str(copies.threads)),
        *_spaces(model),
    ]
    table = table_html(("copy", "step", "live agents"), rows)
    return _side_by_side(_facts_table(f"copies of {model.name}", facts), table)


def model_html(model: EventModel) -> str:
    """HTML of a model: what it declares, its kinds of event and its fields; or why it cannot work."""
    try:
        model.validate()
    except ModelError as error:
        return f"<pre>{escape(f'{model!r} cannot work: {error}')}</pre>"
    kinds = [(kind.name, model.handlers[kind].__name__) for kind in model.Kind]
    fields: dict[str, tuple] = dict(model.entity.fields or {})
    rows = [
        (name, str(np.dtype(dtype)), "yes" if name in model.public else "")
        for name, (dtype, *_) in fields.items()
    ]
    return _side_by_side(
        _facts_table(model.name, _declared(model)),
        table_html(("kind", "handler"), kinds),
        table_html(("field", "dtype", "public"), rows),
    )


def stats_html(stats: StepStats) -> str:
    """HTML of a step's statistics: a table of facts, and one with a row per worker."""
    names, *workers = stats.worker_facts()
    return _side_by_side(_facts_table("last step", stats.facts()), table_html(names, workers))


def report_html(report: StpaReport) -> str:
    """HTML of a choice of threads: a table of facts, and one with a row per timing."""
    from seer_env.stpa.report import COLUMNS

    facts, rows = _facts_table(f"threads of {report.world}", report.facts()), report.rows()
    return f"<div>{facts}{table_html(COLUMNS, rows) if rows else ''}</div>"


def table_html(names: Iterable[str], rows: Sequence[Iterable[str]]) -> str:
    """HTML of a table; of more than `MOST_ROWS` rows only their number is shown until a click."""
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    cells = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    if len(rows) <= MOST_ROWS:
        return table
    return f"<details><summary>{len(rows):,} rows</summary>{table}</details>"


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
    yield from _spaces(model)
    if env.steps:
        milliseconds = 1000 * (stats.window_s + stats.outputs_s + stats.actions_s + stats.dicts_s)
        yield "last step", f"{stats.events:,} events, {stats.rounds:,} rounds, {milliseconds:.2f} ms"


def _declared(model: EventModel) -> Iterator[tuple[str, str]]:
    yield "class", type(model).__name__
    yield "entities", f"{model.n_entities:,}"
    yield "agents", f"{model.n_agents:,}"
    yield "step window dt", f"{model.dt:g}"
    yield "lookahead", f"{model.lookahead:g}"
    yield "grid", "none" if model.grid is None else f"{' x '.join(map(str, model.grid.shape))} cells"
    yield from _spaces(model)
    for name, value in model.params.items():
        yield f"params.{name}", f"{value:g}" if isinstance(value, float) else str(value)
    for name, table in model.tables.items():
        yield f"tables.{name}", f"{table.dtype}{list(table.shape)}"


def _spaces(model: EventModel) -> Iterator[tuple[str, str]]:
    yield "observation space", str(model.observation_space)
    yield "action space", str(model.action_space)


def _png(frame: np.ndarray) -> str:
    """A frame, uint8 `[H, W, 3]`, as base64 of a PNG file."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(frame).save(file, format="PNG")
    return base64.b64encode(file.getvalue()).decode("ascii")
