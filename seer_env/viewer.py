"""Shows frames to a human: a matplotlib window where there is a display."""

from __future__ import annotations

from typing import Any

import numpy as np

from seer_env.errors import SeerError

__all__ = ["NoDisplayError", "Viewer"]

#: matplotlib's backends that only write files.
FILE_BACKENDS = ("agg", "cairo", "pdf", "pgf", "ps", "svg", "template")


class NoDisplayError(SeerError, RuntimeError):
    """There is no display to show a window on."""


class Viewer:
    """A window that shows one frame after another. Whoever closes it stops the show, not the run.

    Raises:
        NoDisplayError: matplotlib has no backend here that opens windows.
    """

    def __init__(self, title: str):
        from matplotlib import pyplot

        try:
            backend = pyplot.get_backend()
        except ImportError as error:  # one was asked for by name and cannot open a window
            raise NoDisplayError(_no_display(str(error))) from error
        if backend.lower() in FILE_BACKENDS:
            raise NoDisplayError(_no_display(f"matplotlib's backend is {backend}, which only writes files"))
        self._pyplot = pyplot
        self._title = title
        self._figure: Any = None
        self._image: Any = None

    def show(self, frame: np.ndarray) -> None:
        """Replace what the window shows by `frame`, uint8 `[H, W, 3]`; nothing if the user closed it."""
        if self._figure is None:
            self._open(frame)
        if self._pyplot.fignum_exists(self._figure.number):
            self._image.set_data(frame)
            self._pyplot.pause(0.001)  # draws, and serves the window's events

    def close(self) -> None:
        """Close the window."""
        if self._figure is not None:
            self._pyplot.close(self._figure)
            self._figure = None

    def _open(self, frame: np.ndarray) -> None:
        try:
            self._figure, axes = self._pyplot.subplots(layout="constrained")
        except ImportError as error:
            raise NoDisplayError(_no_display(str(error))) from error
        self._figure.canvas.manager.set_window_title(self._title)
        axes.set_axis_off()
        self._image = axes.imshow(frame)


def _no_display(reason: str) -> str:
    return (
        f'render_mode="human" found no display to open a window on ({reason}); '
        'make the env with render_mode="rgb_array", whose render() returns pictures'
    )
