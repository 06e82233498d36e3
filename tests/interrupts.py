"""Ctrl-C at a chosen point of the package's code."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import seer_env

PACKAGE = str(Path(seer_env.__file__).parent)


class Interrupt:
    """Sends this process SIGINT at the n-th point where Python may serve a signal in the package's code.

    Those are the starts of functions and the ends of calls of C functions.
    """

    def __init__(self, n: int):
        self._points_left = n
        self.sent = False

    def __enter__(self) -> Interrupt:
        sys.setprofile(self._point)
        return self

    def __exit__(self, *_) -> None:
        sys.setprofile(None)

    def _point(self, frame, event, _):
        if self.sent or event not in ("call", "c_return") or not frame.f_code.co_filename.startswith(PACKAGE):
            return
        self._points_left -= 1
        if self._points_left == 0:
            self.sent = True
            signal.raise_signal(signal.SIGINT)
