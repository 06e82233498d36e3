"""Pictures without a display."""

import numpy as np

from seer_env.envs.aircraft.model import Aircraft
from seer_env.envs.aircraft.viewer import CALM, LOSS
from seer_env.runtime.engine import make_engine


def frame_of(move=lambda state: None, size=(300, 200)):
    model = Aircraft(10, per_region=10)
    engine = make_engine(model, "python")
    engine.reset(0)
    state = engine.state.copy()
    move(state)
    return model.render_frame(state, 65.0, size)


def count(frame, colour):
    return int((frame == colour).all(axis=-1)[:, 150:].sum())  # right of the legend


def test_frame_has_the_asked_size_and_type():
    frame = frame_of()
    assert frame.shape == (200, 300, 3)
    assert frame.dtype == np.uint8


def test_calm_traffic_is_calm_and_lost_separation_is_red():
    def together(state):
        state["x"], state["y"], state["z"] = 1e5, 1e5, 1e4

    assert count(frame_of(size=(900, 900)), CALM) > 0
    assert count(frame_of(size=(900, 900)), LOSS) == 0
    assert count(frame_of(together, (900, 900)), LOSS) > 0


def test_ended_flights_are_not_drawn():
    def ended(state):
        state["active"] = 0

    assert count(frame_of(ended, (900, 900)), CALM) == 0


def test_pictures_need_no_display_and_are_not_blank(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    frame = frame_of(size=(900, 900))
    everywhere = frame.reshape(3, 300, 3, 300, 3).std(axis=(1, 3, 4))  # nine ninths
    assert np.count_nonzero(everywhere > 1.0) >= 6
