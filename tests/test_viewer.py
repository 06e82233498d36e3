"""The human's window: frames in it, what its user closes, and no display."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from matplotlib import pyplot
from window_backend import using
from worlds import Lamps

from seer_env.env import make
from seer_env.viewer import NoDisplayError, Viewer

FRAME = np.zeros((4, 6, 3), np.uint8)


@pytest.fixture
def windows():
    with using("module://window_backend"):
        yield


def shown(number):
    return pyplot.figure(number).axes[0].images[0].get_array()


def test_one_window_shows_one_frame_after_another(windows):
    viewer = Viewer("world")
    viewer.show(FRAME)
    viewer.show(FRAME + 9)
    (number,) = pyplot.get_fignums()
    assert (shown(number) == 9).all()
    canvas = pyplot.figure(number).canvas
    assert canvas.manager.get_window_title() == "world"
    assert canvas.drawn >= 2
    viewer.close()
    assert pyplot.get_fignums() == []


def test_two_envs_of_one_name_have_a_window_each(windows):
    first, second = Viewer("world"), Viewer("world")
    first.show(FRAME)
    second.show(FRAME + 9)
    assert [int(shown(number).max()) for number in pyplot.get_fignums()] == [0, 9]


def test_a_window_that_the_user_closed_stays_closed_and_the_run_goes_on(windows):
    viewer = Viewer("world")
    viewer.show(FRAME)
    pyplot.close("all")  # what a window's close button does
    viewer.show(FRAME)
    viewer.show(FRAME)
    assert pyplot.get_fignums() == []
    viewer.close()


def test_an_env_shows_its_pictures(windows):
    env = make(Lamps(), scheduler="python", render_mode="human")
    env.reset(seed=0)
    env.step(dict.fromkeys(env.agents, 4))
    assert env.render() is None
    assert shown(pyplot.get_fignums()[0])[0, 0].tolist() == [160, 0, 0]
    env.close()
    assert pyplot.get_fignums() == []


def test_without_a_display_the_error_names_the_other_mode():
    env = make(Lamps(), scheduler="python", render_mode="human")
    env.reset(seed=0)
    with using("agg"), pytest.raises(NoDisplayError, match="rgb_array"):
        env.render()


def test_a_window_system_that_is_not_there_is_the_same_error():
    code = "from seer_env.viewer import Viewer; Viewer('world').show([[0.0]])"
    hidden = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**hidden, "MPLBACKEND": "tkagg"}, capture_output=True, text=True,
    )  # fmt: skip
    assert "NoDisplayError" in done.stderr.splitlines()[-1]
