"""What envs and copies have in common: a scheduler and threads that are asked for or chosen, and a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seer_env.checks import number
from seer_env.machine import effective_cpus
from seer_env.stpa.report import StpaReport, asked
from seer_env.stpa.tuner import ThreadTuner
from seer_env.threads import resolve, simple_rule

if TYPE_CHECKING:
    from seer_env.model import EventModel
    from seer_env.runtime.engine import Engine
    from seer_env.runtime.schedulers.copies import CopiesEngine

__all__ = ["ChoosesThreads"]


class ChoosesThreads:
    """Base of what steps an engine: `_ask_threads` comes before it is made, `_attach_tuner` behind."""

    model: EventModel
    _engine: Engine | CopiesEngine

    def _ask_threads(
        self, scheduler: str, threads: int | str, preflight_ms: float, copies: int = 1, check: bool = False
    ) -> None:
        """Read the arguments. Steps that are checked run under two schedulers: nobody asks how fast.

        Raises:
            ValueError, SeerError: as `threads.resolve`; `preflight_ms` is no finite number from 0 up.
        """
        preflight_s = 1e-3 * number("preflight_ms", preflight_ms, 0.0)
        self._workers, self._copies = resolve(scheduler, threads), copies
        chosen = self._workers.threads is None and self._workers.scheduler in ("auto", "seer") and not check
        self._tuner = ThreadTuner(self.model, copies, preflight_s) if chosen else None

    def _engine_workers(self) -> tuple[str, int]:
        """What the engine is made with: scheduler and threads, the most of them where they are chosen."""
        if self._tuner is not None:
            threads = self._tuner.ladder[-1]
        else:
            threads = self._workers.threads or simple_rule(self.model, effective_cpus(), self._copies)
        if self._workers.scheduler == "auto":
            return "serial" if threads == 1 else "seer", threads
        return self._workers.scheduler, threads

    def _attach_tuner(self) -> None:
        if self._tuner is not None:
            self._tuner.attach(self._engine)  # type: ignore[arg-type]  # a compiled one

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
    def stpa_report(self) -> StpaReport:
        """What was chosen, from which candidates, and why: a table in a terminal and in Jupyter."""
        if self._tuner is not None:
            return self._tuner.report()
        if self._workers.threads is not None:
            reason = f"scheduler={self._workers.scheduler!r} with threads as asked for"
        else:
            reason = "a first guess from sizes: nothing is measured with check, or for this scheduler"
        return asked(self.model.name, self._engine.threads, reason)

    def forget_threads(self) -> None:
        """Forget what was chosen for this configuration earlier: its next first reset chooses anew."""
        if self._tuner is not None:
            self._tuner.forget()
