"""The picture: a row per worker, a colour per kind of work, borders of rounds if they are few."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image
from traced import chosen, running

from seer_env.runtime.phases import OBSERVE
from seer_env.tracing import gantt, record
from seer_env.tracing.gantt import COLOURS
from seer_env.tracing.timeline import NAMES


@pytest.fixture(scope="module")
def trace():
    return record(running(threads=3), chosen())


def test_every_kind_has_a_colour_of_its_own():
    assert COLOURS.keys() == NAMES.keys()
    assert len(set(COLOURS.values())) == len(COLOURS)


def test_a_row_per_worker_under_a_title_with_the_figures(trace):
    (axes,) = trace.gantt().axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["worker 0", "worker 1", "worker 2"]
    assert axes.get_title().startswith("ring, step 1: seer on 3 threads, ")
    assert f"{trace.stats.events:,} events" in axes.get_title()


def test_the_legend_names_each_kind_once(trace):
    names = [text.get_text() for text in trace.gantt().legends[0].get_texts()]
    present = set(trace.spans["kind"].tolist()) | set(trace.waits["kind"].tolist())
    assert sorted(names) == sorted(NAMES[kind] for kind in present)


def test_borders_of_rounds_are_drawn_if_they_are_few(trace, monkeypatch):
    assert "dotted" in trace.gantt().axes[0].get_xlabel()
    monkeypatch.setattr(gantt, "MOST_BORDERS", trace.stats.rounds - 1)
    assert "dotted" not in trace.gantt().axes[0].get_xlabel()


def test_the_saved_picture_shows_the_colours(trace, tmp_path):
    trace.gantt().savefig(tmp_path / "gantt.png")
    picture = np.asarray(Image.open(tmp_path / "gantt.png").convert("RGB"))
    colour = np.round(255 * np.array(to_rgb(COLOURS[OBSERVE])))
    assert (np.abs(picture - colour).max(axis=-1) <= 1).sum() > 50
