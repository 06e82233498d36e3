"""Recording a trace: some preflight steps, and what the sources say between them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from seer_env.stpa.features import aggregate
from seer_env.stpa.probes import THREAD_COLUMNS, Probes, ProcessReading

if TYPE_CHECKING:
    from seer_env.runtime.engine import Engine
    from seer_env.runtime.schedulers.copies import CopiesEngine
    from seer_env.runtime.stats import StepStats

__all__ = ["LENGTH", "record"]

#: Trace steps of a full trace. A trace may be shorter, down to one, where env steps are long.
LENGTH = 16
#: A trace step lasts at least this long: shorter env steps are taken several at a time, so that reading
#: the sources (some tens of microseconds) does not drown what it measures.
SAMPLE_S = 1e-3


def record(
    engine: Engine | CopiesEngine, step: Callable[[], object], seconds: float = 0.05, length: int = LENGTH
) -> np.ndarray:
    """Record a trace `F`, float32 `[metrics, T, 3]` with `1 <= T <= length`.

    Args:
        engine: what `step` steps. It should have stepped before: first steps load code and start threads.
        step: runs one env step.
        seconds: no trace step begins later than this.
        length: the most trace steps.
    """
    rows: list[np.ndarray] = []
    with Probes() as probes:
        threads, process = probes.threads(), probes.process()
        begun = time.perf_counter()
        while not rows or (len(rows) < length and time.perf_counter() - begun < seconds):
            sample = _Sample(engine)
            sample.take(step)
            before, threads = threads, probes.threads()
            earlier, process = process, probes.process()
            columns = sample.columns() | operating_system(sample, before, threads)
            rows.append(aggregate(columns | memory(sample, earlier, process)))
    return np.stack(rows, axis=1)


class _Sample:
    """Env steps that make up one trace step, and the engine's counts of them."""

    def __init__(self, engine: Engine | CopiesEngine):
        self._engine, self.steps, self.seconds = engine, 0, 0.0
        self._stats: list[StepStats] = []

    def take(self, step: Callable[[], object]) -> None:
        """Run steps until they have lasted `SAMPLE_S`."""
        begun = time.perf_counter()
        while self.seconds < SAMPLE_S:
            step()
            self._stats.append(self._engine.stats)
            self.steps += 1
            self.seconds = time.perf_counter() - begun

    def columns(self) -> dict[str, np.ndarray]:
        """The engine's metrics: see `features.METRICS`."""
        events, rounds, shared, window_s, outputs_s = np.array(
            [(s.events, s.rounds, s.shared_rounds, s.window_s, s.outputs_s) for s in self._stats]
        ).sum(axis=0)
        entities = self._engine.model.n_entities * getattr(self._engine, "copies", 1)
        return {
            "entities": np.log10(1.0 + entities),
            "step_ns": np.log10(1.0 + 1e9 * self.seconds / self.steps),
            "events": np.log10(1.0 + events / self.steps),
            "rounds": np.log10(1.0 + rounds / self.steps),
            "shared_rounds": shared / max(rounds, 1.0),
            "event_ns": np.log10(1.0 + 1e9 * window_s / events) if events else np.nan,
            "outputs_ns": np.log10(1.0 + 1e9 * outputs_s / self.steps),
            **self._by_worker(),
        }

    def _by_worker(self) -> dict[str, np.ndarray]:
        if not self._stats[0].workers:  # copies: their workers go from world to world
            return {}
        per_step = [[(w.events, w.busy_s, w.lost_claims) for w in s.workers] for s in self._stats]
        events, busy_s, lost = np.mean(per_step, axis=0).T
        running_s = np.mean([s.running_s for s in self._stats])
        return {
            "worker_events": np.log10(1.0 + events),
            "worker_busy_ns": np.log10(1.0 + 1e9 * busy_s),
            "worker_idle": np.clip(1.0 - busy_s / running_s, 0.0, 1.0),
            "lost_claims": np.log10(1.0 + lost),
        }


def operating_system(sample: _Sample, before: np.ndarray, after: np.ndarray) -> dict[str, np.ndarray]:
    """Metrics by thread, of those that ran or wanted to: others are not this world's workers."""
    change = dict(zip(THREAD_COLUMNS, (after - before).T))
    active = np.nan_to_num(change["run_ns"]) + np.nan_to_num(change["delay_ns"]) > 0.0
    change = {name: values[active] for name, values in change.items()}
    wall_ns = 1e9 * sample.seconds
    with np.errstate(divide="ignore", invalid="ignore"):  # 0 of 0 counted: nothing to measure
        return {
            "run_share": change["run_ns"] / wall_ns,
            "delay_share": change["delay_ns"] / wall_ns,
            "voluntary": np.log10(1.0 + change["voluntary"] / sample.steps),
            "involuntary": np.log10(1.0 + change["involuntary"] / sample.steps),
            "instructions_per_cycle": change["instructions"] / change["cycles"],
            "cache_misses": change["cache misses"] / change["cache references"],
        }


def memory(sample: _Sample, before: ProcessReading, after: ProcessReading) -> dict[str, np.ndarray]:
    """Metrics of the process."""
    return {
        "resident_bytes": np.log10(1.0 + after.resident),
        "page_faults": np.log10(1.0 + max(0.0, after.faults - before.faults) / sample.steps),
    }
