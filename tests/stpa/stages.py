"""An engine whose steps take what a curve says, on a clock of its own; for tests of who chooses threads."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
from worlds import Lamps

from seer_env.actions import ActionReader
from seer_env.runtime.engine import Outputs
from seer_env.runtime.stats import StepStats
from seer_env.stpa import tuner
from seer_env.stpa.machine import Machine
from seer_env.stpa.tuner import ThreadTuner

AGENTS = 200
MACHINE = Machine("test", affinity=4, quota=None, cores=4, numba_threads=8, torch_threads=0, cpus=4)


class StageEngine:
    """As much of an engine as a tuner asks for.

    Attributes:
        curve: seconds of a step by threads.
        now: seconds on its clock: steps, and `overhead` beside each rehearsed one.
        rehearsed: threads of the rehearsed steps.
        forgotten: rehearsals that were ended.
    """

    scheduler = "seer"

    def __init__(self, curve: dict[int, float], overhead: float = 0.0, stamp: str | None = "stamp"):
        self.curve, self.overhead, self.now = dict(curve), overhead, 0.0
        self.threads, self.elapsed_s = max(curve), 0.0
        self.stats = StepStats()
        self.compiled = SimpleNamespace(stamp=stamp)
        self.rehearsed: list[int] = []
        self.forgotten = 0
        self.failing: Callable[[], None] = lambda: None

    def use_threads(self, count: int) -> None:
        assert count in self.curve
        self.threads = count

    def rehearse(self, ahead: int, actions: np.ndarray, live: np.ndarray) -> Outputs:
        self.failing()
        self.rehearsed.append(self.threads)
        self.now += self.overhead
        self.step()
        nobody = np.zeros(AGENTS, bool)
        return Outputs(np.zeros((AGENTS, 3), np.float32), np.zeros(AGENTS), nobody, None)

    def step(self) -> None:
        self.elapsed_s = self.curve[self.threads]
        self.now += self.elapsed_s
        self.stats = StepStats(events=AGENTS, window_s=self.elapsed_s)

    def share_again(self) -> None:
        pass

    def forget_rehearsal(self) -> None:
        self.forgotten += 1


def stage(monkeypatch, engine: StageEngine, machine: Machine = MACHINE, budget_s: float = 0.2) -> ThreadTuner:
    """A tuner of `engine` on `machine`, to which nothing is predicted."""
    monkeypatch.setattr(tuner, "describe", lambda: machine)
    monkeypatch.setattr(tuner, "predicted", lambda *arguments: arguments[5])
    made = ThreadTuner(Lamps(AGENTS), 1, budget_s, clock=lambda: engine.now)
    made.attach(engine)  # type: ignore[arg-type]  # it acts like one
    return made


def reset(made: ThreadTuner) -> None:
    """Tell of a reset, at whose boundary everyone is live."""
    made.after_reset(ActionReader(Lamps(AGENTS)), np.ones(AGENTS, bool), None)


def step(made: ThreadTuner, engine: StageEngine, count: int) -> list[int]:
    """Run steps; the threads they ran on."""
    used = []
    for _ in range(count):
        made.before_step()
        used.append(engine.threads)
        engine.step()
    return used
