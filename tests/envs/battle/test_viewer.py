"""Pictures without a display."""

from __future__ import annotations

import numpy as np
import pytest

from seer_env.envs.battle.model import Battle
from seer_env.envs.battle.viewer import GROUND, WALL, shade
from seer_env.runtime.engine import make_engine

#: Pixels above the map hold the legend.
HEADER = 126


def frame_of(change=lambda state: None, size=(900, 900)):
    model = Battle(8)
    engine = make_engine(model, "python")
    engine.reset(0)
    state = engine.state.copy()
    change(state)
    return model.render_frame(state, 3.0, size)


def count(frame, colour):
    return int((frame[HEADER:] == colour).all(axis=-1).sum())


def test_frame_has_the_asked_size_and_type():
    frame = frame_of(size=(300, 200))
    assert frame.shape == (200, 300, 3)
    assert frame.dtype == np.uint8


def test_armies_of_full_health_have_their_colours():
    frame = frame_of()
    red, blue = (count(frame, shade(army, 1.0)) for army in (0, 1))
    assert red == pytest.approx(blue, rel=0.05)  # edges fall between pixels
    assert red > 0
    assert count(frame, GROUND) > count(frame, WALL) > 0


def test_the_wounded_are_paler():
    def wound(state):
        state["shown"][:4] = 5.0

    frame = frame_of(wound)
    assert count(frame, shade(0, 0.5)) == count(frame_of(), shade(0, 1.0))
    assert count(frame, shade(0, 1.0)) == 0
    assert sum(shade(0, 0.0)) > sum(shade(0, 0.5)) > sum(shade(0, 1.0))


def test_the_dead_are_not_drawn():
    def kill(state):
        state["shown"][4:8] = -1.0

    assert count(frame_of(kill), shade(1, 1.0)) == 0
