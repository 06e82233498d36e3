"""Pictures without a display."""

import numpy as np
import pytest

from seer_env.envs.pcs.model import Pcs
from seer_env.envs.pcs.viewer import HANDOFF, HOT
from seer_env.runtime.engine import make_engine

RING = (np.arange(11) * 2, np.array([[(i - 1) % 10, (i + 1) % 10] for i in range(10)]).ravel())


def frame_of(n=36, move=lambda state: None, size=(500, 450), **world):
    model = Pcs(n, **world)
    engine = make_engine(model, "python")
    engine.reset(0)
    state = engine.state.copy()
    move(state)
    return model.render_frame(state, 65.0, size)


def count(frame, colour):
    """Pixels near to a colour "#rrggbb", above the legend."""
    rgb = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
    return int((np.abs(frame[:380].astype(int) - rgb).max(axis=-1) < 40).sum())


@pytest.mark.parametrize(
    "world", [{}, {"topology": "square"}, {"wrap": False}, {"n": 10, "topology": RING}, {"n": 4900}, {"n": 1}]
)
def test_frame_has_the_asked_size_and_type(world):
    frame = frame_of(**world)
    assert frame.shape == (450, 500, 3)
    assert frame.dtype == np.uint8


def test_load_is_a_colour():
    def full(state):
        state["busy"] = 70

    empty = frame_of(move=lambda state: state["busy"].fill(0), hotspot=0.0)
    assert empty[100:350, 50:350].mean() > frame_of(move=full, hotspot=0.0)[100:350, 50:350].mean() + 50


def test_handoffs_and_the_hot_spot_are_drawn():
    def handoffs(state):
        state["sent"] = 3

    assert count(frame_of(hotspot=0.0), HANDOFF) == 0
    assert count(frame_of(hotspot=0.0, move=handoffs), HANDOFF) > 500
    assert count(frame_of(hotspot=0.0), HOT) == 0
    assert count(frame_of(), HOT) > 100
