"""Shows frames to a human: a matplotlib window where there is a display."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

__all__ = ["Viewer"]

#: matplotlib's backends that only write files.
FILE_BACKENDS = ("agg", "cairo", "pdf", "pgf", "ps", "svg", "template")

_log = logging.getLogger("seer_env")


class Viewer:
    """A window that shows one frame after another; without a display it says so once and stays dark."""

    def __init__(self, title: str):
        from matplotlib import pyplot

        self._pyplot = pyplot
        self._title = title
        self._figure: Any = None
        self._image: Any = None
        self._interactive = pyplot.get_backend().lower() not in FILE_BACKENDS
        if not self._interactive:
            _log.warning(
                'render_mode="human" has no display to show on (matplotlib backend %s): '
                'use render_mode="rgb_array" for pictures',
                pyplot.get_backend(),
            )

    def show(self, frame: np.ndarray) -> None:
        """Replace what the window shows by `frame`, uint8 `[H, W, 3]`."""
        if not self._interactive:
            return
        if self._figure is None:
            self._figure, axes = self._pyplot.subplots(num=self._title, layout="constrained")
            axes.set_axis_off()
            self._image = axes.imshow(frame)
        self._image.set_data(frame)
        self._pyplot.pause(0.001)

    def close(self) -> None:
        """Close the window."""
        if self._figure is not None:
            self._pyplot.close(self._figure)
            self._figure = None
