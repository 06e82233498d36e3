"""`check=True`: every step under a second scheduler too, and the first difference explained."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from seer_env.errors import NondeterminismError
from seer_env.runtime.boundary import Boundary
from seer_env.runtime.engine import Engine, Outputs, make_engine

if TYPE_CHECKING:
    from seer_env.model import EventModel

__all__ = ["CrossCheck", "other_scheduler"]


def other_scheduler(scheduler: str) -> str:
    """The scheduler that checks `scheduler`: the nearest simpler one, and `serial` for the oracle."""
    return "python" if scheduler == "serial" else "serial"


class CrossCheck:
    """Steps an engine and, from the same boundary, a second one, and compares what they leave.

    Args:
        model: the world of both engines.
        engine: the engine to check.
    """

    def __init__(self, model: EventModel, engine: Engine):
        self._engine = engine
        self._other = make_engine(
            model, other_scheduler(engine.scheduler), 1, event_capacity=engine.event_capacity
        )

    def reset(self, seed: int) -> Outputs:
        """Reset both engines from `seed`.

        Raises:
            NondeterminismError: they differ.
        """
        outputs = self._engine.reset(seed)
        self._compare(outputs, self._other.reset(seed))
        return outputs

    def step(self, actions: np.ndarray, live: np.ndarray) -> Outputs:
        """Step both engines; the arguments are `Engine.step`'s.

        Raises:
            NondeterminismError: they differ; the checked engine is at the boundary before the step.
            ContractBreach: a handler broke the contract under the checked engine.
        """
        before, shown = self._engine.capture(), self._engine.outputs
        self._other.restore(before, shown)
        outputs = self._engine.step(actions, live)
        try:
            self._compare(outputs, self._second(actions, live))
        except BaseException:  # KeyboardInterrupt too: a step is atomic
            self._engine.restore(before, shown)
            raise
        return outputs

    def close(self) -> None:
        """Release the second engine."""
        self._other.close()

    def _second(self, actions: np.ndarray, live: np.ndarray) -> Outputs:
        try:
            return self._other.step(actions, live)
        except Exception as error:
            raise NondeterminismError(f"{self._where()}: only the second raised {error!r}") from error

    def _compare(self, outputs: Outputs, others: Outputs) -> None:
        difference = _boundary_difference(self._engine.capture(), self._other.capture())
        difference = difference or _output_difference(outputs, others)
        if difference:
            raise NondeterminismError(f"{self._where()}: {difference}")

    def _where(self) -> str:
        names = f"{self._engine.scheduler!r} and {self._other.scheduler!r}"
        return f"{self._engine.model.name}: schedulers {names} disagree at boundary {self._engine.steps}"


def _boundary_difference(mine: Boundary, other: Boundary) -> str | None:
    """The first entity and field that differ, and the first pending event, if one does."""
    difference = mine.first_difference(other)
    if difference is None or mine.steps != other.steps:
        return difference
    event = mine.first_difference(replace(mine, pending=other.pending))
    return difference if event in (None, difference) else f"{difference}; {event}"


def _output_difference(mine: Outputs, other: Outputs) -> str | None:
    for name, a, b in zip(Outputs._fields, mine, other):
        if a is None or b is None:
            continue
        differ = np.flatnonzero((_bytes(a) != _bytes(b)).any(axis=1))
        if differ.size:
            i = int(differ[0])
            return f"agent {i}, {name}: {a[i]!r} against {b[i]!r}"
    return None


def _bytes(rows: np.ndarray) -> np.ndarray:
    """A row of bytes per row: unlike `==`, equal for NaNs of one pattern, and not for 0.0 and -0.0."""
    return np.frombuffer(rows.tobytes(), np.uint8).reshape(len(rows), -1)
