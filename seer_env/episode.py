"""`Episode`: a world, its scheduler and its agents' episodes, as arrays. Knows no PettingZoo."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding

from seer_env.actions import ActionReader
from seer_env.checking import CrossCheck
from seer_env.checkpoint import Snapshot, load_snapshot, save_snapshot
from seer_env.checks import flag, whole
from seer_env.errors import ModelError, SeerError
from seer_env.html import stats_html
from seer_env.model import EventModel
from seer_env.roster import Roster
from seer_env.runtime.buffers import Buffers
from seer_env.runtime.engine import Engine, Outputs, make_engine
from seer_env.runtime.stats import StepStats
from seer_env.stpa.choosing import ChoosesThreads

__all__ = ["EnvStepStats", "Episode", "Policy", "StepArrays"]

#: Chooses every agent's action at the current boundary: `policy(env)` gives numbers `[M, A]`, of which
#: the rows of agents that are not live are ignored. It may read `observations`, `info_arrays`, `entities`
#: and `live`, and draw from `policy_random`.
Policy = Callable[["Episode"], np.ndarray]


class StepArrays(NamedTuple):
    """What a step returns without dicts; rows of agents not live before the step are zeros.

    The arrays are fresh at every step. `state` and `digest` read those of the last one: copy them
    before changing them in place.

    Attributes:
        observations: float32 `[M, D]`.
        rewards: float64 `[M]`.
        terminated, truncated: bool `[M]`.
        live: bool `[M]`, who is live after the step.
    """

    observations: np.ndarray
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    live: np.ndarray


@dataclass(frozen=True, kw_only=True, repr=False)
class EnvStepStats(StepStats):
    """Counts and wall times of the last step: the engine's, which `StepStats` explains, and the env's.

    Attributes:
        actions_s: seconds for reading and checking the actions.
        dicts_s: seconds for building the dicts; 0 after `step_arrays`.
    """

    actions_s: float
    dicts_s: float

    def facts(self) -> Iterator[tuple[str, str]]:
        """Lines of a table: `(what, figure)`."""
        yield from super().facts()
        yield "actions in", f"{1e3 * self.actions_s:,.3f} ms"
        yield "dicts out", f"{1e3 * self.dicts_s:,.3f} ms"

    def _repr_html_(self) -> str:
        """For Jupyter: a table of facts, and one of the workers."""
        return stats_html(self)


class Episode(ChoosesThreads):
    """One world with many agents; the arguments and errors are `SeerParallelEnv`'s."""

    possible_agents: list[str]
    agents: list[str]

    def __init__(
        self,
        model: EventModel,
        scheduler: str,
        threads: int | str,
        max_cycles: int | None,
        strict_actions: bool,
        check: bool,
        event_capacity: int | None,
        preflight_ms: float,
        affinity: Sequence[int] | None,
    ):
        model.validate()
        if model.n_agents < 1:
            raise ModelError(f"{model!r}: an env needs at least one agent; use runtime.engine without")
        self.model = model
        self.max_cycles = max_cycles
        self._check_steps, self._event_capacity = flag("check", check), event_capacity
        self._ask_threads(scheduler, threads, preflight_ms, affinity, check=self._check_steps)
        self.possible_agents = list(model.agent_names)
        self.agents = []
        self._roster = Roster(self.possible_agents, np.zeros(model.n_agents, bool))
        self._shown = self._roster
        self._reader = ActionReader(model, strict_actions)
        self._np_random: np.random.Generator | None = None
        self.policy_random = np.random.default_rng()
        self._started = self._closed = False
        self._actions_s = self._dicts_s = 0.0
        self._open()

    def _open(self) -> None:
        """Make what a copy neither shares nor carries."""
        self._engine: Engine = make_engine(self.model, *self._engine_workers(), self._event_capacity)
        self._attach_tuner()
        self._runner: Engine | CrossCheck = self._engine
        if self._check_steps:
            self._runner = CrossCheck(self.model, self._engine)

    def close(self) -> None:
        """Release the engine. What is closed cannot be reset; closing again is allowed."""
        if self._closed:
            return
        self._closed, self.agents = True, []
        self._roster = self._roster.empty()
        if isinstance(self._runner, CrossCheck):
            self._runner.close()
        self._engine.close()
        self._affinity.close()

    def __str__(self) -> str:
        return self.model.name

    # -- arrays ------------------------------------------------------------------------------------

    def reset_arrays(self, seed: int | None = None) -> np.ndarray:
        """`reset` without dicts; returns the observations, float32 `[M, D]`."""
        return self._begin(seed).observations

    def step_arrays(self, actions: np.ndarray) -> StepArrays:
        """`step` without dicts.

        Args:
            actions: numbers `[M, A]`, or `[M]` where `A` is 1; rows of agents not live are ignored.

        Raises:
            ActionError, ContractBreach, ResetNeeded: as `step`.
        """
        start = perf_counter()
        self._require_episode()
        block = self._reader.from_array(actions, self._roster)
        self._actions_s, self._dicts_s = perf_counter() - start, 0.0
        if not self._roster.live_names:
            outputs = self._engine.new_outputs(buffers=Buffers())  # another thread may have the engine
            nobody = np.zeros(len(self.possible_agents), bool)
            return StepArrays(*outputs[:3], nobody, nobody.copy())
        truncated = self._advance(block)
        outputs = self._engine.outputs
        cut = self._shown.live.copy() if truncated else np.zeros(len(self.possible_agents), bool)
        return StepArrays(*outputs[:3], cut, self._roster.live.copy())

    @property
    def observations(self) -> np.ndarray:
        """What the last boundary shows, float32 `[M, D]`; rows of agents not shown are zeros."""
        self._require_open()
        return self._engine.outputs.observations

    @property
    def entities(self) -> np.ndarray:
        """Every entity's row at the last boundary, structured `[N]`, read-only."""
        self._require_open()
        return self._engine.state

    @property
    def info_arrays(self) -> np.ndarray | None:
        """The infos of the last boundary, structured `[M]` of `model.info`, or None without any."""
        return self._engine.outputs.info

    @property
    def live(self) -> np.ndarray:
        """Who is live, bool `[M]`."""
        return self._roster.live.copy()

    # -- boundaries --------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike) -> None:
        """Write the current boundary to a file (an npz with a JSON header, no pickle).

        Raises:
            ResetNeeded: there was no `reset`.
        """
        self._require_episode()
        save_snapshot(path, self.model, self._snapshot())

    def digest(self) -> str:
        """Hex digest of clock, state, pending events in key order and last outputs.

        The same under every scheduler, thread count, process and PYTHONHASHSEED.
        """
        self._require_open()
        return self._engine.digest()

    def warmup(self) -> None:
        """Compile everything a step needs, and fill the cache; the episode is untouched."""
        from seer_env.runtime.entry import pool

        self._require_open()
        boundary, outputs = self._engine.capture(), self._engine.outputs
        everyone = self._roster.full()
        try:
            self._engine.reset(0)
            actions = self._reader.sample(np.random.default_rng(0))
            self._engine.step(self._reader.from_array(actions, everyone), everyone.live)
            if self.threads > 1:
                pool()  # whether or not this step was worth sharing
        finally:
            self._engine.restore(boundary, outputs)

    def _load(self, path: str | os.PathLike) -> None:
        self._require_open()
        self._restore(load_snapshot(path, self.model))

    # -- facts -------------------------------------------------------------------------------------

    @property
    def max_cycles(self) -> int | None:
        """Steps after which the live agents are truncated; may be set at any time."""
        return self._max_cycles

    @max_cycles.setter
    def max_cycles(self, value: int | None) -> None:
        self._max_cycles = checked_cycles(value)

    @property
    def status(self) -> str:
        """`new` before the first reset, `running`, `ended` when no agent is live, or `closed`."""
        if self._closed:
            return "closed"
        if not self._started:
            return "new"
        return "running" if self.agents else "ended"

    @property
    def steps(self) -> int:
        """Steps of the episode so far."""
        return self._engine.steps

    @property
    def clock(self) -> float:
        """Simulated time at the last boundary, in the model's time units since `reset`."""
        return self._engine.clock

    @property
    def last_step_stats(self) -> EnvStepStats:
        """Counts and times of the last step; they are put together when asked for."""
        stats = self._engine.stats
        return EnvStepStats(**vars(stats), actions_s=self._actions_s, dicts_s=self._dicts_s)

    @property
    def np_random(self) -> np.random.Generator:
        """The generator that draws the episodes' seeds."""
        if self._np_random is None:
            self._np_random, _ = seeding.np_random()
        return self._np_random

    @property
    def policies(self) -> dict[str, Policy]:
        """`random`, and the baselines in the model's `policies`; each is called with the env."""
        return {"random": _random_policy, **getattr(self.model, "policies", {})}

    # -- inside ---------------------------------------------------------------------------------

    def _begin(self, seed: int | None) -> Outputs:
        self._require_open()
        if seed is None:
            generator, before = self.np_random, self.np_random.bit_generator.state
        else:
            generator, _ = seeding.np_random(checked_seed(seed))
            before = generator.bit_generator.state
        try:
            episode_seed = int(generator.integers(1 << 63))
            with self._on_cpus():
                outputs = self._runner.reset(episode_seed)
        except BaseException:  # KeyboardInterrupt too: the next reset draws the same seed
            generator.bit_generator.state = before
            raise
        self._np_random = generator
        self.policy_random = np.random.default_rng((episode_seed, 1))
        self._started = True
        self._show(self._roster.full(), self._roster.full())
        if self._tuner is not None:
            self._tuner.after_reset(self._reader, self._roster.live, outputs.info)
        return outputs

    def _advance(self, block: np.ndarray) -> bool:
        """Step the engine and retire those whose episode ended; whether it was truncated."""
        before, steps = self._roster, self._engine.steps
        self._watch_steps()
        try:
            with self._on_cpus():
                self._runner.step(block, before.live)
            return self._follow(before)
        except BaseException:  # an interrupt behind the engine's step: the agents must follow it
            if self._engine.steps != steps:
                self._follow(before)
            raise

    def _follow(self, before: Roster) -> bool:
        """Retire those whose episode ended in the engine's last step; whether it was truncated."""
        terminated = self._engine.outputs.terminated
        truncated = self._max_cycles is not None and self._engine.steps >= self._max_cycles
        if truncated:
            after = before.empty()
        elif np.count_nonzero(terminated):
            after = before.without(terminated)
        else:
            after = before
        self._show(before, after)
        return truncated

    def _show(self, shown: Roster, live: Roster) -> None:
        if live is not self._roster:
            self.agents = list(live.live_names)
        self._shown, self._roster = shown, live

    def _require_open(self) -> None:
        if self._closed:
            raise SeerError(f"{self} is closed: make a new env")

    def _require_episode(self) -> None:
        self._require_open()
        if not self._started:
            raise ResetNeeded(f"{self}: call reset() first")

    # -- copies ------------------------------------------------------------------------------------

    def _snapshot(self) -> Snapshot:
        engine = self._engine
        generator = self.np_random.bit_generator.state
        live, shown = self._roster.live, self._shown.live
        return Snapshot(engine.capture(), engine.outputs, live, shown, dict(generator))

    def _restore(self, snapshot: Snapshot) -> None:
        generator = np.random.Generator(np.random.PCG64(0))
        generator.bit_generator.state = snapshot.np_random
        self._engine.restore(snapshot.boundary, snapshot.outputs)
        self._np_random, self._started = generator, True
        self._show(self._roster.of(snapshot.shown), self._roster.of(snapshot.live))

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        for name in ("_engine", "_runner", "_affinity"):
            del state[name]
        state["_cpus"] = None  # a copy may be on another machine
        state["_copied"] = None if self._closed else (self._engine.capture(), self._engine.outputs)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        copied = state.pop("_copied")
        self.__dict__.update(state)
        for table in self.model.tables.values():  # copies forget it
            table.flags.writeable = False
        self._open()
        if copied is not None:
            self._engine.restore(*copied)


def _random_policy(env: Episode) -> np.ndarray:
    return env._reader.sample_legal(env.policy_random, env.info_arrays)


def checked_cycles(value: int | None) -> int | None:
    """`max_cycles`, if it can be that; else a `ValueError`."""
    return None if value is None else whole("max_cycles", value, also="None", error=ValueError)


def checked_seed(value: int) -> int:
    """A seed, if it can be one; else a `ValueError`."""
    return whole("seed", value, 0, also="None", error=ValueError)
