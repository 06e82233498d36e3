"""Events recorded in key order, and their handlers called again from the record, without any queue.

What is left when nothing need be found out: which event is next is known, and what handlers emit is dropped.
It is no scheduler, as it cannot run a step that nobody has recorded; `bench.floor` measures with it.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numba import int64, types

from seer_env.runtime.atomics import array_at, call3, copy_bytes, prefetch, record_at
from seer_env.runtime.compile import c_function, package_fingerprint
from seer_env.runtime.engine import Outputs
from seer_env.runtime.layout import BUMP, CONTROL, FREE_SLOTS, MICRO_SHIFT, aligned_zeros, pending_dtype
from seer_env.runtime.leq import HEADER, kernel
from seer_env.runtime.memory import Memory
from seer_env.runtime.phases import ACT, HEADER_BYTES, perform_boundary
from seer_env.runtime.schedulers.compiled import CompiledEngine
from seer_env.runtime.schedulers.heap import HEAP, HeapEngine, HeapMemory
from seer_env.runtime.shims import SHIM, compile_model
from seer_env.runtime.sim_type import control_at, worker_at
from seer_env.runtime.transition import AT_BOUNDARY, AT_WINDOW, offering, transitions
from seer_env.runtime.window import leq_of, sync_of, workers_of
from seer_env.runtime.worker import begin, claim, working

#: Events of the record at first.
FIRST_ROOM = 1 << 12
#: Events that are replayed between two looks at the clock, and agents that act before emissions are dropped.
EVENTS_PER_LOOK, AGENTS = 1024, 16
#: Events between asking for an entity's memory and using it.
AHEAD = 8

#: At `control.own` of who records: a heap, then the handlers that are called and the events recorded. `count`
#: goes on where there is no more room.
RECORDING = np.dtype([*HEAP.descr, ("handlers", "i8"), ("events", "i8"), ("count", "i8"), ("room", "i8")])
#: At `control.own` of who replays: events, how many, and which is next.
REPLAY = np.dtype([("events", "i8"), ("count", "i8"), ("next", "i8")])


# -- recording -----------------------------------------------------------------------------------------


def record(me, event, address):
    """The C function in the place of every handler: keep the event, then call its handler."""
    control = control_at(worker_at(address).control)
    recording = record_at(control.own, RECORDING)
    if recording.count < recording.room:
        size = worker_at(address).lines * HEADER_BYTES
        copy_bytes(recording.events + recording.count * size, event, size)
    recording.count += 1
    handlers = array_at(recording.handlers, np.int64)
    call3(handlers[record_at(event, HEADER).kind], me, event, address)


@lru_cache(maxsize=1)
def _recorder():
    """The compiled recorder, kept for the life of the process."""
    return c_function(record, SHIM, package_fingerprint())


class RecordingMemory(HeapMemory):
    """The arrays of a world whose events are recorded."""

    def __init__(self, model, compiled):
        super().__init__(model, compiled)
        self.heap = self.recording = aligned_zeros(1, RECORDING)
        self.recording["handlers"] = self.handlers.ctypes.data
        self.recorders = np.full_like(self.handlers, _recorder().address)
        self.control["handlers"] = self.recorders.ctypes.data
        self.control["own"] = self.recording.ctypes.data
        self.point_pool()
        self.make_room(FIRST_ROOM)

    def make_room(self, events: int) -> None:
        """Room for so many events; what was recorded is lost."""
        self.events = aligned_zeros(events, self.event)
        self.recording["events"], self.recording["room"] = self.events.ctypes.data, events


class RecordingEngine(HeapEngine):
    """The `heap` scheduler; what a step executes between its actions and its boundary is kept."""

    _memory: RecordingMemory

    def _new_memory(self) -> Memory:
        return RecordingMemory(self.model, compile_model(self.model))

    def _call(self, stage: int, step: int, actions, live, outputs: Outputs, threads: int):
        self._memory.recording["count"] = 0  # a step may be run again, with more slots
        return super()._call(stage, step, actions, live, outputs, threads)

    def record(self, actions: np.ndarray, live: np.ndarray) -> np.ndarray:
        """Run a step as `step` does; its events in key order, which hold until the next step."""
        boundary, outputs = self.capture(), self.outputs
        while True:
            self.step(actions, live)
            count = int(self._memory.recording["count"][0])
            if count <= len(self._memory.events):
                return self._memory.events[:count]
            self._memory.make_room(count + count // 4)
            self.restore(boundary, outputs)


# -- replaying -----------------------------------------------------------------------------------------


@kernel
def replay_of(control):
    """The record, and the place in it."""
    return record_at(control.own, REPLAY)


@kernel
def free_all(control, worker):
    """Make all slots free, those of the worker's stack first."""
    for k in range(FREE_SLOTS):
        worker.free[k] = k * worker.lines
    worker.n_free, worker.chunk_next, worker.chunk_end = FREE_SLOTS, 0, 0
    sync_of(control)[BUMP] = FREE_SLOTS * worker.lines


@kernel
def drop(control, worker):
    """Drop what has been emitted: its slots are free again, and the stack still holds them."""
    worker.n_free, worker.collected = FREE_SLOTS, -1
    if worker.chunk_end != 0:
        free_all(control, worker)


@kernel
def replay_events(control, worker, worker_address):
    """Call some handlers; True when none is left."""
    replay = replay_of(control)
    size = worker.lines * HEADER_BYTES
    handlers, states, leq = (
        array_at(control.handlers, np.int64),
        array_at(control.state, np.uint8),
        leq_of(control),
    )
    events = array_at(replay.events, HEADER)
    last = min(replay.count, replay.next + EVENTS_PER_LOOK)
    worker.collect, worker.stopped = 1, 0
    for k in range(replay.next, last):
        if control.far and k + AHEAD < replay.count:
            ahead = events[(k + AHEAD) * worker.lines].target
            prefetch(leq, ahead)
            prefetch(states, ahead * control.state_stride)
        event = events[k * worker.lines]
        i, kind = int64(event.target), int64(event.kind)
        worker.me, worker.now, worker.seq, worker.kind = i, event.time, event.seq, kind
        worker.micro = event.seq >> MICRO_SHIFT
        call3(
            handlers[kind], control.state + i * control.state_stride, replay.events + k * size, worker_address
        )
        drop(control, worker)
        if worker.stopped:
            break
    worker.events += last - replay.next
    replay.next = last
    return last == replay.count


@kernel
def perform(control, worker, worker_address, kind, first, last):
    """Do items of a phase: agents that act, or what lies behind the window."""
    if kind == ACT:
        worker.collect = 1
        for agent in range(first, last, AGENTS):
            call3(control.act, agent, min(agent + AGENTS, last), worker_address)
            drop(control, worker)
    else:
        perform_boundary(control, worker_address, kind, first, last)


@kernel
def advance(control, worker, worker_address):
    """Some events between the actions and the boundary (`transition.transitions`)."""
    control.stage = AT_BOUNDARY if replay_events(control, worker, worker_address) else AT_WINDOW
    return False


work = working("replay", claim, perform, transitions("replay", offering("replay", perform), advance))


def replay_main(index, control_address):
    """C entry point of the worker; -1 begins a step (`worker.worker_main`)."""
    control = record_at(control_address, CONTROL)
    worker = workers_of(control)[0]
    if index < 0:
        free_all(control, worker)
        replay_of(control).next = 0
        begin(control)
    work(control, worker, control.workers)


@lru_cache(maxsize=1)
def _worker():
    """The compiled worker, kept for the life of the process."""
    return c_function(replay_main, types.void(types.int64, types.int64), package_fingerprint())


class ReplayMemory(Memory):
    """The arrays of a world that has no queue."""

    def __init__(self, model, compiled):
        self.replay = aligned_zeros(1, REPLAY)
        super().__init__(model, compiled, threads=1)
        self.control["own"] = self.replay.ctypes.data

    def pending(self) -> np.ndarray:
        """No events: the record has them."""
        return np.zeros(0, pending_dtype(self.model.payload_words))


class ReplayEngine(CompiledEngine):
    """Calls the handlers of recorded events, in their order."""

    _memory: ReplayMemory

    def _worker_function(self) -> int:
        return int(_worker().address)

    def _new_memory(self) -> Memory:
        return ReplayMemory(self.model, compile_model(self.model))

    def _keep_checkpoint(self) -> None:
        self._stepping_s = math.inf  # a record is of one step: going back must not replay earlier ones
        super()._keep_checkpoint()

    def replay(self, events: np.ndarray, actions: np.ndarray, live: np.ndarray) -> float:
        """Run a step of which `events` are the record; wall seconds from first action to last event."""
        self._events = events  # their memory must outlive the step
        replay = self._memory.replay
        replay["events"], replay["count"] = events.ctypes.data, len(events)
        self.step(actions, live)
        begun, drained, _ = self.instants
        return (drained - begun) * 1e-9

    def is_at(self, recording: RecordingEngine) -> bool:
        """Whether rows, emission counters and random streams are those of a recorded world, to the byte."""
        ours, theirs = self._memory, recording._memory
        if ours.state.tobytes() != theirs.state.tobytes():
            return False
        return all(np.array_equal(ours.leq[name], theirs.leq[name]) for name in ("emitted", "stream"))
