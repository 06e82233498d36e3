"""The human's window: told apart from backends that only write files."""

from __future__ import annotations

import logging

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot

from seer_env.viewer import Viewer

FRAME = np.zeros((4, 6, 3), np.uint8)


@pytest.fixture
def backend():
    mpl.use("agg")


def test_without_a_display_it_says_so_once(backend, caplog):
    with caplog.at_level(logging.WARNING, logger="seer_env"):
        viewer = Viewer("world")
        viewer.show(FRAME)
        viewer.show(FRAME)
    assert len(caplog.records) == 1
    assert "rgb_array" in caplog.text
    assert pyplot.get_fignums() == []


def test_with_a_display_one_window_shows_one_frame_after_another(backend, monkeypatch):
    monkeypatch.setattr(pyplot, "get_backend", lambda: "tkagg")
    pauses = []
    monkeypatch.setattr(pyplot, "pause", pauses.append)
    viewer = Viewer("world")
    viewer.show(FRAME)
    viewer.show(FRAME + 9)
    assert len(pyplot.get_fignums()) == 1
    assert (pyplot.gcf().axes[0].images[0].get_array() == 9).all()
    assert len(pauses) == 2
    viewer.close()
    assert pyplot.get_fignums() == []
