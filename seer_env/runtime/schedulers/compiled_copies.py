"""Copies under the `serial` and `seer` schedulers: worlds side by side, stepped by one call of the pool."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

import numpy as np

from seer_env.errors import SeerError
from seer_env.runtime.array_step import run_array_step
from seer_env.runtime.boundary import Boundary
from seer_env.runtime.caller import exclusive
from seer_env.runtime.driver import (
    CONTROL_BYTES,
    CONTROLS,
    COUNT,
    DRIVER_WORDS,
    EVENTS,
    FAILED,
    ORDER,
    ROUNDS,
    WORKER_MAIN,
    driver,
    pool_of_copies,
)
from seer_env.runtime.engine import Committed, Outputs, initial_boundary
from seer_env.runtime.entry import engine, pool_available, pool_lost, run_loop
from seer_env.runtime.layout import ALIGNMENT, CONTROL, aligned_zeros
from seer_env.runtime.memory import Checkpoint, Memory
from seer_env.runtime.schedulers.compiled import _COUNTS, _STATUS, CHECKPOINT_SHARE, CompiledEngine
from seer_env.runtime.schedulers.copies import CopiesEngine, naming, row_of
from seer_env.runtime.shims import CompiledModel, compile_model
from seer_env.runtime.stats import StepStats
from seer_env.runtime.transition import BREACHED


class Saved(NamedTuple):
    """What one copy can go back to.

    Attributes:
        number: of the engine's first step since the checkpoint.
        checkpoint: the copy's arrays.
    """

    number: int
    checkpoint: Checkpoint


class Boundaries(NamedTuple):
    """What a step or reset changes beside the worlds' arrays, in one assignment.

    Attributes:
        number: steps that the engine has made, whatever was reset in between.
        steps: of each copy since its reset, int64 `[B]`.
        outputs: what the copies' boundaries show.
        saved: per copy.
    """

    number: int
    steps: np.ndarray
    outputs: Outputs
    saved: tuple[Saved, ...]


class CompiledCopies(CopiesEngine):
    """Every copy is a `CompiledEngine` over arrays of its own, which steps only where something failed.

    As there, a step that fails is undone by going back to a checkpoint and replaying the steps since.
    """

    def __init__(self, model, copies: int, scheduler: str, threads: int, event_capacity: int | None = None):
        super().__init__(model, copies)
        self.scheduler = scheduler
        self.threads = 1 if scheduler == "serial" else threads
        self._drive, self._begin_all, self._run_alone = driver()
        self.compiled = compile_model(model)
        self._make_worlds(self.compiled, event_capacity)
        self._point_driver()
        self._no_info = np.zeros((copies, 0), np.uint8)
        self._counts = np.zeros(3, np.int64)
        #: Copies whose arrays may be somewhere between two boundaries.
        self._torn: Collection[int] = ()
        #: By the step's number: actions, live agents, and the copies that have any.
        self._log: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
        self._stepping_s = self._saving_s = 0.0
        steps = np.zeros(copies, np.int64)
        self._committed = Boundaries(0, steps, self.new_outputs(), self._save(0, steps))

    def _make_worlds(self, compiled: CompiledModel, event_capacity: int | None) -> None:
        """Worlds whose rows and control records lie side by side; each starts on cache lines of its own."""
        model, copies = self.model, self.copies
        size = model.n_entities * model.entity.itemsize
        rows = aligned_zeros((copies, -(-size // ALIGNMENT) * ALIGNMENT), np.uint8)
        shape, strides = (copies, model.n_entities), (rows.strides[0], model.entity.itemsize)
        self._state = np.ndarray(shape, model.entity, rows, 0, strides)
        self._controls = aligned_zeros((copies, CONTROL_BYTES), np.uint8)
        self._worlds = []
        for state, control in zip(self._state, self._controls):
            control = control[: CONTROL.itemsize].view(CONTROL)
            memory = Memory(model, compiled, self.threads, state, control)
            self._worlds.append(CompiledEngine(model, self.scheduler, self.threads, event_capacity, memory))

    def _point_driver(self) -> None:
        self._order = np.zeros(self.copies, np.int64)
        self._words = aligned_zeros(DRIVER_WORDS, np.int64)
        self._words[ORDER], self._words[CONTROLS] = self._order.ctypes.data, self._controls.ctypes.data
        self._words[WORKER_MAIN] = engine()[0]
        self._driver = self._words.ctypes.data

    # -- a step ------------------------------------------------------------------------------------

    def _step(self, actions: np.ndarray, live: np.ndarray, start: float) -> Outputs:
        self._recover()
        self._keep_checkpoints()
        outputs = self.new_outputs(zeroed=False)  # the output phase writes every row
        actions, live = np.ascontiguousarray(actions, np.float64), np.ascontiguousarray(live, bool)
        moving = np.logical_or.reduce(live, axis=1)
        before = self._committed
        try:
            self._torn = range(self.copies)
            if not self._run(actions, live, before.steps, outputs):
                self._run_again(actions, live, outputs)
            if not moving.all():
                _keep_rows(outputs, before.outputs, ~moving)
            self._note_counts(start)
            self._stepping_s += self.elapsed_s
            self._log[before.number] = actions, live, moving
            steps = before.steps + moving
            self._committed = Boundaries(before.number + 1, steps, outputs, before.saved)
            self._torn = ()
        except BaseException:  # KeyboardInterrupt too, wherever it strikes: a step is atomic
            self._committed = before
            self._recover()
            raise
        return outputs

    def _run(self, actions: np.ndarray, live: np.ndarray, steps: np.ndarray, outputs: Outputs) -> bool:
        """Run one window of every copy with a live agent; whether none of them failed."""
        words, address, drive = self._words, self._driver, self._drive
        self._arguments = (actions, live, outputs)  # their memory must outlive the call
        if self.model.array_step is not None:
            self._run_array_steps(actions, live, steps)
        threads = self.threads if self.threads == 1 or pool_available() else 1
        info = self._no_info if outputs.info is None else outputs.info.view(np.uint8)
        self._begin_all(address, actions, live, *outputs[:3], info, steps, self.model.dt, threads)
        while words[COUNT]:
            if threads == 1 or not run_loop(pool_of_copies(), drive, threads, address):
                self._run_alone(drive, 1, address)
        return words[FAILED] == 0

    def _run_array_steps(self, actions: np.ndarray, live: np.ndarray, steps: np.ndarray) -> None:
        """The part of `_run` that is Python's."""
        for copy in np.flatnonzero(live.any(axis=1)).tolist():
            gamma = self._worlds[copy]._memory.leq["gamma"]
            with naming(copy):
                run_array_step(self.model, self._state[copy], actions[copy], gamma, int(steps[copy]))

    def _run_again(self, actions: np.ndarray, live: np.ndarray, outputs: Outputs) -> None:
        """Run the copies whose step failed as worlds of their own: it raises unless they lacked slots."""
        words = self._controls.view(np.int64)
        for copy in np.flatnonzero(words[:, _STATUS] == BREACHED).tolist():
            counts = words[copy, _COUNTS]
            counted = counts.copy()
            with naming(copy):
                world = self._go_back(copy)
                world._torn = True
                world._run(actions[copy], live[copy], row_of(outputs, copy))
                world._torn = False
            self._words[ROUNDS : EVENTS + 1] += (counts - counted)[: EVENTS + 1 - ROUNDS]

    @property
    def pending_events(self) -> int:
        """`CompiledEngine.pending_events` of all copies."""
        return sum(world.pending_events for world in self._worlds)

    @exclusive
    def forget_rehearsal(self) -> None:
        """`CompiledEngine.forget_rehearsal`."""
        self._recover()
        self._counts, self.elapsed_s = np.zeros(3, np.int64), 0.0

    def _note_counts(self, start: float) -> None:
        self._counts = self._words[ROUNDS : EVENTS + 1].copy()
        self.elapsed_s = time.perf_counter() - start

    # -- threads, and steps that leave no trace ----------------------------------------------------

    @exclusive
    def use_threads(self, count: int) -> None:
        """`CompiledEngine.use_threads`."""
        if count != self.threads:
            if count > 1 and not pool_lost():
                pool_of_copies()  # as there
            for world in self._worlds:
                world._memory.use_threads(count)
                world.threads = count
            self.threads = count

    @exclusive
    def share_again(self) -> None:
        """`CompiledEngine.share_again`."""
        for world in self._worlds:
            world._memory.share_again()

    @exclusive
    def rehearse(self, ahead: int, actions: np.ndarray, live: np.ndarray) -> Outputs | None:
        """`CompiledEngine.rehearse` of every copy that has a live agent."""
        if ahead == 0:
            self._recover()
            self._keep_checkpoints()
        start = time.perf_counter()
        outputs = self.new_outputs()
        self._torn = range(self.copies)
        if not self._run(actions, live, self._committed.steps + ahead, outputs):
            if ahead > 0:
                self._make_room()
                return None
            self._run_again(actions, live, outputs)
        self._note_counts(start)
        return outputs

    def _make_room(self) -> None:
        """Go back, and give more event slots to the copies that ran out of them in a rehearsed step."""
        failed = np.flatnonzero(self._controls.view(np.int64)[:, _STATUS] == BREACHED).tolist()
        for copy in failed:
            world = self._worlds[copy]
            rule, _ = world._first_broken(int(world._memory.control["threads"][0]))
            if rule != "slots":
                raise SeerError(f"copy {copy}: the rule {rule!r} was broken in a rehearsed step")
        self._recover()
        for copy in failed:
            world = self._go_back(copy)
            world._torn = True
            world._recover(slots=2 * world._memory.slots)

    @property
    def stats(self) -> StepStats:
        rounds, shared_rounds, events = self._counts.tolist()
        return StepStats(events=events, rounds=rounds, shared_rounds=shared_rounds, window_s=self.elapsed_s)

    @property
    def n_pending(self) -> int:
        """Events pending in all worlds, at their boundaries or where a rehearsal stands."""
        return sum(world.n_pending for world in self._worlds)

    # -- resets ------------------------------------------------------------------------------------

    def _reset(self, seeds: Mapping[int, int]) -> Outputs:
        everyone = np.ones(self.model.n_agents, bool)

        def begin(copy: int, row: Outputs) -> int:
            world = self._worlds[copy]
            world._load(initial_boundary(self.model, seeds[copy]))
            world._show_first(everyone, row)
            return 0

        return self._replace(seeds, begin)

    def _restore(self, copy: int, boundary: Boundary, outputs: Outputs) -> Outputs:
        def go_on(copy: int, row: Outputs) -> int:
            self._worlds[copy]._load(boundary.copy())
            for array, shown in zip(row, outputs):
                if array is not None:
                    array[...] = shown
            return boundary.steps

        return self._replace([copy], go_on)

    def _replace(self, copies: Collection[int], load: Callable[[int, Outputs], int]) -> Outputs:
        """Replace the boundaries of some copies, or of none if that raises.

        Args:
            copies: their indices.
            load: called with a copy and its row of outputs to be filled; returns the boundary's steps.
        """
        self._recover()
        before = self._committed
        outputs = Outputs(*(None if array is None else array.copy() for array in before.outputs))  # type: ignore[arg-type]  # info may be None
        steps, saved = before.steps.copy(), list(before.saved)
        try:
            self._torn = copies
            for copy in copies:
                with naming(copy):
                    steps[copy] = load(copy, row_of(outputs, copy))
                world = self._worlds[copy]
                checkpoint = Checkpoint(world._memory, int(steps[copy]), world._buffers)
                saved[copy] = Saved(before.number, checkpoint)
            self._committed = Boundaries(before.number, steps, outputs, tuple(saved))
            self._torn = ()
        except BaseException:
            self._committed = before
            self._recover()
            raise
        return outputs

    # -- checkpoints -------------------------------------------------------------------------------

    def _keep_checkpoints(self) -> None:
        """Take checkpoints of all copies if stepping since the last ones outweighs their cost."""
        if self._stepping_s < CHECKPOINT_SHARE * self._saving_s:
            return
        committed = self._committed
        self._committed = committed._replace(saved=self._save(committed.number, committed.steps))
        self._log = {}
        self._stepping_s = 0.0

    def _save(self, number: int, steps: np.ndarray) -> tuple[Saved, ...]:
        """Checkpoints of all copies; the earlier ones hold until these are complete."""
        checkpoints = [
            Checkpoint(world._memory, step, world._buffers)
            for world, step in zip(self._worlds, steps.tolist())
        ]
        self._saving_s = sum(checkpoint.cost_s for checkpoint in checkpoints)
        return tuple(Saved(number, checkpoint) for checkpoint in checkpoints)

    def _recover(self) -> None:
        """Take copies whose arrays may not show their committed boundary back to it.

        Interrupted, it starts again at the engine's next use.
        """
        for copy in self._torn:
            self._go_back(copy)
        self._torn = ()

    def _go_back(self, copy: int) -> CompiledEngine:
        """Restore a copy's checkpoint, and replay its committed steps since."""
        world, committed = self._worlds[copy], self._committed
        number, checkpoint = committed.saved[copy]
        steps = (self._log[k] for k in range(number, committed.number))
        world._loading, world._checkpoint = None, checkpoint
        world._log = [(actions[copy], live[copy]) for actions, live, moving in steps if moving[copy]]
        world._committed = Committed(int(committed.steps[copy]), row_of(committed.outputs, copy))
        world._torn = True
        world._recover()
        return world

    # -- boundaries --------------------------------------------------------------------------------

    def _world(self, copy: int) -> CompiledEngine:
        self._recover()
        world, committed = self._worlds[copy], self._committed
        world._committed = Committed(int(committed.steps[copy]), row_of(committed.outputs, copy))
        return world

    @property
    def steps(self) -> np.ndarray:
        return self._committed.steps

    @property
    def outputs(self) -> Outputs:
        return self._committed.outputs

    @property
    def state(self) -> np.ndarray:
        self._recover()
        view = self._state.view()
        view.flags.writeable = False
        return view

    def close(self) -> None:
        for world in self._worlds:
            world.close()
        del self._worlds, self._state, self._controls, self._committed
        self._log = {}
        self._buffers.forget()


def _keep_rows(outputs: Outputs, before: Outputs, copies: np.ndarray) -> None:
    """Let some copies (bool `[B]`) show what they did before."""
    for array, earlier in zip(outputs, before):
        if array is not None and earlier is not None:
            array[copies] = earlier[copies]
