"""The `serial` and `seer` schedulers: the compiled engine, on one thread or on a pool."""

from __future__ import annotations

import time

import numpy as np

from seer_env.errors import SeerError
from seer_env.runtime import transition as stages
from seer_env.runtime.array_step import run_array_step
from seer_env.runtime.boundary import Boundary
from seer_env.runtime.breach import breach
from seer_env.runtime.buffers import Buffers
from seer_env.runtime.caller import exclusive
from seer_env.runtime.engine import Committed, Engine, Outputs, empty_boundary
from seer_env.runtime.entry import engine, pool, pool_available, pool_lost, run_pool
from seer_env.runtime.layout import CONTROL, WORKER
from seer_env.runtime.leq import RULES
from seer_env.runtime.memory import Checkpoint, Memory
from seer_env.runtime.schedulers.python import PythonEngine
from seer_env.runtime.shims import compile_model
from seer_env.runtime.stats import STEP_COUNTS, WORKER_COUNTS, StepStats, step_stats

#: A checkpoint is taken when stepping since the last one took this many times its cost.
CHECKPOINT_SHARE = 50


def words_of(record: np.dtype, names: tuple[str, ...]) -> slice:
    """Which int64 words of a record adjacent fields are."""
    first = record.fields[names[0]][1] // 8  # type: ignore[index]  # structured
    return slice(first, first + len(names))


_STATUS = words_of(CONTROL, ("status",)).start
_COUNTS, _WORKER_COUNTS = words_of(CONTROL, STEP_COUNTS), words_of(WORKER, WORKER_COUNTS)
_NO_INFO = np.zeros(0, np.uint8)


class CompiledEngine(Engine):
    """Executes safe windows entity by entity; `serial` is `seer` with one thread.

    A step is atomic at almost no cost: a checkpoint is taken every so often, and a step that fails
    is undone by going back to it and replaying the steps since, which is exact because steps are
    deterministic. The same way a step that runs out of event slots is run again with more.
    """

    def __init__(
        self,
        model,
        scheduler: str,
        threads: int,
        event_capacity: int | None = None,
        memory: Memory | None = None,
    ):
        super().__init__(model, event_capacity)
        self.scheduler = scheduler
        self.threads = 1 if scheduler == "serial" else threads
        _, self._begin, self._resume = engine()
        self._worker = self._worker_function()
        self._memory = memory or self._new_memory()
        self.compiled = self._memory.compiled
        self._words = self._memory.control.view(np.int64)
        self._control = self._memory.control.ctypes.data
        self._memory.control["emission_limit"] = self.event_capacity
        self._memory.workers["emission_limit"] = self.event_capacity
        #: Whether the arrays may be somewhere between two boundaries.
        self._torn = False
        #: The boundary that is being loaded.
        self._loading: Boundary | None = None
        self._checkpoint: Checkpoint | None = None
        self._log: list[tuple[np.ndarray, np.ndarray]] = []
        self._stepping_s = 0.0
        #: Words of the last call, and copies of those of the last step.
        self._called = self._words[_COUNTS]
        records = self._memory.workers.view(np.int64).reshape(self.threads, -1)
        self._workers_called = records[:, _WORKER_COUNTS]
        self._counts, self._worker_counts = np.zeros_like(self._called), np.zeros_like(self._workers_called)
        self._load(empty_boundary(model))

    # -- what another scheduler replaces -----------------------------------------------------------

    def _worker_function(self) -> int:
        """Address of the C function of a worker."""
        return engine()[0]

    def _new_memory(self) -> Memory:
        """The arrays of the world."""
        return Memory(self.model, compile_model(self.model), self.threads)

    # -- a step ------------------------------------------------------------------------------------

    def _step(self, actions: np.ndarray, live: np.ndarray, start: float) -> Outputs:
        self._recover()
        self._keep_checkpoint()
        outputs = self.new_outputs(zeroed=False)  # the output phase writes every row
        actions, live = np.ascontiguousarray(actions, np.float64), np.ascontiguousarray(live, bool)
        before = self._committed
        try:
            self._torn = True
            self._run(actions, live, outputs)
            self._note_counts(start)
            self._stepping_s += self.elapsed_s
            self._log.append((actions, live))
            self._committed = Committed(before.steps + 1, outputs)
            self._torn = False
        except BaseException:  # KeyboardInterrupt too, wherever it strikes: a step is atomic
            self._committed = before
            self._recover()
            raise
        return outputs

    def _run(self, actions: np.ndarray, live: np.ndarray, outputs: Outputs) -> None:
        """Run one window, with more event slots if they run out."""
        threads = self.threads if self.threads == 1 or pool_available() else 1
        while True:
            rule, details = self._call(stages.AT_ACTIONS, self.steps, actions, live, outputs, threads)
            if rule == "":
                return
            if rule == "slots":
                self._recover(slots=2 * self._memory.slots)
            elif rule == "capacity" and threads > 1:
                # Who emits the one event too many depends on timing: name who does on one thread.
                self._recover()
                threads = 1
            else:
                raise self._breach(rule, details, actions, live)
            self._torn = True

    def _call(
        self, stage: int, step: int, actions, live, outputs: Outputs, threads: int
    ) -> tuple[str, np.void]:
        """Run the engine from `stage` of step window `step` on; returns the broken rule, or ''."""
        words, memory, control = self._words, self._memory, self._control
        self._arguments = (actions, live, outputs)  # their memory must outlive the call
        if stage == stages.AT_ACTIONS and self.model.array_step is not None:
            run_array_step(self.model, memory.state, actions, memory.leq["gamma"], step)
        info = _NO_INFO if outputs.info is None else outputs.info.view(np.uint8)
        clock = step * self.model.dt
        end = (step + 1) * self.model.dt if stage == stages.AT_ACTIONS else clock
        self._begin(self._worker, control, actions, live, *outputs[:3], info, stage, threads, clock, end)
        while words[_STATUS] == stages.RUNNING:
            if threads == 1 or not run_pool(threads, control, self._worker):
                self._resume(self._worker, 1, control)
        if words[_STATUS] == stages.FINISHED:
            return "", memory.workers[0]
        return self._first_broken(threads)

    def _first_broken(self, threads: int) -> tuple[str, np.void]:
        """The first rule in key order that the workers of a call met, and the record of who met it."""
        workers = self._memory.workers[:threads]
        broken = workers[workers["rule"] != 0]
        first = broken[np.lexsort((broken["breach_seq"], broken["breach_time"]))[0]]
        return RULES[first["rule"]], first

    def _breach(self, rule: str, details: np.void, actions, live) -> SeerError:
        """The exception for a breach; a handler's own exception is raised by running it in Python."""
        if rule == "exception":
            return self._exception(details, actions, live)
        return breach(
            self.model,
            rule,
            int(details["breach_entity"]),
            float(details["breach_time"]),
            int(details["breach_kind"]),
            target=int(details["breach_target"]),
            delay=float(details["breach_delay"]),
            emitted_kind=int(details["breach_emitted_kind"]),
            limit=self.event_capacity,
        )

    def _exception(self, details: np.void, actions, live) -> SeerError:
        failure = self._only_compiled(details)
        self._recover()
        oracle = PythonEngine(self.model, self.event_capacity)
        oracle.restore(self.capture(), self.outputs)
        oracle.step(actions, live)  # raises what the handler raises, with its own traceback
        return failure

    def _only_compiled(self, details: np.void) -> SeerError:
        return SeerError(
            f"a function of {self.model!r} raised an exception for entity {int(details['breach_entity'])} at "
            f"t={float(details['breach_time'])!r} when compiled, but not under scheduler='python'."
        )

    # -- threads, and steps that leave no trace ----------------------------------------------------

    @exclusive
    def use_threads(self, count: int) -> None:
        """Step on `count` threads from now on: from 1 to as many as the engine was made with."""
        if count != self.threads:
            if not 1 <= count <= self._memory.threads:
                raise ValueError(f"threads must be from 1 to {self._memory.threads}, got {count}")
            if count > 1 and not pool_lost():
                pool()  # loaded now, so that it does not count as part of a step
            self._memory.use_threads(count)
            self.threads = count

    @exclusive
    def share_again(self) -> None:
        """With other numbers of threads than now, try next whether steps are sooner shared."""
        self._memory.share_again()

    @exclusive
    def rehearse(self, ahead: int, actions: np.ndarray, live: np.ndarray) -> Outputs | None:
        """Run a step window that is never committed: any other use of the engine finds it where it was.

        Args:
            ahead: windows rehearsed since the boundary; 0 begins there again.
            actions, live: as `step`'s.

        Returns:
            What the agents would be shown; None if event slots ran out: there are more now, begin again.
        """
        if ahead == 0:
            self._recover()
            self._keep_checkpoint()
        start = time.perf_counter()
        outputs = self.new_outputs(zeroed=False)
        self._torn = True
        if ahead == 0:
            self._run(actions, live, outputs)
        else:
            threads = self.threads if self.threads == 1 or pool_available() else 1
            rule, _ = self._call(stages.AT_ACTIONS, self.steps + ahead, actions, live, outputs, threads)
            if rule == "slots":
                self._recover(slots=2 * self._memory.slots)
                return None
            if rule:
                raise SeerError(f"{self.model!r}: the rule {rule!r} was broken in a rehearsed step")
        self._note_counts(start)
        return outputs

    @property
    def pending_events(self) -> int:
        """Events pending now, behind the last rehearsed step if there was one."""
        return self._memory.count_pending()

    @exclusive
    def forget_rehearsal(self) -> None:
        """Go back to the boundary now; no step has been counted since."""
        self._recover()
        self._counts, self._worker_counts = np.zeros_like(self._called), np.zeros_like(self._workers_called)
        self.elapsed_s = 0.0

    def _note_counts(self, start: float) -> None:
        self._counts = self._called.copy()
        self._worker_counts = self._workers_called.copy()
        self.elapsed_s = time.perf_counter() - start

    @property
    def stats(self) -> StepStats:
        return step_stats(self._counts, self._worker_counts, self.elapsed_s)

    @property
    def instants(self) -> tuple[int, int, int]:
        """When the last step began, was drained and ended: nanoseconds of `waiting.clock_ns`."""
        counts = dict(zip(STEP_COUNTS, self._counts.tolist()))
        return counts["begun_at"], counts["drained_at"], counts["ended_at"]

    # -- checkpoints -------------------------------------------------------------------------------

    def _keep_checkpoint(self) -> None:
        """Take a checkpoint if stepping since the last one outweighs its cost."""
        earlier = self._checkpoint
        if earlier is not None and self._stepping_s < CHECKPOINT_SHARE * earlier.cost_s:
            return
        # The next one takes its memory. Nothing needs it before: an interrupt here leaves no checkpoint.
        earlier = self._checkpoint = None
        checkpoint = Checkpoint(self._memory, self.steps, self._buffers)
        self._log.clear()
        self._stepping_s = 0.0
        self._checkpoint = checkpoint

    def _recover(self, slots: int = 0) -> None:
        """If the arrays may not show the committed boundary, load it, or restore and replay.

        Interrupted, it starts again at the engine's next use.
        """
        if not self._torn:
            return
        if self._loading is not None:
            self._finish_loading(self._loading)
            return
        memory, checkpoint = self._memory, self._checkpoint
        assert checkpoint is not None, "a step takes a checkpoint first"
        if slots > memory.slots:
            memory.new_pool(slots)
            self._buffers.forget()  # checkpoints are larger from now on
        checkpoint.restore(memory)
        del self._log[self.steps - checkpoint.steps :]
        scratch = self.new_outputs()
        nobody = np.zeros(self.model.n_agents, bool)
        idle = np.zeros((self.model.n_agents, self.model.action_size))
        self._call(stages.AT_BOUNDARY, checkpoint.steps, idle, nobody, scratch, 1)
        for step, (actions, live) in enumerate(self._log, checkpoint.steps):
            rule, _ = self._call(stages.AT_ACTIONS, step, actions, live, scratch, 1)
            if rule == "slots":  # free ones lie in the stacks of workers that do not run now
                self._recover(2 * memory.slots)
                return
            assert rule == "", f"a step that succeeded met {rule!r} when replayed"
        self._torn = False

    # -- boundaries ----------------------------------------------------------------------------------

    @exclusive
    def capture(self) -> Boundary:
        self._recover()
        return self._copy()

    def _copy(self) -> Boundary:
        memory, leq = self._memory, self._memory.leq
        return Boundary(
            self.steps,
            memory.state.copy(),
            leq["emitted"].copy(),
            leq["stream"].copy(),
            leq["gamma"].copy(),
            memory.pending(),
        )

    def _load(self, boundary: Boundary) -> None:
        self._loading, self._torn = boundary, True
        self._recover()

    def _finish_loading(self, boundary: Boundary) -> None:
        self._memory.load(boundary)
        self._checkpoint, self._stepping_s = None, 0.0
        self._log.clear()
        self._committed = Committed(boundary.steps, self.outputs)
        scratch = self.new_outputs(buffers=Buffers())  # not kept: copies have many engines
        self._observe(np.zeros(self.model.n_agents, bool), scratch)
        self._loading, self._torn = None, False

    def _observe(self, live: np.ndarray, outputs: Outputs) -> None:
        actions = np.zeros((self.model.n_agents, self.model.action_size))
        rule, details = self._call(stages.AT_BOUNDARY, self.steps, actions, live, outputs, 1)
        if rule:  # nothing is emitted here: a function of the model raised
            oracle = PythonEngine(self.model, self.event_capacity)
            oracle.restore(self._copy(), outputs)
            oracle._observe(live, self.new_outputs())  # raises it with its own traceback
            raise self._only_compiled(details)

    def close(self) -> None:
        del self._memory, self._words
        self._checkpoint = None
        self._buffers.forget()

    @property
    def n_pending(self) -> int:
        """Events pending at the boundary, or where a rehearsal stands."""
        return self._memory.n_pending

    @property
    def state(self) -> np.ndarray:
        self._recover()
        view = self._memory.state.view()
        view.flags.writeable = False
        return view
