"""Recording a step: what every worker did when, and the rounds.

Off, an address of 0 says so, and costs a branch that is always predicted per claim, transition and round. On,
each worker appends spans to a buffer of its own, and the transition, which runs alone, rounds to another.
Nobody reads them before the step has ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from numba import int32, int64

from seer_env.runtime.atomics import array_at
from seer_env.runtime.layout import aligned_zeros
from seer_env.runtime.leq import inlined, kernel
from seer_env.runtime.phases import STOP
from seer_env.runtime.sharing import totals
from seer_env.runtime.waiting import clock_ns

if TYPE_CHECKING:
    from seer_env.runtime.memory import Memory

#: Kind of a span that is no phase: a transition, with all that is done in it.
TRANSITION = STOP + 1

#: What a worker did from one look at the clock to another (nanoseconds of `waiting.clock_ns`).
SPAN = np.dtype(
    [
        ("begun", "i8"),
        ("ended", "i8"),
        ("kind", "i4"),  # of phase, or TRANSITION
        ("phase", "i4"),  # number of the published phase of a claim; 0: done alone, or a transition
        ("round", "i8"),  # rounds opened so far; -1 for a transition
        ("first", "i8"),  # items
        ("items", "i8"),
        ("events", "i8"),  # executed
        ("lost_claims", "i8"),  # of the worker in this step so far
    ],
    align=True,
)
#: A round when it was opened.
ROUND = np.dtype(
    [
        ("begun", "i8"),
        ("worker", "i8"),  # who opened it
        ("lbts", "f8"),
        ("limit", "f8"),
        ("micro", "i8"),  # the micro-step where the window is one timestamp, else -1
        ("ready", "i8"),  # entities ready, or -1 where the scheduler does not know
        ("events", "i8"),  # executed in this step so far
        ("shared", "i8"),  # rounds shared so far
    ],
    align=True,
)


@kernel
def record(worker, kind, phase, number, begun, ended, first, items, events):
    """Append a span to what a worker has recorded; one that does not fit is only counted."""
    if worker.n_spans < worker.span_room:
        span = array_at(worker.spans, SPAN)[worker.n_spans]
        span.begun, span.ended = begun, ended
        span.kind, span.phase, span.round = int32(kind), int32(phase), number
        span.first, span.items, span.events = first, items, events
        span.lost_claims = worker.lost_claims
    worker.n_spans += 1


@kernel
def record_transition(worker, begun, ended):
    """Append the span of a transition."""
    none = int64(0)
    record(worker, int64(TRANSITION), none, int64(-1), begun, ended, none, none, none)


@kernel
def record_round(control, worker, ready):
    """Append the round that has just been opened; one that does not fit is only counted."""
    if control.n_rounds < control.round_room:
        row = array_at(control.round_records, ROUND)[control.n_rounds]
        row.begun, row.worker, row.ready = clock_ns(), worker.index, ready
        row.lbts, row.limit = control.lbts, control.window
        row.micro = control.micro if control.zero else int64(-1)
        row.events, row.shared = totals(control)[0], control.shared_rounds
    control.n_rounds += 1


@inlined
def count_round(control, worker, ready):
    """Count the round that has just been opened, with so many entities ready (-1: not known)."""
    control.rounds += 1
    if control.round_records != 0:
        record_round(control, worker, ready)


class Recording:
    """Buffers for one step: `room` spans per worker, and as many rounds."""

    def __init__(self, memory: Memory, room: int):
        self._memory, self.room = memory, room
        self._spans = aligned_zeros((memory.threads, room), SPAN)
        self._rounds = aligned_zeros(room, ROUND)

    @contextmanager
    def on(self) -> Iterator[Recording]:
        """Have workers record into these buffers; each step begins them anew."""
        control, workers = self._memory.control, self._memory.workers
        control["round_room"] = workers["span_room"] = self.room
        try:
            control["round_records"] = self._rounds.ctypes.data
            workers["spans"] = self._spans.ctypes.data + np.arange(len(workers)) * self._spans.strides[0]
            yield self
        finally:
            control["round_records"] = workers["spans"] = 0

    @property
    def spans(self) -> list[np.ndarray]:
        """Per worker what it recorded, `SPAN`, in the order in which it ended."""
        return [row[: min(count, self.room)] for row, count in zip(self._spans, self._counts())]

    @property
    def lost_spans(self) -> list[int]:
        """Per worker how many spans did not fit."""
        return [max(0, count - self.room) for count in self._counts()]

    @property
    def rounds(self) -> np.ndarray:
        """`ROUND` of each round that fitted, in order."""
        return self._rounds[: min(int(self._memory.control["n_rounds"][0]), self.room)]

    @property
    def lost_rounds(self) -> int:
        """How many rounds did not fit."""
        return max(0, int(self._memory.control["n_rounds"][0]) - self.room)

    def _counts(self) -> list[int]:
        used = int(self._memory.control["threads"][0])
        return self._memory.workers["n_spans"][:used].tolist()
