"""Counts and times of a step, and of each worker in it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

__all__ = ["StepStats", "WorkerStats"]

#: What a step keeps of its control record: adjacent int64 words of `layout.CONTROL`.
STEP_COUNTS = ("rounds", "shared_rounds", "events", "drained_at", "ended_at", "begun_at", "threads")
#: What it keeps of each worker's record: adjacent int64 words of `layout.WORKER`.
WORKER_COUNTS = ("events", "undone", "claims", "lost_claims", "busy", "busy_outputs", "alone")


class WorkerStats(NamedTuple):
    """What one worker did in a step.

    Times are of the wall clock: time in which the system gave the worker's core to somebody else counts.

    Attributes:
        events: events that it executed; under `root-sim` those that it committed.
        undone: events that it took back after it had executed them. Only `root-sim` does.
        claims: ranges of items that it claimed in phases that were published to all workers.
        lost_claims: attempts to claim (compare-and-swaps) that failed because another worker was faster.
        busy_s: seconds in which it did not wait. `busy_s - outputs_s` is what actions and events took.
        outputs_s: of these, seconds for outputs, behind the window.
        alone_s: of `busy_s`, seconds in transitions: opening and settling windows, and phases too small to
            share. One worker at a time does these, while the others wait.
    """

    events: int = 0
    undone: int = 0
    claims: int = 0
    lost_claims: int = 0
    busy_s: float = 0.0
    outputs_s: float = 0.0
    alone_s: float = 0.0


@dataclass(frozen=True, kw_only=True, repr=False)
class StepStats:
    """Counts and wall times of the last step.

    Attributes:
        events: events executed, those of actions among them.
        rounds: safe windows opened. Under `python` and `heap`, which open none, executed events; under
            `root-sim` rounds of visits between two computations of GVT.
        shared_rounds: of these, those published to all workers.
        window_s: seconds from the call until the window was drained: actions, events, and Python around them.
        outputs_s: seconds from there to the last output.
        running_s: seconds in which workers could work: `window_s + outputs_s` without Python around them.
        workers: one entry per worker of the step. Empty before the first step, and for copies, whose
            workers go from world to world.
    """

    events: int = 0
    rounds: int = 0
    shared_rounds: int = 0
    window_s: float = 0.0
    outputs_s: float = 0.0
    running_s: float = 0.0
    workers: tuple[WorkerStats, ...] = ()

    @property
    def events_per_round(self) -> float:
        """Events executed per round; 0 without rounds."""
        return self.events / self.rounds if self.rounds else 0.0

    @property
    def lost_claims(self) -> int:
        """Claims lost to other workers, all workers together."""
        return sum(worker.lost_claims for worker in self.workers)

    @property
    def idle_share(self) -> float:
        """Share of `running_s` in which workers waited, 0 to 1: mean over the workers; nan without any."""
        available = len(self.workers) * self.running_s
        if not available:
            return math.nan
        return min(1.0, max(0.0, 1.0 - sum(worker.busy_s for worker in self.workers) / available))

    def facts(self) -> Iterator[tuple[str, str]]:
        """Lines of a table: `(what, figure)`."""
        yield "events", f"{self.events:,}"
        yield "rounds", f"{self.rounds:,}, {self.shared_rounds:,} of them shared"
        yield "events per round", f"{self.events_per_round:,.1f}"
        yield "window", f"{1e3 * self.window_s:,.3f} ms"
        yield "outputs", f"{1e3 * self.outputs_s:,.3f} ms"
        if self.workers:
            yield "workers", f"{len(self.workers)}, idle {100 * self.idle_share:.1f} % of the time"
            yield "claims lost", f"{self.lost_claims:,} beside {sum(w.claims for w in self.workers):,} made"

    def worker_facts(self) -> Iterator[tuple[str, ...]]:
        """Rows of a table of workers; the first names the columns."""
        yield "worker", "events", "claims", "lost", "busy ms", "outputs ms", "alone ms"
        for index, w in enumerate(self.workers):
            times = (f"{1e3 * seconds:,.3f}" for seconds in (w.busy_s, w.outputs_s, w.alone_s))
            yield str(index), f"{w.events:,}", f"{w.claims:,}", f"{w.lost_claims:,}", *times

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {'; '.join(f'{name}: {figure}' for name, figure in self.facts())}>"


def step_stats(counts: np.ndarray, workers: np.ndarray, elapsed_s: float) -> StepStats:
    """Statistics from what a step has kept.

    Args:
        counts: int64, in the order of `STEP_COUNTS`; times are nanoseconds of `waiting.clock_ns`.
        workers: int64 `[workers, len(WORKER_COUNTS)]`.
        elapsed_s: wall time of the whole step.
    """
    step: Mapping[str, int] = dict(zip(STEP_COUNTS, counts.tolist()))
    outputs_s = min((step["ended_at"] - step["drained_at"]) * 1e-9, elapsed_s)
    return StepStats(
        events=step["events"],
        rounds=step["rounds"],
        shared_rounds=step["shared_rounds"],
        window_s=elapsed_s - outputs_s,
        outputs_s=outputs_s,
        running_s=(step["ended_at"] - step["begun_at"]) * 1e-9,
        workers=tuple(
            WorkerStats(*row[:4], *(1e-9 * ns for ns in row[4:]))
            for row in workers[: step["threads"]].tolist()
        ),
    )
