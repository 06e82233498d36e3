"""Every event of a step, in key order: the step executed a second time by the oracle, which is exact."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from typing import IO, Any

import numpy as np

from seer_env.env import SeerParallelEnv
from seer_env.errors import SeerError
from seer_env.runtime.layout import unpack_seq
from seer_env.runtime.schedulers.python import PythonEngine

#: Columns of an event: its key, whom it was for, and what it was.
EVENT = np.dtype(
    [
        ("time", "f8"),
        ("micro", "i8"),  # micro-step
        ("emitter", "i8"),  # entity that emitted it, and as its how-many-th emission; actions: 0 and 0
        ("counter", "i8"),
        ("target", "i8"),
        ("kind", "i8"),
    ]
)


class EventLog(PythonEngine):
    """The oracle, writing down what it executes."""

    def __init__(self, model, event_capacity):
        super().__init__(model, event_capacity)
        self._executed: list[tuple] = []

    def table(self) -> np.ndarray:
        """`EVENT` of each executed event."""
        return np.array(self._executed, EVENT)

    def _execute(self, when: float, seq: int, kind: int, target: int, payload: tuple) -> None:
        self._executed.append((when, *unpack_seq(seq), target, kind))
        super()._execute(when, seq, kind, target, payload)


def prepared(
    env: SeerParallelEnv, actions: np.ndarray | Mapping[str, Any]
) -> tuple[EventLog, np.ndarray, np.ndarray]:
    """A log that stands at an env's boundary, and what its step needs: actions and who is live."""
    log = EventLog(env.model, env._event_capacity)
    log.restore(env._engine.capture(), env._engine.outputs)
    if isinstance(actions, Mapping):
        block = env._reader.from_dict(actions, env._roster)
    else:
        block = env._reader.from_array(actions, env._roster)
    return log, block, env.live


def executed(env: SeerParallelEnv, log: EventLog, actions: np.ndarray, live: np.ndarray) -> np.ndarray:
    """`EVENT` of each event of the step that `env` has made in the meantime.

    Raises:
        SeerError: the log does not come to the same boundary.
    """
    log.step(actions, live)
    if log.digest() != env.digest():
        raise SeerError(
            f"no exact table of events: Python does not execute this step of {env} to the same bytes as "
            f"{env.scheduler!r}. README.md, Good to know, lists functions that differ in the last bit."
        )
    return log.table()


def write_events(file: IO[str], events: np.ndarray, kinds: type) -> None:
    """Write events as CSV, kinds by name and times so that reading them back gives the same number."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(events.dtype.names or ())
    for time, micro, emitter, counter, target, kind in events.tolist():
        writer.writerow((repr(time), micro, emitter, counter, target, kinds(kind).name))
