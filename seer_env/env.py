"""`SeerParallelEnv`: an `EventModel` as a PettingZoo `ParallelEnv`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from gymnasium import logger, spaces
from pettingzoo import ParallelEnv

from seer_env.episode import EnvStepStats, Episode, Policy, StepArrays
from seer_env.global_state import GLOBAL_STATES
from seer_env.html import env_html
from seer_env.infos import InfoDicts
from seer_env.model import EventModel
from seer_env.registration import make
from seer_env.spaces import space_like
from seer_env.viewer import Viewer

__all__ = ["EnvStepStats", "Policy", "SeerParallelEnv", "StepArrays", "make"]


class SeerParallelEnv(Episode, ParallelEnv):
    """One world with many agents.

    A step is atomic: if it raises, for whatever reason, the env is at the boundary before it. A
    finite continuous action outside its box is clipped to it.

    Args:
        model: the world.
        scheduler: `"auto"`, `"serial"`, `"seer"`, `"python"`, or a system to compare with
            (`runtime.engine.SCHEDULERS`); outputs do not depend on it.
        threads: a number, 1 for `serial` and `python`; or `"auto"`: chosen on the first reset, on what
            rehearsed steps take, refined on first steps, and chosen again where steps change. See
            `stpa_report`.
        max_cycles: steps after which the live agents are truncated, or None.
        render_mode: `"rgb_array"`, `"human"`, or None.
        strict_actions: refuse a continuous action outside its box instead of clipping it.
        check: run every step under a second scheduler too, and raise `NondeterminismError` if they
            differ. Slow: for tests.
        event_capacity: most events that one step may emit, a guard against emission without end.
        global_state: what `state()` gives a centralised critic: `"pooled"` (mean, smallest, largest of the
            observations: its size does not grow with the agents) or `"full"` (all observations).
        preflight_ms: wall milliseconds that choosing threads may take on the first reset; two steps, where
            one step is longer. 0 leaves it to the first steps.
        affinity: CPU numbers, one per thread or more: worker `w` runs on `affinity[w]`, and `threads="auto"`
            chooses no more threads than there are. None leaves all threads where the system puts them. Worker
            0 is the calling thread and pinned during resets and steps only; the others are the process's pool
            and pinned until `close`, so all open envs with several threads must agree. Linux with numba's
            OpenMP layer only; results do not depend on it. A copy or pickle of the env has none.

    Raises:
        ModelError: the model's declaration cannot work, or it has no agent.
        ValueError: an argument out of its range.
        SeerError: `affinity` is not possible here, or an open env has another one.

    Attributes:
        possible_agents: all agents' names, the model's `agent_names`.
        agents: the live agents' names, in row order; empty before `reset` and at the end.
        state_space: the `Box` of `state()`.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "seer_env",
        "render_modes": ["human", "rgb_array"],
        "is_parallelizable": True,
        "render_fps": 10,
    }

    def __init__(
        self,
        model: EventModel,
        *,
        scheduler: str = "auto",
        threads: int | str = "auto",
        max_cycles: int | None = None,
        render_mode: str | None = None,
        strict_actions: bool = False,
        check: bool = False,
        event_capacity: int | None = None,
        global_state: str = "pooled",
        preflight_ms: float = 200.0,
        affinity: Sequence[int] | None = None,
    ):
        if global_state not in list(GLOBAL_STATES):
            raise ValueError(f"global_state must be one of {list(GLOBAL_STATES)}, got {global_state!r}")
        self.metadata = self._metadata(model)  # type: ignore[misc]  # name and modes are the model's
        self.render_mode = self._checked_render_mode(model, render_mode)
        super().__init__(
            model,
            scheduler,
            threads,
            max_cycles,
            strict_actions,
            check,
            event_capacity,
            preflight_ms,
            affinity,
        )
        self._observation_space = space_like(model.observation_space)
        self._action_spaces: dict[str, spaces.Space] = {}
        self._global_state = GLOBAL_STATES[global_state](model.observation_space, model.n_agents)
        self.state_space: spaces.Space = self._global_state.space
        self._infos = InfoDicts(model.info)
        self._viewer: Viewer | None = None

    # -- PettingZoo ------------------------------------------------------------------------------

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, dict[str, Any]]]:
        """Start an episode; returns observations and infos by agent.

        Args:
            seed: seeds this and, through the env's generator, all later episodes. None goes on with
                the generator; before any seed, it is seeded by the operating system.
            options: ignored, no world has any.

        Raises:
            ModelError: `model.reset` scheduled an impossible event; the env has not changed.
        """
        self._begin(seed)
        return self._observation_dict(), self._info_dict()

    def step(
        self, actions: Mapping[str, Any]
    ) -> tuple[
        dict[str, np.ndarray], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]
    ]:
        """Run one step window; returns observations, rewards, terminations, truncations and infos.

        All five are keyed by the agents that were live before the step, in row order. At the end of
        the episode they are empty, and nothing moves.

        Args:
            actions: an action for every live agent; those of dead agents are ignored.

        Raises:
            ActionError: an action is missing, for an unknown agent, wrongly shaped, not finite, or
                out of range; the message names agent, value and space.
            ContractBreach: a handler broke the event-locality contract.
            ResetNeeded: there was no `reset`.
        """
        start = perf_counter()
        self._require_episode()
        block = self._reader.from_dict(actions, self._roster)
        self._actions_s = perf_counter() - start
        if not self._roster.live_names:
            return {}, {}, {}, {}, {}
        truncated = self._advance(block)
        start = perf_counter()
        names, rows, outputs = self._shown.live_names, self._shown.rows, self._engine.outputs
        step = (
            self._observation_dict(),
            dict(zip(names, outputs.rewards[rows].tolist())),
            dict(zip(names, outputs.terminated[rows].tolist())),
            dict.fromkeys(names, truncated),
            self._info_dict(),
        )
        self._dicts_s = perf_counter() - start
        return step

    def observation_space(self, agent: str) -> spaces.Space:
        """The observation space of `agent`: one object for all, the same at every call."""
        self._row(agent)
        return self._observation_space

    def action_space(self, agent: str) -> spaces.Space:
        """The action space of `agent`: its own object, so its own seed, the same at every call."""
        space = self._action_spaces.get(agent)
        if space is None:
            self._row(agent)
            space = self._action_spaces[agent] = space_like(self.model.action_space)
        return space

    def state(self) -> np.ndarray:
        """The global state for a centralised critic, float32, inside `state_space`.

        Pooled, `[3 * D + 1]`: mean, smallest and largest over the observations that the boundary shows
        (those of the agents that were live before the step that led to it), then the fraction of agents
        live now. Full, `[M * D]`: those observations in row order. So an episode's last state is that of
        its last boundary, as a critic needs at a truncation. `entities` is the world's own full state.
        """
        rows = self._shown.rows if self._shown.live_names else slice(0)
        live_fraction = len(self._roster.live_names) / len(self.possible_agents)
        return self._global_state(self._engine.outputs.observations, rows, live_fraction)

    def render(self, *unused: Any, **unused_too: Any) -> np.ndarray | None:
        """A picture of the boundary: uint8 `[H, W, 3]`, or None in `human` mode, which shows it.

        Arguments are ignored: the mode is the env's, though some libraries pass one.
        """
        self._require_episode()
        if self.render_mode is None:
            logger.warn(f'{self}: render() without a render_mode; make the env with render_mode="rgb_array"')
            return None
        frame = self.model.render_frame(self._engine.state, self._engine.clock)  # type: ignore[attr-defined]  # optional
        if self.render_mode == "rgb_array":
            return frame
        if self._viewer is None:
            self._viewer = Viewer(str(self))
        self._viewer.show(frame)
        return None

    def close(self) -> None:
        """Release the engine and the window. A closed env cannot be reset; closing again is allowed."""
        super().close()
        if self._viewer is not None:
            self._viewer.close()
            self._viewer = None

    # -- beyond PettingZoo -------------------------------------------------------------------------

    def load(self, path: str | os.PathLike) -> tuple[dict[str, np.ndarray], dict[str, dict[str, Any]]]:
        """Go on from a saved boundary; returns what it showed, as `reset` does.

        The episode's count of steps is the file's; `max_cycles` stays the env's.

        Raises:
            BoundaryFileError: the file is truncated, altered, foreign or of another model; the env has
                not changed.
        """
        self._load(path)
        return self._observation_dict(), self._info_dict()

    def __repr__(self) -> str:
        agents = f"{len(self._roster.live_names)} of {len(self.possible_agents)} agents live"
        workers = f"{self.scheduler} on {self.threads} thread{'s' * (self.threads > 1)}"
        moment = f"step {self.steps}, clock {self.clock:g}"
        return f"<{type(self).__name__} {self}: {self.status}, {agents}, {moment}, {workers}>"

    def _repr_html_(self) -> str:
        """For Jupyter: a table of facts, and the picture of the boundary where the world draws one."""
        return env_html(self)

    # -- inside ------------------------------------------------------------------------------------

    def _observation_dict(self) -> dict[str, np.ndarray]:
        # A copy, so that a user who normalises in place does not change `state` and `digest`.
        block = self._engine.outputs.observations
        rows = block.copy() if isinstance(self._shown.rows, slice) else block[self._shown.rows]
        return dict(zip(self._shown.live_names, rows))

    def _info_dict(self) -> dict[str, dict[str, Any]]:
        records, names = self._engine.outputs.info, self._shown.live_names
        shown = None if records is None else records[self._shown.rows]
        return dict(zip(names, self._infos(shown, len(names))))

    def _row(self, agent: str) -> int:
        try:
            return self._roster.index[agent]
        except KeyError:
            raise KeyError(f"{agent!r} is no agent of {self}: see possible_agents") from None

    def _metadata(self, model: EventModel) -> dict[str, Any]:
        modes = list(type(self).metadata["render_modes"]) if hasattr(model, "render_frame") else []
        return {**type(self).metadata, "name": model.name, "render_modes": modes}

    def _checked_render_mode(self, model: EventModel, mode: str | None) -> str | None:
        modes = self.metadata["render_modes"]
        if mode is not None and mode not in modes:
            if not modes:
                raise ValueError(
                    f"{type(model).__name__} has no render_frame, so it draws no pictures: render_mode must "
                    f"be None, got {mode!r}"
                )
            raise ValueError(f"render_mode must be one of {modes}, got {mode!r}")
        return mode

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_viewer": None}
