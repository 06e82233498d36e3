"""The `python` scheduler: a heap on the key. The oracle, and the place for breakpoints."""

from __future__ import annotations

import heapq
import math
import time

import numpy as np

from seer_env.errors import ContractBreach, ModelError
from seer_env.runtime.array_step import run_array_step
from seer_env.runtime.boundary import Boundary
from seer_env.runtime.breach import breach
from seer_env.runtime.caller import exclusive
from seer_env.runtime.engine import Committed, Engine, Outputs, empty_boundary
from seer_env.runtime.layout import MAX_EMISSIONS, MAX_MICRO, pack_seq, pending_dtype, unpack_seq
from seer_env.runtime.schedulers.python_sim import BoundaryView, Event, HandlerSim, OutputSim
from seer_env.runtime.stats import StepStats, WorkerStats
from seer_env.runtime.user_code import place


class PythonEngine(Engine):
    """Executes every event in key order, one at a time, in plain Python."""

    scheduler = "python"

    def __init__(self, model, event_capacity=None):
        super().__init__(model, event_capacity)
        self._dtype = pending_dtype(model.payload_words)
        #: The boundary to go back to while a step is under way, or after one that was interrupted.
        self._undo: tuple[Boundary, Outputs] | None = None
        self._stats = StepStats()
        self._load(empty_boundary(model))

    def _step(self, actions: np.ndarray, live: np.ndarray, start: float) -> Outputs:
        before = self.capture()  # which recovers, if the last step was interrupted
        before_outputs = self.outputs
        outputs = self.new_outputs()
        self._undo = before, before_outputs
        try:
            run_array_step(self.model, self._state, actions, self._gamma, self.steps)
            with np.errstate(all="ignore"):  # compiled arithmetic wraps and overflows silently
                executed = self._window(actions, live)
                drained = time.perf_counter()
                self._publish()
                self._committed = Committed(before.steps + 1, before_outputs)
                self._observe(live, outputs)
            self._stats = _stats(executed, drained - start, time.perf_counter() - drained)
            self._committed, self._undo = Committed(before.steps + 1, outputs), None
        except BaseException:  # KeyboardInterrupt too: a step is atomic
            self._recover()
            raise
        return outputs

    def _window(self, actions: np.ndarray, live: np.ndarray) -> int:
        now, end = self.clock, (self.steps + 1) * self.model.dt
        executed = self._emissions = 0
        words = self._dtype["payload"].shape[0]
        if self.model.action_kind is not None:
            for agent in np.flatnonzero(live):
                payload = tuple(actions[agent]) + (0.0,) * (words - actions.shape[1])
                self._execute(now, pack_seq(0, 0, 0), int(self.model.action_kind), int(agent), payload)
                executed += 1
        while self._heap and self._heap[0][0] < end:
            self._execute(*heapq.heappop(self._heap))
            executed += 1
        return executed

    def _execute(self, when: float, seq: int, kind: int, target: int, payload: tuple) -> None:
        self._now, self._micro, self._kind, self._me = np.float64(when), unpack_seq(seq)[0], kind, target
        self._broken: ContractBreach | None = None
        self.model.handlers[kind](
            self._rows[target], Event(self._now, kind, target, payload), self._sims[target]
        )
        if self._broken is not None:  # a handler that catches it breaks the rule all the same
            raise self._broken

    def emit(self, target: int, delay: float, kind: int, payload: tuple) -> None:
        """Check an emission of the executing handler against the contract, and queue it."""
        words = self._dtype["payload"].shape[0]
        if len(payload) > words:
            raise ModelError(f"sim.emit: {len(payload)} payload words, but the model's payload holds {words}")
        me, delay, when = self._me, float(delay), self._now + float(delay)
        if rule := self._broken_rule(target, delay, kind, when):
            self._broken = breach(
                self.model,
                rule,
                me,
                float(self._now),
                self._kind,
                target=target,
                delay=delay,
                emitted_kind=kind,
                limit=self.event_capacity,
            )
            raise self._broken
        micro = self._micro + 1 if when == self._now else 0
        seq = pack_seq(micro, me, int(self._emitted[me]))
        self._emitted[me] += 1
        self._emissions += 1
        padded = tuple(np.float64(p) for p in payload) + (np.float64(0.0),) * (words - len(payload))
        heapq.heappush(self._heap, (when, seq, kind, target, padded))

    def _broken_rule(self, target: int, delay: float, kind: int, when: float) -> str | None:
        """The first rule, in the order of all schedulers, that an emission breaks."""
        limit = 0.0 if target == self._me else self.model.lookahead
        if not (delay >= 0.0 and when < math.inf):
            return "timestamp"
        if not 0 <= target < self.model.n_entities:
            return "target"
        if not 0 <= kind < len(self.model.Kind):
            return "kind"
        if delay < limit:
            return "lookahead"
        if when == self._now and self._micro >= MAX_MICRO:
            return "cascade"
        if self._emitted[self._me] >= MAX_EMISSIONS - 1:
            return "emissions"
        if self._emissions >= self.event_capacity:
            return "capacity"
        return None

    def _recover(self) -> None:
        """Undo a step that did not end. Interrupted, it starts again at the engine's next use."""
        if self._undo is not None:
            before, outputs = self._undo
            self._set(before.copy())
            self._committed, self._undo = Committed(before.steps, outputs), None

    @exclusive
    def capture(self) -> Boundary:
        self._recover()
        pending = np.zeros(len(self._heap), self._dtype)
        for row, event in zip(pending, sorted(self._heap)):
            row["time"], row["seq"], row["kind"], row["target"], row["payload"] = event
        return Boundary(
            self.steps,
            self._state.copy(),
            self._emitted.copy(),
            self._stream.copy(),
            self._gamma.copy(),
            pending,
        )

    def _load(self, boundary: Boundary) -> None:
        self._undo = None
        self._committed = Committed(boundary.steps, self.outputs)
        self._set(boundary)

    def _set(self, boundary: Boundary) -> None:
        self._state = boundary.state
        self._emitted, self._stream, self._gamma = boundary.emitted, boundary.stream, boundary.gamma
        self._heap = [
            (float(e["time"]), int(e["seq"]), int(e["kind"]), int(e["target"]), tuple(e["payload"]))
            for e in boundary.pending
        ]
        self._rows = self._state.view(np.recarray)
        self._sims = [HandlerSim(self, i) for i in range(self.model.n_entities)]
        self._publish()

    def _publish(self) -> None:
        """Show the current boundary to `view` and the grid queries."""
        self._view = BoundaryView(self.model, self._state)

    def _observe(self, live: np.ndarray, outputs: Outputs) -> None:
        model = self.model
        info_rows = None if outputs.info is None else outputs.info.view(np.recarray)
        with np.errstate(all="ignore"):
            for agent in np.flatnonzero(live):
                me, sim = self._rows[agent], OutputSim(self, int(agent))
                info = None if info_rows is None else info_rows[agent]
                _write_observation(model, me, outputs.observations[agent], info, sim)
                outputs.rewards[agent] = _number(model.reward(me, info, sim), model.reward)
                outputs.terminated[agent] = model.terminated(me, info, sim)

    def close(self) -> None:
        self._heap.clear()
        self._sims.clear()
        self._buffers.forget()

    @property
    def stats(self) -> StepStats:
        return self._stats

    @property
    def state(self) -> np.ndarray:
        self._recover()
        view = self._state.view()
        view.flags.writeable = False
        return view


def _write_observation(model, me, obs, info, sim) -> None:
    """`model.observe`; an index beyond `obs` is told what made `obs` so short."""
    try:
        model.observe(me, obs, info, sim)
    except IndexError as error:  # numpy names no array: another one of this size may be meant
        if not str(error).endswith(f"out of bounds for axis 0 with size {len(obs)}"):
            raise
        raise ModelError(
            f"{place(model.observe)}: {error}. obs has indices 0..{len(obs) - 1}: observation_space is "
            f"{model.observation_space}; make it as large as what is written"
        ) from error


def _number(reward, function) -> float:
    """A reward as a float; None, which numpy would take for nan, is none."""
    try:
        return float(reward)
    except (TypeError, ValueError):
        raise ModelError(f"{place(function)}: a reward must be a number, and this is {reward!r}") from None


def _stats(events: int, window_s: float, outputs_s: float) -> StepStats:
    """Statistics of a step: one worker, which never waits, and a round per event."""
    step_s = window_s + outputs_s
    worker = WorkerStats(events=events, busy_s=step_s, outputs_s=outputs_s, alone_s=step_s)
    return StepStats(
        events=events,
        rounds=events,
        window_s=window_s,
        outputs_s=outputs_s,
        running_s=step_s,
        workers=(worker,),
    )
