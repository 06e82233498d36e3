"""What envs and copies have in common: a scheduler and threads that are asked for or chosen, and a report."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from seer_env.affinity import Affinity, checked_cpus
from seer_env.checks import number, whole
from seer_env.errors import SeerError
from seer_env.machine import effective_cpus
from seer_env.stpa.report import StpaReport, asked
from seer_env.stpa.tuner import ThreadTuner
from seer_env.threads import resolve, simple_rule

if TYPE_CHECKING:
    from seer_env.model import EventModel
    from seer_env.runtime.engine import Engine
    from seer_env.runtime.schedulers.copies import CopiesEngine

__all__ = ["ChoosesThreads"]

#: Schedulers of engines whose threads may change between steps.
CHANGEABLE = ("serial", "seer")


class ChoosesThreads:
    """Base of what steps an engine: `_ask_threads` comes before it is made, `_attach_tuner` behind."""

    model: EventModel
    _engine: Engine | CopiesEngine
    _closed: bool

    def _ask_threads(
        self,
        scheduler: str,
        threads: int | str,
        preflight_ms: float,
        affinity: Sequence[int] | None,
        copies: int = 1,
        check: bool = False,
    ) -> None:
        """Read the arguments. Steps that are checked run under two schedulers: nobody asks how fast.

        Raises:
            ValueError, SeerError: as `threads.resolve` and `affinity.checked_cpus`; `preflight_ms` is no
                finite number from 0 up.
        """
        preflight_s = 1e-3 * number("preflight_ms", preflight_ms, 0.0)
        self._workers, self._copies = resolve(scheduler, threads), copies
        chosen = self._workers.threads is None and self._workers.scheduler in ("auto", "seer") and not check
        self._cpus = checked_cpus(affinity, self._workers.threads)
        named = None if self._cpus is None else len(self._cpus)
        self._tuner = ThreadTuner(self.model, copies, preflight_s, named) if chosen else None
        if self._tuner is not None:
            self._most = self._tuner.ladder[-1]
        else:
            cpus = min(effective_cpus(), named or effective_cpus())
            self._most = self._workers.threads or simple_rule(self.model, cpus, copies)
        self._used: int | None = None  # threads by `use_threads`

    def _engine_workers(self) -> tuple[str, int]:
        """What the engine is made with: scheduler and threads, the most of them where they are chosen."""
        if self._workers.scheduler == "auto":
            return "serial" if self._most == 1 else "seer", self._most
        return self._workers.scheduler, self._most

    def _attach_tuner(self) -> None:
        self._affinity = Affinity(self._cpus, self._most)
        if self._tuner is not None:
            self._tuner.attach(self._engine, self._affinity)  # type: ignore[arg-type]  # a compiled one
        elif self._used is not None and self._engine.scheduler in CHANGEABLE:
            self._engine.use_threads(self._used)  # type: ignore[union-attr]  # as above

    def _on_cpus(self) -> AbstractContextManager[None]:
        """The context in which the engine runs: workers are pinned, if they are to be."""
        return self._affinity.on(self._engine.threads)

    def _watch_steps(self) -> None:
        """A step is about to begin: it may run on other threads than the last one."""
        if self._tuner is not None and self._engine.elapsed_s >= self._tuner.wakes_at:
            self._tuner.before_step()

    @property
    def scheduler(self) -> str:
        """The scheduler in force, one of `runtime.engine.SCHEDULERS`."""
        if self._workers.scheduler == "auto" and self._engine.scheduler in ("serial", "seer"):
            return "serial" if self._engine.threads == 1 else "seer"
        return self._engine.scheduler

    @property
    def threads(self) -> int:
        """The number of threads in force. Where it is chosen, it may change between steps."""
        return self._engine.threads

    @property
    def most_threads(self) -> int:
        """The most threads that `use_threads` takes: those that the engine was made with."""
        return self._most

    def use_threads(self, count: int) -> None:
        """Step on `count` threads from the next step on; none are chosen any more. Outputs do not change.

        Args:
            count: from 1 to `most_threads`.

        Raises:
            ValueError: `count` is out of this range, or another number than that of a scheduler which steps
                on the threads it was made with.
            SeerError: a step is under way in another thread, or the engine is closed.
        """
        if self._closed:
            raise SeerError(f"{self.model.name} is closed: make it anew")
        count = whole("count", count, error=ValueError)
        if count > self._most:
            raise ValueError(
                f"count must be from 1 to {self._most}, the threads that {self.model.name} was made with, "
                f"got {count}: make it with more"
            )
        if self._engine.scheduler in CHANGEABLE:
            self._engine.use_threads(count)  # type: ignore[union-attr]  # a compiled one
        elif count != self._engine.threads:
            raise ValueError(
                f"scheduler {self._engine.scheduler!r} steps on the {self._engine.threads} threads it was "
                f'made with, got count={count}: use "seer"'
            )
        self._tuner, self._used = None, count

    @property
    def stpa_report(self) -> StpaReport:
        """What was chosen, from which candidates, and why: a table in a terminal and in Jupyter."""
        if self._tuner is not None:
            return self._tuner.report()
        if self._used is not None:
            reason = f"use_threads({self._used})"
        elif self._workers.threads is not None:
            reason = f"scheduler={self._workers.scheduler!r} with threads as asked for"
        else:
            reason = "a first guess from sizes: nothing is measured with check, or for this scheduler"
        return asked(self.model.name, self._engine.threads, reason)

    def forget_threads(self) -> None:
        """Forget what was chosen for this configuration earlier: its next first reset chooses anew."""
        if self._tuner is not None:
            self._tuner.forget()
