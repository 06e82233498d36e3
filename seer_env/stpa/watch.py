"""Watching steps: when a choice of threads is to be looked at again.

A sustained change of the steps' time says that it may not hold any more. But a choice made while another
process held a core shows no change when the core is free again: one thread is as fast as before. So there is
a second look after many steps too, the later the more steps the search before took.
"""

from __future__ import annotations

import statistics

__all__ = ["CHANGE", "SUSTAINED", "Watch"]

#: A step time that differs by more than this for `SUSTAINED` steps in a row, all longer or all shorter, is a
#: sustained change.
CHANGE, SUSTAINED = 0.15, 20
#: Each search that confirms the choice doubles the patience of the watch, up to this many steps: a world
#: whose steps keep changing for reasons of its own is not searched for ever.
MOST_PATIENCE = 40_960
#: Steps until a second look, for each step of the search before it; twice as many each time that a look
#: confirms the choice, up to so many times: what else runs on the machine changes all the while.
LOOK_SHARE, MOST_LOOK_SHARE = 10, 640


class Watch:
    """Compares steps with the median of the first `SUSTAINED` ones.

    Attributes:
        reference: that median in seconds, or None while those steps are collected.
        low, high: a step time between them is no change, and need not be told: `away` is 0 then.
        away: steps in a row that were longer, or shorter as a negative number.
        patience: how many of them make a sustained change.
        left: steps until the second look.
    """

    def __init__(self) -> None:
        self.patience = SUSTAINED
        self.begin()

    def begin(self, steps: int = SUSTAINED) -> None:
        """Collect a new reference behind a search of so many steps; the patience stays."""
        self.left = steps * min(LOOK_SHARE * self.patience // SUSTAINED, MOST_LOOK_SHARE)
        self.reference: float | None = None
        self.low, self.high = float("inf"), float("-inf")  # nothing lies between them
        self.away = 0
        self._first: list[float] = []

    def stepped(self, seconds: float) -> bool:
        """Tell what a step took; whether it is time to look again."""
        self.left -= 1
        if self.reference is None:
            self._collect(seconds)
        elif seconds > self.high:
            self.away = max(self.away, 0) + 1
        elif seconds < self.low:
            self.away = min(self.away, 0) - 1
        else:
            self.away = 0
        return abs(self.away) >= self.patience or self.left <= 0

    def searched(self, steps: int, confirmed: bool) -> None:
        """A look took so many steps, and confirmed the choice or not: begin again."""
        self.patience = min(2 * self.patience, MOST_PATIENCE) if confirmed else SUSTAINED
        self.begin(steps)

    def _collect(self, seconds: float) -> None:
        self._first.append(seconds)
        if len(self._first) == SUSTAINED:
            self.reference = statistics.median(self._first)
            self.low, self.high = (1.0 - CHANGE) * self.reference, (1.0 + CHANGE) * self.reference
