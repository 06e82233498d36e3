"""`StepTrace`: one step as tables, as a file for Perfetto, and as a picture."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seer_env.episode import EnvStepStats
from seer_env.html import picture_html
from seer_env.tracing.chrome import chrome_trace
from seer_env.tracing.gantt import gantt

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["StepTrace"]


@dataclass(frozen=True, repr=False)
class StepTrace:
    """What every worker did when in one step; `seer_env.tracing.record` makes it.

    Times in the tables are nanoseconds since the step began, int64. `timeline` explains their columns.

    Attributes:
        world: the world's name.
        scheduler: how the step was executed.
        step: its number in the episode, from 1.
        stats: the env's `last_step_stats` of it.
        result: what the step returned.
        claims: `timeline.CLAIMS`: each range of items that a worker claimed in a phase published to all.
        rounds: `timeline.ROUNDS`: each safe window.
        spans: `timeline.SPANS`: what each worker did, claims among it; a worker's spans do not overlap.
        waits: `timeline.SPANS`: where workers waited.
        capacity: spans that are kept of each worker, and rounds.
        lost_spans, lost_rounds: what did not fit, and is missing.
        events: `events.EVENT` of each executed event in key order, or None if it was not asked for.
    """

    world: str
    scheduler: str
    step: int
    stats: EnvStepStats
    result: Any
    claims: np.ndarray
    rounds: np.ndarray
    spans: np.ndarray
    waits: np.ndarray
    capacity: int
    lost_spans: int
    lost_rounds: int
    events: np.ndarray | None

    @property
    def title(self) -> str:
        """The step in one line."""
        stats, workers = self.stats, len(self.stats.workers)
        counts = (workers, "thread"), (stats.rounds, "round"), (stats.events, "event")
        threads, rounds, events = (f"{n:,} {what}{'s' * (n != 1)}" for n, what in counts)
        idle = f"{100 * stats.idle_share:.0f} % idle"
        return f"{self.world}, step {self.step}: {self.scheduler} on {threads}, {rounds}, {events}, {idle}"

    @property
    def missing(self) -> str:
        """What did not fit, as a sentence; empty if the trace is whole."""
        if not self.lost_spans and not self.lost_rounds:
            return ""
        return (
            f"the trace holds the first {self.capacity:,} spans of each worker and as many rounds; "
            f"{self.lost_spans:,} and {self.lost_rounds:,} more did not fit"
        )

    def facts(self) -> Iterator[tuple[str, str]]:
        """Lines of a table: `(what, figure)`."""
        yield "step", f"{self.step:,}"
        yield "scheduler", self.scheduler
        yield from self.stats.facts()
        if self.missing:
            yield "missing", self.missing

    def to_chrome(self, path: str | os.PathLike) -> None:
        """Write a trace that https://ui.perfetto.dev and chrome://tracing open (JSON)."""
        from seer_env.files import write_whole

        write_whole(path, chrome_trace(self).encode())

    def gantt(self) -> Figure:
        """A picture: a row per worker, a colour per kind of work, and where rounds begin if they are few."""
        return gantt(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.title}>"

    def _repr_html_(self) -> str:
        """For Jupyter: a table of facts, and the picture."""
        return picture_html(self.world, self.facts(), self.gantt())
