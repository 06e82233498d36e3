"""Pictures that move: the GIF holds the frames, in order and for the right time."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from PIL import Image, ImageSequence

from seer_env import Animation

COLOURS = [(255, 0, 0), (0, 255, 0), (0, 0, 255)]


def frames(height=4, width=8):
    return [np.full((height, width, 3), colour, np.uint8) for colour in COLOURS]


def played(animation):
    """Colour of the first pixel, size and milliseconds of every frame that a browser shows."""
    start = 'src="data:image/gif;base64,'
    data = animation._repr_html_().split(start)[1].split('"')[0]
    image = Image.open(io.BytesIO(base64.b64decode(data)))
    return [
        (frame.convert("RGB").getpixel((0, 0)), frame.size, frame.info["duration"])
        for frame in ImageSequence.Iterator(image)
    ]


def test_a_cell_plays_the_frames_in_order():
    assert played(Animation(frames(), fps=20)) == [(colour, (8, 4), 50) for colour in COLOURS]


def test_wide_frames_are_made_smaller_in_proportion():
    assert {size for _, size, _ in played(Animation(frames(60, 100), width=50))} == {(50, 30)}


def test_it_is_saved_as_a_file_of_the_same_frames(tmp_path):
    Animation(frames()).save(tmp_path / "film.gif")
    with Image.open(tmp_path / "film.gif") as film:
        assert film.n_frames == 3


def test_an_iterator_will_do():
    assert repr(Animation(iter(frames()))) == "<Animation: 3 frames of 8 x 4 pixels>"


@pytest.mark.parametrize(
    ("bad", "options", "message"),
    [
        ([], {}, "at least one frame"),
        ([None], {}, "render_mode"),
        ([np.zeros((4, 8), np.uint8)], {}, r"got uint8 \[4, 8\]"),
        ([np.zeros((4, 8, 3))], {}, "got float64"),
        ([*frames(), np.zeros((5, 8, 3), np.uint8)], {}, r"frame 3 has shape \(5, 8, 3\)"),
        (frames(), {"fps": 0}, "fps must be"),
        (frames(), {"width": 0}, "width at least 1"),
    ],
)
def test_what_cannot_be_shown_is_refused(bad, options, message):
    with pytest.raises(ValueError, match=message):
        Animation(bad, **options)
