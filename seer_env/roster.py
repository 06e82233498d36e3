"""Who is live: the agents' names, and the rows of the arrays that are theirs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["Roster"]


class Roster:
    """The live agents at a boundary. Never changed: `without` and `of` make new ones.

    Attributes:
        names: every agent's name, in row order.
        index: row of each name.
        live: bool `[M]`, read-only.
        live_names: names of the live agents, in row order.
        rows: what selects the live rows of an array `[M, ...]`: a slice, which costs nothing, while
            all agents are live; else int64 indices.
    """

    def __init__(self, names: Sequence[str], live: np.ndarray, index: dict[str, int] | None = None):
        self.names = list(names)
        self.index = {name: i for i, name in enumerate(names)} if index is None else index
        self.live = live
        self.live.flags.writeable = False
        if live.all():
            self.rows: slice | np.ndarray = slice(None)
            self.live_names = self.names
        else:
            self.rows = np.flatnonzero(live)
            self.live_names = [self.names[i] for i in self.rows.tolist()]

    def of(self, live: np.ndarray) -> Roster:
        """The same agents, of whom those in `live` (bool `[M]`) are live."""
        return Roster(self.names, live, self.index)

    def without(self, ended: np.ndarray) -> Roster:
        """Those still live when the episodes of `ended` (bool `[M]`) are over."""
        return self.of(self.live & ~ended)

    def full(self) -> Roster:
        """All agents live."""
        return self.of(np.ones(len(self.names), bool))

    def empty(self) -> Roster:
        """No agent live."""
        return self.of(np.zeros(len(self.names), bool))
