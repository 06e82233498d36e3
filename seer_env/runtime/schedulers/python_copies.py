"""Copies under the `python` scheduler: oracles, one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from seer_env.runtime.boundary import Boundary
from seer_env.runtime.engine import Outputs
from seer_env.runtime.schedulers.copies import CopiesEngine, naming
from seer_env.runtime.schedulers.python import PythonEngine
from seer_env.runtime.stats import StepStats


class Shown(NamedTuple):
    """What a step or reset changes: `CopiesEngine.steps`, `outputs` and `stats`."""

    steps: np.ndarray
    outputs: Outputs
    stats: StepStats


class PythonCopies(CopiesEngine):
    """`B` engines of their own, set back together if one of them raises."""

    scheduler = "python"

    def __init__(self, model, copies: int, event_capacity: int | None = None):
        super().__init__(model, copies)
        self._worlds = [PythonEngine(model, event_capacity) for _ in range(copies)]
        self._shown = self._show(StepStats())
        #: The boundaries to go back to while a step or reset is under way, or after an interrupted one.
        self._undo: list[tuple[Boundary, Outputs]] | None = None

    def _step(self, actions: np.ndarray, live: np.ndarray, start: float) -> Outputs:
        moving = np.flatnonzero(live.any(axis=1)).tolist()

        def step(copy: int) -> None:
            self._worlds[copy].step(actions[copy], live[copy])

        def count() -> StepStats:
            counts = [self._worlds[copy].stats for copy in moving]
            events, rounds = sum(s.events for s in counts), sum(s.rounds for s in counts)
            return StepStats(events=events, rounds=rounds, window_s=time.perf_counter() - start)

        return self._together(step, moving, count)

    def _reset(self, seeds: Mapping[int, int]) -> Outputs:
        return self._together(lambda copy: self._worlds[copy].reset(seeds[copy]), seeds, lambda: self.stats)

    def _restore(self, copy: int, boundary: Boundary, outputs: Outputs) -> Outputs:
        return self._together(
            lambda copy: self._worlds[copy].restore(boundary, outputs), [copy], lambda: self.stats
        )

    def _together(
        self, change: Callable[[int], object], copies: Iterable[int], count: Callable[[], StepStats]
    ) -> Outputs:
        """Change some copies, or none if one of the changes raises."""
        self._recover()
        self._undo = [(world.capture(), world.outputs) for world in self._worlds]
        try:
            for copy in copies:
                with naming(copy):
                    change(copy)
            shown = self._show(count())
            self._shown, self._undo = shown, None
        except BaseException:  # KeyboardInterrupt too: a step is atomic
            self._recover()
            raise
        return shown.outputs

    def _show(self, stats: StepStats) -> Shown:
        steps = np.array([world.steps for world in self._worlds])
        columns = zip(*(world.outputs for world in self._worlds))
        return Shown(steps, Outputs(*map(_stacked, columns)), stats)

    def _recover(self) -> None:
        """Undo what did not end. Interrupted, it starts again at the next use."""
        if self._undo is not None:
            for world, before in zip(self._worlds, self._undo):
                world.restore(*before)
            self._undo = None

    def _world(self, copy: int) -> PythonEngine:
        self._recover()
        return self._worlds[copy]

    @property
    def stats(self) -> StepStats:
        return self._shown.stats

    @property
    def steps(self) -> np.ndarray:
        return self._shown.steps

    @property
    def outputs(self) -> Outputs:
        return self._shown.outputs

    @property
    def state(self) -> np.ndarray:
        self._recover()
        rows = np.stack([world.state for world in self._worlds])
        rows.flags.writeable = False
        return rows

    def close(self) -> None:
        for world in self._worlds:
            world.close()


def _stacked(arrays: tuple):
    """The copies' arrays as one, or None where a model has no infos."""
    return None if arrays[0] is None else np.stack(arrays)
