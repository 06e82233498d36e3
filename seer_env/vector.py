"""Agents as the rows of a gymnasium `VectorEnv`: one policy acts for all agents of one or many worlds.

    envs = seer_env.make_vec("flock_v0", n_agents=500, copies=8)
    observations, infos = envs.reset(seed=1)                                 # [4000, 18]
    observations, rewards, terminations, truncations, infos = envs.step(envs.action_space.sample())

Row `c * M + a` is agent `a` of world `c`, of `M` agents each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from seer_env.actions import ActionError, as_block
from seer_env.copies import Copies
from seer_env.episode import checked_seed
from seer_env.errors import ModelError
from seer_env.model import EventModel
from seer_env.registration import assemble
from seer_env.spaces import space_like

__all__ = ["SeerVectorEnv", "make_vec"]

#: Keys of `infos` that are the env's own.
RESERVED = frozenset({"live", "final_obs", "final_info"})


class SeerVectorEnv(VectorEnv):
    """All agents of all worlds of some `Copies`, in rows.

    Agents of one world share its clock, so a world is reset as a whole. An agent's episode may end before
    its world's. Its row is `terminated` once, then waits: it shows zeros (or what is nearest to them in the
    observation space), has no infos and no reward, and is neither terminated nor truncated; its actions are
    ignored. `infos["live"]`, bool `[rows]`, says whose next action counts. So a transition is real where
    `live` was true before it; the others belong into no batch.

    A world ends when its last agent has. Then, as in gymnasium's own vector envs:
        NEXT_STEP: the next step resets it, ignores its rows' actions, and gives no reward.
        SAME_STEP: it is reset in the same step. `infos["final_obs"]` and `infos["final_info"]` hold what
            rows showed in the step in which they ended, whether their world did or not.
        DISABLED: `reset(options={"reset_mask": envs.ended})` resets it; stepping it is an error.

    Infos are arrays by field of `model.info`, each with a mask `_<field>` of the rows that show it.
    Observations and rewards are new arrays at every step. `digest` and the worlds read those of the last
    one: copy them before changing them in place.

    If it raises, a step has changed nothing; unless what raises is a world's reset, which is tried again
    in the next step.

    Args:
        worlds: made without a reset; closed with the env.
        autoreset_mode: an `AutoresetMode`, or its value, such as `"SameStep"`.
        render_mode: `"rgb_array"`, or None.

    Raises:
        ModelError: a field of `model.info` has the name of a key of the env's own.
        ValueError: no such mode.

    Attributes:
        worlds: the `Copies`; `worlds.save`, `worlds.digest` and `worlds.entities` are theirs.
        num_envs: rows, `copies * M`.
        metadata: with `autoreset_mode`, as gymnasium's wrappers ask for it.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012  # as gymnasium's

    def __init__(
        self,
        worlds: Copies,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ):
        model = self.model = worlds.model
        self.worlds, self._shape = worlds, (len(worlds), model.n_agents)
        self.num_envs = len(worlds) * model.n_agents
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        modes = ["rgb_array"] if hasattr(model, "render_frame") else []
        if render_mode is not None and render_mode not in modes:
            raise ValueError(
                f"render_mode must be one of {[None, *modes]} for {model.name}, got {render_mode!r}"
            )
        self.render_mode = render_mode
        self.metadata = {
            **type(self).metadata,
            "name": model.name,
            "render_modes": modes,
            "autoreset_mode": self.autoreset_mode,
        }
        self._fields = _info_fields(model)
        self.single_observation_space = space_like(model.observation_space)
        self.single_action_space = space_like(model.action_space)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        low, high = model.observation_space.low, model.observation_space.high
        self._nothing = np.clip(np.zeros(low.shape, np.float32), low, high)
        self._shown: np.ndarray = np.zeros(self._shape, bool)
        self._seeds = [-1] * len(worlds)

    # -- gymnasium ---------------------------------------------------------------------------------

    def reset(  # type: ignore[override]  # a seed per world too, as gymnasium's own
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode in every world, or in some; returns observations `[rows, D]` and infos.

        Args:
            seed: world `c` is seeded with `seed + c`, or a seed per world; for this and later episodes. None
                goes on with each world's generator.
            options: `{"reset_mask": mask}` resets the worlds whose rows, all of them, are true in `mask`,
                bool `[rows]`; others stay, show what they did, and have no infos. Others are ignored.

        Raises:
            TypeError: the mask is no array of bools.
            ValueError: it has not a row per agent, no true row, or only some of a world's; or a seed is
                negative, or there is not one per world.
            ModelError: `model.reset` scheduled an impossible event; no world has changed.
        """
        chosen, seeds = self._chosen(options), self._world_seeds(seed)
        indices = np.flatnonzero(chosen).tolist()
        self.worlds.reset_copies(indices, [seeds[c] for c in indices])
        for c in indices:
            self._seeds[c] = self._seeds[c] if seeds[c] is None else int(seeds[c])  # type: ignore[arg-type]  # not None
        self._shown = self._shown | chosen[:, None]
        return self._observations(self._shown), self._infos(np.broadcast_to(chosen[:, None], self._shape))

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Step every world; those that are at their end are reset, or refused, by `autoreset_mode`.

        Args:
            actions: numbers `[rows, A]`, or `[rows]` where `A` is 1; of rows that are not live, ignored.

        Returns:
            Observations float32 `[rows, D]`, rewards float64 `[rows]`, terminated and truncated, both bool
            `[rows]`, and infos.

        Raises:
            ActionError: the array is wrongly shaped, or a live row not finite or out of range.
            ContractBreach: a handler broke the event-locality contract.
            ResetNeeded: there was no `reset`, or a world has ended under DISABLED.
        """
        acted = self.worlds.live
        due = ~np.logical_or.reduce(acted, axis=1)
        disabled = self.autoreset_mode is AutoresetMode.DISABLED
        if disabled and np.count_nonzero(due):
            raise ResetNeeded(
                f"worlds {np.flatnonzero(due).tolist()} have ended, or were never reset: call "
                'reset(options={"reset_mask": envs.ended}) first'
            )
        step, infos = self.worlds.step_arrays(self._block(actions)), {}
        shown = acted | due[:, None]
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            infos = self._final(acted & ~step.live)
            due = ~np.logical_or.reduce(step.live, axis=1)
            shown = step.live | due[:, None]
        if np.count_nonzero(due):
            self.worlds.reset_copies(np.flatnonzero(due).tolist())
        self._shown = shown
        infos.update(self._infos(shown))
        flat = (array.reshape(self.num_envs) for array in (step.rewards, step.terminated, step.truncated))
        return self._observations(shown), *flat, infos  # type: ignore[return-value]  # flat holds three

    def render(self) -> tuple[np.ndarray, ...] | None:
        """A picture per row, uint8 `[H, W, 3]`, one for all rows of a world; None without a mode."""
        if self.render_mode is None:
            return None
        agents, clocks = self.model.n_agents, self.worlds.steps * self.model.dt
        frames = [self.model.render_frame(rows, t) for rows, t in zip(self.worlds.entities, clocks.tolist())]  # type: ignore[attr-defined]  # optional
        return tuple(frame for frame in frames for _ in range(agents))

    def close_extras(self, **unused: Any) -> None:
        """Release the worlds; `close` calls it once."""
        self.worlds.close()

    @property  # type: ignore[misc]  # read only
    def np_random(self) -> tuple[np.random.Generator | None, ...]:  # type: ignore[override]  # one per world
        """Each world's generator, which draws its episodes' seeds; None before its first reset."""
        return self.worlds.np_random

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]  # one per world
        """What each world's generator was seeded with last; -1 if nobody did."""
        return tuple(self._seeds)

    def __repr__(self) -> str:
        worlds, agents = self._shape
        return (
            f"{type(self).__name__}({self.model.name}, num_envs={self.num_envs}: {worlds} x {agents} agents)"
        )

    def _repr_html_(self) -> str:
        """For Jupyter: the worlds' tables."""
        return self.worlds._repr_html_()

    # -- beyond gymnasium --------------------------------------------------------------------------

    @property
    def live(self) -> np.ndarray:
        """Whose next action counts, bool `[rows]`: `infos["live"]` of the last step or reset."""
        return self.worlds.live.reshape(self.num_envs)

    @property
    def ended(self) -> np.ndarray:
        """Rows of worlds without a live agent, bool `[rows]`: the `reset_mask` of DISABLED."""
        return np.repeat(~np.logical_or.reduce(self.worlds.live, axis=1), self.model.n_agents)

    # -- inside ------------------------------------------------------------------------------------

    def _block(self, actions: np.ndarray) -> np.ndarray:
        """Actions by world and agent."""
        block = as_block(actions, self.single_action_space)
        if block.shape[:1] != (self.num_envs,):
            raise ActionError(
                f"actions must have a row for each of {self.num_envs} agents, got {block.shape}"
            )
        return block.reshape(*self._shape, *block.shape[1:])

    def _chosen(self, options: dict[str, Any] | None) -> np.ndarray:
        """The worlds that a `reset_mask` asks for, bool `[B]`."""
        mask = (options or {}).get("reset_mask")
        if mask is None:
            return np.ones(len(self.worlds), bool)
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            raise TypeError(f"reset_mask must be a numpy array of bools, got {mask!r}")
        if mask.shape != (self.num_envs,) or not mask.any():
            raise ValueError(f"reset_mask must have shape ({self.num_envs},) and a true row, got {mask!r}")
        by_world = mask.reshape(self._shape)
        chosen = np.logical_and.reduce(by_world, axis=1)
        partly = by_world.any(axis=1) & ~chosen
        if partly.any():
            raise ValueError(
                f"reset_mask has some rows of worlds {np.flatnonzero(partly).tolist()}, not all: agents of "
                "one world are reset together; `envs.ended` is the mask of worlds in which nobody is live"
            )
        return chosen

    def _world_seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        worlds = range(len(self.worlds))
        if seed is None:
            return [None for _ in worlds]
        if isinstance(seed, (list, tuple, np.ndarray)):
            if len(seed) != len(worlds):
                raise ValueError(
                    f"seed must be one number, or one for each of {len(worlds)} worlds, got {seed!r}"
                )
            return list(seed)
        return [checked_seed(seed) + c for c in worlds]  # type: ignore[arg-type]  # no sequence

    def _observations(self, shown: np.ndarray) -> np.ndarray:
        """What the rows in `shown`, bool `[B, M]`, show; the others show nothing."""
        observations = self.worlds.observations
        if not shown.all():
            observations = np.where(shown[..., None], observations, self._nothing)
        return observations.reshape(self.num_envs, -1)

    def _infos(self, shown: np.ndarray) -> dict[str, Any]:
        """Infos of the rows in `shown`, bool `[B, M]`, and who is live."""
        everyone = np.ones(self.num_envs, bool)
        return {**self._masked(shown.reshape(self.num_envs)), "live": self.live, "_live": everyone}

    def _masked(self, rows: np.ndarray) -> dict[str, Any]:
        """`model.info` as arrays by field, with their masks; zeros where `rows`, bool `[rows]`, is false."""
        infos: dict[str, Any] = {}
        hidden = None if rows.all() else ~rows
        for name in self._fields:
            records: Any = self.worlds.info_arrays
            values = np.array(records[name]).reshape(self.num_envs, *records.dtype[name].shape)
            if hidden is not None:
                values[hidden] = 0
            infos[name], infos[f"_{name}"] = values, rows.copy()
        return infos

    def _final(self, ended: np.ndarray) -> dict[str, Any]:
        """What rows that ended in this step, bool `[B, M]`, showed in it; nothing if none did."""
        if not np.count_nonzero(ended):
            return {}
        rows = ended.reshape(self.num_envs)
        observations = np.full(self.num_envs, None, object)
        for row, last in zip(np.flatnonzero(rows), self.worlds.observations[ended]):
            observations[row] = last
        final = {"final_obs": observations, "final_info": self._masked(rows)}
        return {**final, "_final_obs": rows.copy(), "_final_info": rows.copy()}


def make_vec(
    world: str | EventModel,
    *,
    copies: int | None = None,
    num_envs: int | None = None,
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    render_mode: str | None = None,
    **arguments: Any,
) -> SeerVectorEnv:
    """Agents of one world, or of `copies` worlds, as the rows of a `VectorEnv`.

    `gymnasium.make_vec("seer_env/flock_v0", num_envs=4000, n_agents=500)` comes here too.

    Args:
        world, arguments: as `seer_env.make`'s.
        copies: how many worlds.
        num_envs: rows, a multiple of the world's agents; instead of `copies`, or beside it.
        autoreset_mode, render_mode: see `SeerVectorEnv`.

    Raises:
        ValueError: the number of rows does not fit the agents and copies; others as `seer_env.make`.
    """
    model, settings = assemble(world, arguments)
    if num_envs is not None:
        copies = _copies_for(model, num_envs, copies)
    worlds = Copies(model, 1 if copies is None else copies, **settings)
    return SeerVectorEnv(worlds, autoreset_mode=autoreset_mode, render_mode=render_mode)


def _copies_for(model: EventModel, num_envs: int, copies: int | None) -> int:
    worlds, rest = divmod(num_envs, max(1, model.n_agents))
    if rest or worlds < 1 or copies not in (None, worlds):
        raise ValueError(
            f"num_envs={num_envs} and copies={copies} do not fit {model.n_agents} agents per world: rows are "
            f"agents, so num_envs must be copies * {model.n_agents}; n_agents sets the agents of a world"
        )
    return worlds


def _info_fields(model: EventModel) -> tuple[str, ...]:
    fields = () if model.info is None else model.info.names or ()
    taken = RESERVED.intersection(fields)
    if taken:
        raise ModelError(
            f"{model!r}: infos of a VectorEnv have keys {sorted(taken)} of their own; rename the fields"
        )
    return fields
