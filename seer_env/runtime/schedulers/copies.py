"""Copies of a world in one engine: `B` worlds of `N` entities each that one call steps."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from seer_env.errors import SeerError
from seer_env.runtime.boundary import Boundary
from seer_env.runtime.buffers import Buffers
from seer_env.runtime.caller import OneCaller, exclusive
from seer_env.runtime.engine import MOST_THREADS, Engine, Outputs, row_bytes
from seer_env.runtime.room import require_memory
from seer_env.runtime.stats import StepStats

if TYPE_CHECKING:
    from seer_env.model import EventModel

#: Those that can step many worlds at once.
COPIES_SCHEDULERS = ("python", "serial", "seer")


class CopiesEngine(OneCaller, ABC):
    """`B` worlds of one model, each with its own clock. A step or reset is atomic over all of them.

    Arrays are those of `engine.Engine` with a leading axis of copies.

    Args:
        model: a validated model.
        copies: `B`, from 1 up.
        event_capacity: the most events that one step of one copy may emit.
    """

    scheduler: str
    threads: int = 1
    #: Wall seconds of the last step of a compiled engine, a rehearsed one included.
    elapsed_s: float = 0.0

    def __init__(self, model: EventModel, copies: int):
        super().__init__(model)
        self.copies = copies
        self._buffers = Buffers()
        self._row_bytes = row_bytes(model)

    def step(self, actions: np.ndarray, live: np.ndarray) -> Outputs:
        """Run one step window of every copy that has a live agent; the others stay where they are.

        Args:
            actions: float64 `[B, M, A]`, rows of agents not live are ignored.
            live: bool `[B, M]`. Both are the engine's from here on, which may replay this step later.

        Raises:
            ContractBreach: a handler broke the contract; no copy has changed.
        """
        start, user = time.perf_counter(), self._claim()
        try:
            return self._step(actions, live, start)
        finally:  # no signal is served behind the commit: what raises has changed nothing
            self._user = user

    def reset(self, seeds: Mapping[int, int]) -> Outputs:
        """Start an episode in each of some copies, from its seed; the others stay where they are.

        Raises:
            ModelError: `model.reset` scheduled an impossible event; no copy has changed.
        """
        user = self._claim()
        try:
            return self._reset(seeds)
        finally:  # as in `step`
            self._user = user

    def restore(self, copy: int, boundary: Boundary, outputs: Outputs) -> Outputs:
        """Let one world go on from `boundary` and the outputs that it showed, both of which are copied."""
        user = self._claim()
        try:
            return self._restore(copy, boundary, outputs)
        finally:  # as in `step`
            self._user = user

    @exclusive
    def capture(self, copy: int) -> Boundary:
        """An independent copy of the current boundary of one world."""
        return self._world(copy).capture()

    @exclusive
    def digest(self, copy: int) -> str:
        """Hex digest of one world: `Engine.digest` of an engine that stepped it alone."""
        return self._world(copy).digest()

    def new_outputs(self, zeroed: bool = True) -> Outputs:
        """`Engine.new_outputs` with a leading axis of copies."""
        make = self._buffers.maker(self._row_bytes * self.copies * self.model.n_agents, zeroed)
        shape, model = (self.copies, self.model.n_agents), self.model
        return Outputs(
            make((*shape, model.observation_size), np.float32),
            make(shape, np.float64),
            make(shape, np.bool_),
            None if model.info is None else make(shape, model.info),
        )

    @abstractmethod
    def _step(self, actions: np.ndarray, live: np.ndarray, start: float) -> Outputs:
        """`step`, begun at `start` (seconds of `time.perf_counter`)."""

    @abstractmethod
    def _reset(self, seeds: Mapping[int, int]) -> Outputs:
        """`reset`."""

    @abstractmethod
    def _restore(self, copy: int, boundary: Boundary, outputs: Outputs) -> Outputs:
        """`restore`."""

    @abstractmethod
    def _world(self, copy: int) -> Engine:
        """One copy as an engine that stands at its current boundary; to be looked at, not stepped."""

    @property
    @abstractmethod
    def stats(self) -> StepStats:
        """Counts of the last step of all copies together, and its wall time, outputs included."""

    @property
    @abstractmethod
    def steps(self) -> np.ndarray:
        """Step windows of each copy since its reset, int64 `[B]`; not to be changed."""

    @property
    @abstractmethod
    def outputs(self) -> Outputs:
        """What the current boundary of every copy shows."""

    @property
    @abstractmethod
    def state(self) -> np.ndarray:
        """Entity rows at the current boundaries, `[B, N]`, read-only."""

    @abstractmethod
    def close(self) -> None:
        """Release what the engine holds; it cannot step afterwards."""


def row_of(outputs: Outputs, copy: int) -> Outputs:
    """One copy's part of the outputs of all, not copied."""
    return Outputs(*(None if array is None else array[copy] for array in outputs))  # type: ignore[arg-type]  # info may be None


@contextmanager
def naming(copy: int) -> Iterator[None]:
    """Let errors say which copy they are about."""
    try:
        yield
    except SeerError as error:
        error.args = (f"copy {copy}: {error.args[0]}", *error.args[1:])
        raise
    except Exception as error:  # a handler's own: its arguments are its author's
        if hasattr(error, "add_note"):
            error.add_note(f"raised in copy {copy}")
        raise


def make_copies_engine(
    model: EventModel, copies: int, scheduler: str, threads: int = 1, event_capacity: int | None = None
) -> CopiesEngine:
    """The engine of `copies` worlds under `python`, `serial`, or `seer` with `threads`.

    Raises:
        ModelError: the declaration cannot work.
        ValueError: another scheduler, or a thread count out of range.
    """
    model.validate()
    if scheduler not in COPIES_SCHEDULERS:
        raise ValueError(f"scheduler must be one of {COPIES_SCHEDULERS} for copies, got {scheduler!r}")
    require_memory(model, copies)
    if not 1 <= threads <= MOST_THREADS:
        raise ValueError(f"threads must be from 1 to {MOST_THREADS}, got {threads}")
    if scheduler == "python":
        from seer_env.runtime.schedulers.python_copies import PythonCopies

        return PythonCopies(model, copies, event_capacity)
    from seer_env.runtime.schedulers.compiled_copies import CompiledCopies

    return CompiledCopies(model, copies, scheduler, threads, event_capacity)
