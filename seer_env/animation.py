"""`Animation`: pictures that move, in a Jupyter cell or as a GIF file."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Iterable

import numpy as np

from seer_env.files import write_whole

__all__ = ["Animation"]


class Animation:
    """Frames as a GIF that repeats; as the last expression of a Jupyter cell it plays.

        env = seer_env.make("battle_v0", max_cycles=10, render_mode="rgb_array")
        env.reset_arrays(seed=1)
        frames = []
        while env.agents:
            env.step_arrays(env.policies["random"](env))
            frames.append(env.render())
        seer_env.Animation(frames)

    Args:
        frames: uint8 `[H, W, 3]`, all of one size, as `env.render()` returns them.
        fps: frames per second, as a GIF can tell them: in hundredths of a second per frame.
        width: pixels of the picture, which is made smaller, never larger.

    Raises:
        ValueError: there is no frame, one is not uint8 `[H, W, 3]` or of another size, or `fps` or `width`
            is not positive.
    """

    def __init__(self, frames: Iterable[np.ndarray], fps: float = 10.0, width: int = 450):
        from PIL import Image

        if not 0 < fps <= 100 or width < 1:
            raise ValueError(f"fps must be in (0, 100] and width at least 1, got {fps!r} and {width!r}")
        frames = [_checked(frame) for frame in frames]
        if not frames:
            raise ValueError("an animation needs at least one frame")
        height, full_width = frames[0].shape[:2]
        scale = min(1.0, width / full_width)
        size = max(1, round(scale * full_width)), max(1, round(scale * height))
        images = []
        for number, frame in enumerate(frames):
            if frame.shape != frames[0].shape:
                raise ValueError(f"frame {number} has shape {frame.shape}, the first one {frames[0].shape}")
            images.append(Image.fromarray(frame).resize(size).quantize())
        file = io.BytesIO()
        images[0].save(
            file, format="GIF", save_all=True, append_images=images[1:], duration=1000 / fps, loop=0
        )
        self._gif = file.getvalue()
        self._frames, self._size = len(images), size

    def save(self, path: str | os.PathLike) -> None:
        """Write the GIF file."""
        write_whole(path, self._gif)

    def __repr__(self) -> str:
        width, height = self._size
        return f"<{type(self).__name__}: {self._frames} frames of {width} x {height} pixels>"

    def _repr_html_(self) -> str:
        """For Jupyter: the picture itself, so that a saved notebook needs no other file."""
        data = base64.b64encode(self._gif).decode("ascii")
        return f'<img alt="{self._frames} frames" src="data:image/gif;base64,{data}">'


def _checked(frame: np.ndarray) -> np.ndarray:
    frame = np.asarray(frame)
    if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3:
        raise ValueError(
            f"a frame is uint8 [H, W, 3], got {frame.dtype} {list(frame.shape)}: is the env made with "
            'render_mode="rgb_array"?'
        )
    return frame
