"""A boundary: everything that the future of a world depends on, in a form that no scheduler owns."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import numpy as np


@dataclass
class Boundary:
    """The world between two step windows.

    Attributes:
        steps: step windows since reset; the clock is `steps * dt`.
        state: entity rows `[N]`.
        emitted: emission counters, int64 `[N]`.
        stream, gamma: random streams, uint64 `[N]` each.
        pending: pending events in key order, `layout.pending_dtype`.
    """

    steps: int
    state: np.ndarray
    emitted: np.ndarray
    stream: np.ndarray
    gamma: np.ndarray
    pending: np.ndarray

    ARRAYS = ("state", "emitted", "stream", "gamma", "pending")

    def copy(self) -> Boundary:
        """An independent copy."""
        return replace(self, **{name: getattr(self, name).copy() for name in self.ARRAYS})

    def update(self, digest: hashlib.blake2b) -> None:
        """Feed everything into a running hash."""
        digest.update(str(self.steps).encode())
        for name in self.ARRAYS:
            digest.update(np.ascontiguousarray(getattr(self, name)).view(np.uint8).tobytes())

    def first_difference(self, other: Boundary) -> str | None:
        """Name the first entity and field, or event, in which two boundaries differ; None if equal."""
        if self.steps != other.steps:
            return f"steps: {self.steps} against {other.steps}"
        for i in np.flatnonzero(_rows_differ(self.state, other.state))[:1]:
            for field in self.state.dtype.names or ():
                a, b = self.state[field][i], other.state[field][i]
                if np.asarray(a).tobytes() != np.asarray(b).tobytes():
                    return f"entity {i}, field {field!r}: {a!r} against {b!r}"
        for name in ("emitted", "stream", "gamma"):
            a, b = getattr(self, name), getattr(other, name)
            for i in np.flatnonzero(a != b)[:1]:
                return f"entity {i}, {name}: {a[i]} against {b[i]}"
        if len(self.pending) != len(other.pending):
            return f"pending events: {len(self.pending)} against {len(other.pending)}"
        for i in np.flatnonzero(_rows_differ(self.pending, other.pending))[:1]:
            return f"pending event {i} in key order: {self.pending[i]} against {other.pending[i]}"
        return None


def _rows_differ(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    width = a.dtype.itemsize
    left = np.ascontiguousarray(a).view(np.uint8).reshape(len(a), width)
    right = np.ascontiguousarray(b).view(np.uint8).reshape(len(b), width)
    return (left != right).any(axis=1)
