"""`Copies`: many worlds of one model, stepped together as arrays. `make(..., copies=B)` returns one."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Sequence
from html import escape
from time import perf_counter

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding

from seer_env.actions import ActionError, ActionReader, as_block
from seer_env.checkpoint import Snapshot, load_snapshot, save_snapshot
from seer_env.checks import whole
from seer_env.episode import EnvStepStats, StepArrays, checked_cycles, checked_seed
from seer_env.errors import ModelError, SeerError
from seer_env.html import copies_html
from seer_env.model import EventModel
from seer_env.runtime.engine import Outputs
from seer_env.runtime.schedulers.copies import CopiesEngine, make_copies_engine, row_of
from seer_env.stpa.choosing import ChoosesThreads

__all__ = ["Copies"]


class Copies(ChoosesThreads):
    """`B` independent worlds of `M` agents each, in one engine and with one pool of threads.

    Copy `i` does, byte for byte, what an env of its own would do that is reset with the same seed and
    given the same actions. Each copy has its own clock, and ends and is reset on its own; where all of a
    copy's agents have ended, the copy stands still until then. A step is atomic over all copies: if it
    raises, for whatever reason, every copy is at the boundary before it.

    Args:
        model: the world.
        copies: `B`, from 1 up.
        scheduler, threads, max_cycles, strict_actions, event_capacity, preflight_ms, affinity: as
            `SeerParallelEnv`'s; cycles and events are counted per copy.

    Raises:
        ModelError: the model's declaration cannot work, or it has no agent.
        ValueError: an argument out of its range.
        SeerError: `affinity` is not possible here, or an open env has another one.
    """

    def __init__(
        self,
        model: EventModel,
        copies: int,
        *,
        scheduler: str = "auto",
        threads: int | str = "auto",
        max_cycles: int | None = None,
        strict_actions: bool = False,
        event_capacity: int | None = None,
        preflight_ms: float = 200.0,
        affinity: Sequence[int] | None = None,
    ):
        model.validate()
        if model.n_agents < 1:
            raise ModelError(f"{model!r}: copies need at least one agent; use runtime.engine without")
        self.model = model
        self._copies = whole("copies", copies, error=ValueError)
        self.max_cycles = max_cycles
        self._ask_threads(scheduler, threads, preflight_ms, affinity, self._copies)
        workers = self._engine_workers()
        self._engine: CopiesEngine = make_copies_engine(model, self._copies, *workers, event_capacity)
        self._attach_tuner()
        self._reader = ActionReader(model, strict_actions, self._copies)
        self._generators: list[np.random.Generator | None] = [None] * self._copies
        self._started = np.zeros(self._copies, bool)
        self._live: np.ndarray = np.zeros((self._copies, model.n_agents), bool)
        self._shown = self._truncated = self._live
        self._actions_s = 0.0
        self._closed = False

    def __len__(self) -> int:
        return self._copies

    def __repr__(self) -> str:
        agents = f"{self._copies} copies of {self.model.n_agents} agents, {np.count_nonzero(self._live)} live"
        workers = f"{self.scheduler} on {self.threads} thread{'s' * (self.threads > 1)}"
        return f"<{type(self).__name__} {self.model.name}: {'closed, ' * self._closed}{agents}, {workers}>"

    def _repr_html_(self) -> str:
        """For Jupyter: a table of facts, and one of the copies."""
        return copies_html(self) if not self._closed else f"<pre>{escape(repr(self))}</pre>"

    def close(self) -> None:
        """Release the engine. What is closed cannot be reset; closing again is allowed."""
        if not self._closed:
            self._closed = True
            self._engine.close()
            self._affinity.close()

    # -- episodes ----------------------------------------------------------------------------------

    def reset_arrays(self, seed: int | None = None) -> np.ndarray:
        """Start an episode in every copy; returns the observations, float32 `[B, M, D]`.

        Args:
            seed: copy `i` is seeded with `seed + i`, for this and its later episodes. None goes on with
                each copy's generator; before any seed, those are seeded by the operating system.

        Raises:
            ModelError: `model.reset` scheduled an impossible event; no copy has changed.
            ValueError: the seed is negative.
        """
        everyone = range(self._copies)
        seeds = None if seed is None else [checked_seed(seed) + i for i in everyone]
        return self.reset_copies(everyone, seeds)

    def reset_copy(self, copy: int, seed: int | None = None) -> np.ndarray:
        """Start an episode in one copy, while the others go on; returns its observations, float32 `[M, D]`.

        Args:
            copy: its index.
            seed: of this and the copy's later episodes; None goes on with the copy's generator.

        Raises:
            IndexError: there is no such copy.
            ModelError, ValueError: as `reset_arrays`.
        """
        return self.reset_copies([copy], [seed])[copy].copy()

    def reset_copies(self, copies: Sequence[int], seeds: Sequence[int | None] | None = None) -> np.ndarray:
        """Start an episode in some copies, or in none if it raises, while the others go on.

        Args:
            copies: their indices.
            seeds: one per index, each as `reset_copy`'s; None goes on with every copy's generator.

        Returns:
            What the last boundary of every copy shows, float32 `[B, M, D]`, as `observations`.

        Raises:
            IndexError, ModelError: as `reset_copy`.
            ValueError: a seed is negative, or there is not one per index.
        """
        indices = [self._index(copy) for copy in copies]
        seeds = [None] * len(indices) if seeds is None else list(seeds)
        if len(seeds) != len(indices):
            raise ValueError(f"seeds must be one per copy: {len(indices)} copies, got {len(seeds)} seeds")
        return self._begin(indices, [None if s is None else checked_seed(s) for s in seeds]).observations

    def step_arrays(self, actions: np.ndarray) -> StepArrays:
        """Step every copy that has a live agent; arrays as an env's, with a leading axis of copies.

        Args:
            actions: numbers `[B, M, A]`, or `[B, M]` where `A` is 1; rows of agents that are not live,
                and so all rows of a copy that has ended, are ignored.

        Raises:
            ActionError: the array is wrongly shaped, or a live agent's row not finite or out of range.
            ContractBreach: a handler broke the event-locality contract; no copy has changed.
            ResetNeeded: a copy has not been reset.
        """
        start = perf_counter()
        self._require_episodes()
        block = self._read(actions)
        before = self._live
        self._actions_s = perf_counter() - start
        self._watch_steps()
        self._change(lambda: self._engine.step(block, before), lambda: self._retire(before))
        shown, still = self._engine.outputs[:3], ~np.logical_or.reduce(before, axis=1)
        if still.any():  # the engine goes on showing their last boundaries, a step shows zeros
            shown = tuple(array.copy() for array in shown)
            for array in shown:
                array[still] = 0
        return StepArrays(*shown, self._truncated, self._live.copy())

    # -- boundaries --------------------------------------------------------------------------------

    @property
    def observations(self) -> np.ndarray:
        """What the last boundary of each copy shows, float32 `[B, M, D]`."""
        self._require_open()
        return self._engine.outputs.observations

    @property
    def info_arrays(self) -> np.ndarray | None:
        """The infos of the last boundaries, structured `[B, M]` of `model.info`, or None without any."""
        self._require_open()
        return self._engine.outputs.info

    @property
    def entities(self) -> np.ndarray:
        """Every entity's row at the last boundaries, structured `[B, N]`, read-only."""
        self._require_open()
        return self._engine.state

    @property
    def live(self) -> np.ndarray:
        """Who is live, bool `[B, M]`."""
        return self._live.copy()

    @property
    def steps(self) -> np.ndarray:
        """Steps of each copy since its reset, int64 `[B]`."""
        self._require_open()
        return self._engine.steps.copy()

    @property
    def np_random(self) -> tuple[np.random.Generator | None, ...]:
        """The generator that draws each copy's seeds; None before the copy's first reset."""
        return tuple(self._generators)

    def save(self, copy: int, path: str | os.PathLike) -> None:
        """Write the current boundary of one copy to a file, which an env of the same model loads too.

        Raises:
            IndexError: there is no such copy.
            ResetNeeded: it has not been reset.
        """
        copy = self._index(copy)
        generator = self._generators[copy]
        if generator is None:
            raise ResetNeeded(f"copy {copy} has not been reset: call reset_copy({copy}) first")
        outputs, live, shown = row_of(self._engine.outputs, copy), self._live[copy], self._shown[copy]
        state = dict(generator.bit_generator.state)
        snapshot = Snapshot(self._engine.capture(copy), outputs, live, shown, state)
        save_snapshot(path, self.model, snapshot)

    def load(self, copy: int, path: str | os.PathLike) -> np.ndarray:
        """Let one copy go on from a saved boundary, a copy's or an env's; returns what it showed, `[M, D]`.

        Raises:
            BoundaryFileError: the file is truncated, altered, foreign or of another model; nothing has
                changed.
            IndexError: there is no such copy.
        """
        copy = self._index(copy)
        snapshot, generators = load_snapshot(path, self.model), list(self._generators)
        generators[copy] = generator = np.random.Generator(np.random.PCG64(0))
        generator.bit_generator.state = snapshot.np_random
        self._change(
            lambda: self._engine.restore(copy, snapshot.boundary, snapshot.outputs),
            lambda: self._place([copy], snapshot.live, snapshot.shown, generators),
        )
        return snapshot.outputs.observations

    def digest(self, copy: int) -> str:
        """Hex digest of one copy: that of an env of its own at the same boundary."""
        return self._engine.digest(self._index(copy))

    # -- facts -------------------------------------------------------------------------------------

    @property
    def max_cycles(self) -> int | None:
        """Steps after which a copy's live agents are truncated; may be set at any time."""
        return self._max_cycles

    @max_cycles.setter
    def max_cycles(self, value: int | None) -> None:
        self._max_cycles = checked_cycles(value)

    @property
    def last_step_stats(self) -> EnvStepStats:
        """Counts of the last step, summed over the copies, and its wall times.

        `window_s` holds the outputs too, and `outputs_s` is 0: while one copy shows its outputs, another
        may execute events.
        """
        return EnvStepStats(**vars(self._engine.stats), actions_s=self._actions_s, dicts_s=0.0)

    # -- inside ------------------------------------------------------------------------------------

    def _begin(self, copies: Iterable[int], seeds: Iterable[int | None]) -> Outputs:
        self._require_open()
        generators, drawn = list(self._generators), {}
        for copy, seed in zip(copies, seeds):
            generator = _generator(generators[copy], seed)
            generators[copy] = generator
            drawn[copy] = int(generator.integers(1 << 63))

        def follow() -> None:
            self._place(list(drawn), True, True, generators)

        self._change(lambda: self._engine.reset(drawn), follow)
        outputs = self._engine.outputs
        if self._tuner is not None:
            self._tuner.after_reset(self._reader, self._live, outputs.info)
        return outputs

    def _place(
        self,
        copies: list[int],
        live: bool | np.ndarray,
        shown: bool | np.ndarray,
        generators: list[np.random.Generator | None],
    ) -> None:
        """Let some copies stand at new boundaries, at which these agents are live and shown."""
        all_live, all_shown, started = self._live.copy(), self._shown.copy(), self._started.copy()
        all_live[copies], all_shown[copies], started[copies] = live, shown, True
        self._live, self._shown, self._started = all_live, all_shown, started
        self._generators = generators

    def _change(self, change: Callable[[], object], follow: Callable[[], None]) -> None:
        """Change the engine; the agents follow it, also where an interrupt strikes in between."""
        before = self._engine.outputs
        try:
            with self._on_cpus():
                change()
            follow()
        except BaseException:
            if self._engine.outputs is not before:
                follow()
            raise

    def _retire(self, before: np.ndarray) -> None:
        """Retire those whose episode ended in the engine's last step, where those in `before` were live."""
        ended = self._engine.outputs.terminated
        truncated = np.zeros(before.shape, bool)
        if self._max_cycles is not None:
            truncated[self._engine.steps >= self._max_cycles] = True
            truncated &= before
            ended = ended | truncated
        moved = np.logical_or.reduce(before, axis=1)
        self._shown = before if moved.all() else np.where(moved[:, None], before, self._shown)
        self._live = before & ~ended if np.count_nonzero(ended) else before
        self._truncated = truncated

    def _read(self, actions: np.ndarray) -> np.ndarray:
        """Actions as float64 `[B, M, A]`, checked and clipped."""
        block = as_block(actions, self.model.action_space)
        shape = (*self._live.shape, self.model.action_size)
        if block.shape != shape and not (shape[2] == 1 and block.shape == shape[:2]):
            raise ActionError(
                f"actions must have shape {shape}: {shape[0]} copies of {shape[1]} agents with the space "
                f"{self.model.action_space}; got {block.shape}"
            )
        rows = _Rows(self.model, self._live)
        legal = self._reader.from_array(block.reshape(-1, shape[2]), rows)  # type: ignore[arg-type]  # full rows ask for nothing else
        return legal.reshape(shape)

    def _index(self, copy: int) -> int:
        self._require_open()
        index = operator.index(copy)
        if isinstance(copy, bool) or not 0 <= index < self._copies:
            raise IndexError(f"copy {copy!r}: there are {self._copies} copies, 0 to {self._copies - 1}")
        return index

    def _require_open(self) -> None:
        if self._closed:
            raise SeerError(f"the copies of {self.model.name} are closed: make new ones")

    def _require_episodes(self) -> None:
        self._require_open()
        if not self._started.all():
            waiting = np.flatnonzero(~self._started).tolist()
            raise ResetNeeded(f"copies {waiting} have not been reset: call reset_arrays() first")

    def __getstate__(self) -> dict:
        raise SeerError(
            "copies cannot be copied or pickled: make new ones, and reset them with the same seed"
        )


class _Rows:
    """Who is live in all copies, as `ActionReader` asks: copies behind each other."""

    def __init__(self, model: EventModel, live: np.ndarray):
        self._model, self.live = model, live.reshape(-1)

    @property
    def names(self) -> list[str]:
        """A name for every row; for messages."""
        agents, names = self._model.n_agents, self._model.agent_names
        return [f"copy {row // agents}, {names[row % agents]}" for row in range(len(self.live))]


def _generator(earlier: np.random.Generator | None, seed: int | None) -> np.random.Generator:
    """The generator of a copy's seeds: a new one, or one that goes on where the earlier one stands."""
    if seed is not None or earlier is None:
        return seeding.np_random(seed)[0]
    generator = np.random.Generator(np.random.PCG64(0))
    generator.bit_generator.state = earlier.bit_generator.state
    return generator
