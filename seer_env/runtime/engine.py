"""What every scheduler offers to the env: reset, step, capture, restore."""

from __future__ import annotations

import hashlib
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from seer_env.checks import whole
from seer_env.errors import ModelError
from seer_env.runtime.boundary import Boundary
from seer_env.runtime.buffers import Buffers
from seer_env.runtime.caller import OneCaller, exclusive
from seer_env.runtime.layout import EMITTER_SHIFT, FIRST_PAYLOAD, pending_dtype
from seer_env.runtime.rng import streams
from seer_env.runtime.room import require_memory
from seer_env.runtime.stats import StepStats

if TYPE_CHECKING:
    from seer_env.model import EventModel

#: Each thread has buffers of its own.
MOST_THREADS = 1024
#: Those that run on one thread. `heap` is the yardstick.
ONE_THREAD = ("python", "serial", "heap")
#: The last four are the systems that the paper compares with; each takes threads as `seer` does. `root-sim:K`
#: saves an entity's row before every K-th of its executions; without a number it chooses K as it goes.
SCHEDULERS = (*ONE_THREAD, "seer", "ross-t", "ross-t:round-robin", "nbse", "root-sim")


class Outputs(NamedTuple):
    """What a boundary shows of `M` agents, in fresh arrays; rows of agents not live are zeros.

    Attributes:
        observations: float32 `[M, D]`.
        rewards: float64 `[M]`.
        terminated: bool `[M]`.
        info: structured `[M]` of `model.info`, or None.
    """

    observations: np.ndarray
    rewards: np.ndarray
    terminated: np.ndarray
    info: np.ndarray | None


class Committed(NamedTuple):
    """What a step changes beside the arrays, in one assignment."""

    steps: int
    outputs: Outputs


class Engine(OneCaller, ABC):
    """One world and its clock. A step is atomic: if it raises, nothing has changed.

    Args:
        model: a validated model.
        event_capacity: the most events that one step may emit; a guard against emission without end.
    """

    scheduler: str
    threads: int = 1
    #: Wall seconds of the last step of a compiled engine, a rehearsed one included.
    elapsed_s: float = 0.0

    def __init__(self, model: EventModel, event_capacity: int | None = None):
        super().__init__(model)
        self._n_agents, self._info = model.n_agents, model.info
        self._observation_size = model.observation_size
        if event_capacity is None:
            event_capacity = max(1 << 22, 256 * model.n_entities)
        self.event_capacity = whole("event_capacity", event_capacity, most=(1 << 62) - 1, error=ValueError)
        self._buffers = Buffers()
        self._row_bytes = row_bytes(model)
        self._committed = Committed(0, self.new_outputs())

    # -- what a scheduler provides -------------------------------------------------------------

    @abstractmethod
    def _step(self, actions: np.ndarray, live: np.ndarray, start: float) -> Outputs:
        """`step`, begun at `start` (seconds of `time.perf_counter`)."""

    @abstractmethod
    def capture(self) -> Boundary:
        """An independent copy of the current boundary."""

    @abstractmethod
    def _load(self, boundary: Boundary) -> None:
        """Make `boundary` (which the engine may keep) the current one."""

    @abstractmethod
    def _observe(self, live: np.ndarray, outputs: Outputs) -> None:
        """Fill `outputs` for the live agents from the current boundary."""

    @property
    @abstractmethod
    def stats(self) -> StepStats:
        """Counts and times of the last step."""

    @property
    @abstractmethod
    def state(self) -> np.ndarray:
        """Entity rows at the current boundary, `[N]`, read-only."""

    # -- shared ----------------------------------------------------------------------------------

    def step(self, actions: np.ndarray, live: np.ndarray) -> Outputs:
        """Run one step window.

        Args:
            actions: float64 `[M, A]`, rows of agents not live are ignored.
            live: bool `[M]`. Both are the engine's from here on, which may replay this step later.

        Raises:
            ContractBreach: a handler broke the contract; nothing has changed.
        """
        start, user = time.perf_counter(), self._claim()
        try:
            return self._step(actions, live, start)
        finally:  # no signal is served behind the commit: what raises has changed nothing
            self._user = user

    @property
    def steps(self) -> int:
        """Step windows since reset."""
        return self._committed.steps

    @property
    def outputs(self) -> Outputs:
        """What the current boundary shows, as the step or reset before it returned it."""
        return self._committed.outputs

    @property
    def clock(self) -> float:
        """Simulated time at the current boundary."""
        return self.steps * self.model.dt

    @exclusive
    def reset(self, seed: int) -> Outputs:
        """Start an episode: initial state and events from `seed`, then the first observations.

        Raises:
            ModelError: `model.reset` scheduled an impossible event. As after any other exception, the
                engine goes on from where it was.
        """
        boundary, outputs = initial_boundary(self.model, seed), self.new_outputs()
        self._replace(boundary, outputs, np.ones(self.model.n_agents, bool))
        return outputs

    @exclusive
    def restore(self, boundary: Boundary, outputs: Outputs) -> None:
        """Go on from `boundary`, a copy of which is taken, and the outputs that it showed."""
        self._replace(boundary.copy(), outputs, None)

    def _replace(self, boundary: Boundary, outputs: Outputs, observed: np.ndarray | None) -> None:
        """Make `boundary` the current one, or leave everything as it was; observe it for some agents."""
        before, committed = self.capture(), self._committed
        try:
            self._load(boundary)
            if observed is not None:
                self._show_first(observed, outputs)
            self._committed = Committed(boundary.steps, outputs)
        except BaseException:
            self._load(before)
            self._committed = committed
            raise

    def _show_first(self, live: np.ndarray, outputs: Outputs) -> None:
        """Fill `outputs` with what an episode's first boundary shows: nobody is rewarded for it."""
        self._observe(live, outputs)
        outputs.rewards[:] = 0.0
        outputs.terminated[:] = False

    def new_outputs(self, zeroed: bool = True, buffers: Buffers | None = None) -> Outputs:
        """Outputs in memory that nobody holds, of other buffers than the engine's if any are given.

        Not zeroed, they are whatever was there.
        """
        make = (buffers or self._buffers).maker(self._row_bytes * self._n_agents, zeroed)
        agents, info = self._n_agents, self._info
        return Outputs(
            make((agents, self._observation_size), np.float32),
            make(agents, np.float64),
            make(agents, np.bool_),
            None if info is None else make(agents, info),
        )

    def digest(self) -> str:
        """Hex digest of clock, state, pending events in key order and last outputs."""
        digest = hashlib.blake2b(digest_size=16)
        self.capture().update(digest)
        for array in self.outputs:
            if array is not None:
                digest.update(array.tobytes())
        return digest.hexdigest()

    @abstractmethod
    def close(self) -> None:
        """Release what the engine holds; it cannot step afterwards."""


def row_bytes(model: EventModel) -> int:
    """Bytes of an agent's row in the largest array of outputs."""
    return max(4 * model.observation_size, 8, 0 if model.info is None else model.info.itemsize)


def empty_boundary(model: EventModel) -> Boundary:
    """A boundary without events and with rows of zeros: what an engine holds before its first reset."""
    n, counters = model.n_entities, np.zeros(model.n_entities, np.uint64)
    pending = np.zeros(0, pending_dtype(model.payload_words))
    return Boundary(0, np.zeros(n, model.entity), np.zeros(n, np.int64), counters, counters.copy(), pending)


def initial_boundary(model: EventModel, seed: int) -> Boundary:
    """Boundary 0 of an episode: `model.reset`, scheduled events in key order, fresh streams."""
    start, gamma = streams(seed, model.n_entities)
    state = np.zeros(model.n_entities, model.entity)
    scheduled = InitialEvents(model)
    model.reset(state, scheduled, np.random.default_rng(seed))
    pending, emitted = scheduled.sorted()
    return Boundary(0, state, emitted, start, gamma, pending)


class InitialEvents:
    """The `schedule` that `model.reset` is given: collects events, each emitted by its own target."""

    def __init__(self, model: EventModel):
        self._model = model
        self._dtype = pending_dtype(model.payload_words)
        self._blocks: list[np.ndarray] = []

    def __call__(self, target, time, kind, *payload) -> None:
        columns = np.broadcast_arrays(target, time, kind, *payload)
        block = np.zeros(columns[0].size, self._dtype)
        for name, column in zip(("target", "time", "kind"), columns):
            block[name] = column.ravel()
        if len(payload) > max(self._model.payload, FIRST_PAYLOAD):
            raise ModelError(
                f"schedule: {len(payload)} payload words, but model.payload is {self._model.payload}"
            )
        for word, column in enumerate(columns[3:]):
            block["payload"][:, word] = column.ravel()
        for name, good in (
            ("time", np.isfinite(block["time"]) & (block["time"] >= 0)),
            ("target", (columns[0].ravel() >= 0) & (columns[0].ravel() < self._model.n_entities)),
            ("kind", (columns[2].ravel() >= 0) & (columns[2].ravel() < len(self._model.Kind))),
        ):
            if not good.all():
                first = int(np.argmin(good))
                raise ModelError(f"schedule: event {first} has {name} {block[name][first]}: out of range")
        self._blocks.append(block)

    def sorted(self) -> tuple[np.ndarray, np.ndarray]:
        """All events in key order, and the emission counters (int64 `[N]`) they leave behind."""
        events = np.concatenate([np.zeros(0, self._dtype), *self._blocks])
        emitted = np.bincount(events["target"], minlength=self._model.n_entities).astype(np.int64)
        by_target = np.argsort(events["target"], kind="stable")
        first = np.cumsum(emitted) - emitted
        counter = np.empty(len(events), np.int64)
        counter[by_target] = np.arange(len(events)) - first[events["target"][by_target]]
        events["seq"] = (events["target"].astype(np.int64) << EMITTER_SHIFT) | counter
        return events[np.lexsort((events["seq"], events["time"]))], emitted


def make_engine(
    model: EventModel, scheduler: str, threads: int = 1, event_capacity: int | None = None
) -> Engine:
    """The engine of a scheduler; those of `ONE_THREAD` do not use `threads`.

    Raises:
        ModelError: the declaration cannot work.
        ValueError: no such scheduler, or a thread count below 1.
    """
    model.validate()
    require_memory(model)
    if not 1 <= threads <= MOST_THREADS:
        raise ValueError(f"threads must be from 1 to {MOST_THREADS}, got {threads}")
    if scheduler == "python":
        from seer_env.runtime.schedulers.python import PythonEngine

        return PythonEngine(model, event_capacity)
    if scheduler in ("serial", "seer"):
        from seer_env.runtime.schedulers.compiled import CompiledEngine

        return CompiledEngine(model, scheduler, threads, event_capacity)
    if scheduler == "heap":
        from seer_env.runtime.schedulers.heap import HeapEngine

        return HeapEngine(model, scheduler, 1, event_capacity)
    if scheduler in ("ross-t", "ross-t:round-robin"):
        from seer_env.runtime.schedulers.static_binding import StaticBindingEngine

        return StaticBindingEngine(model, scheduler, threads, event_capacity)
    if scheduler == "nbse":
        from seer_env.runtime.schedulers.global_queue import GlobalQueueEngine

        return GlobalQueueEngine(model, scheduler, threads, event_capacity)
    if scheduler.partition(":")[0] == "root-sim":
        from seer_env.runtime.schedulers.time_warp import TimeWarpEngine

        return TimeWarpEngine(model, scheduler, threads, event_capacity)
    raise ValueError(f"scheduler must be one of {SCHEDULERS}, got {scheduler!r}")
