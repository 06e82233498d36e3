"""A matplotlib backend whose windows exist only in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib as mpl
from matplotlib import pyplot
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg


class FigureManager(FigureManagerBase):
    """A window of which only the title is known."""

    title = ""

    def get_window_title(self):
        return self.title

    def set_window_title(self, title):
        self.title = title

    def show(self):
        pass


class FigureCanvas(FigureCanvasAgg):
    """Draws for `FigureManager`, and counts how often."""

    manager_class = FigureManager
    drawn = 0

    def draw(self):
        self.drawn += 1
        super().draw()


@contextmanager
def using(backend: str) -> Iterator[None]:
    """Another backend for a while; all windows are closed in the end."""
    before = pyplot.get_backend()
    mpl.use(backend)
    try:
        yield
    finally:
        pyplot.close("all")
        mpl.use(before)
