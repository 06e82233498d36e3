"""One agent of a world as a gymnasium `Env`: a policy plays the others."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded

from seer_env.actions import ActionError, as_block
from seer_env.env import SeerParallelEnv
from seer_env.episode import Policy
from seer_env.infos import InfoDicts
from seer_env.model import EventModel
from seer_env.registration import make

__all__ = ["SingleAgentEnv"]

#: As many names as an error message lists.
LISTED = 20


class SingleAgentEnv(gymnasium.Env):
    """The world as one of its agents meets it.

    An episode is the agent's: it ends as soon as the agent's does, also where others would go on. It is
    byte for byte what the `ParallelEnv` does with the same seed, if it is given the same actions.

    `gymnasium.make("seer_env/pcs_v0", agent="station_7", others="threshold")` comes here too.

    Args:
        world: as `seer_env.make`'s; or a `SeerParallelEnv`, which this env then steps and closes.
        agent: its name; the first if None.
        others: a name in the world's `policies`, or a callable `policy(env)` that gives numbers `[M, A]` for
            the `SeerParallelEnv`'s current boundary; rows of this agent and of agents not live are ignored.
        arguments: as `seer_env.make`'s.

    Raises:
        ValueError: no such agent or policy; others as `seer_env.make`.
        TypeError: arguments beside an env, or a policy that is neither a name nor callable.

    Attributes:
        world: the `SeerParallelEnv`.
        agent: the agent's name.
    """

    metadata = SeerParallelEnv.metadata

    def __init__(
        self,
        world: str | EventModel | SeerParallelEnv,
        *,
        agent: str | None = None,
        others: str | Policy = "random",
        **arguments: Any,
    ):
        if isinstance(world, SeerParallelEnv) and arguments:
            raise TypeError(f"{world!r} is an env already, so it takes no {sorted(arguments)}")
        self.world = world if isinstance(world, SeerParallelEnv) else make(world, **arguments)
        self.agent, self._row = _agent(self.world.possible_agents, agent)
        self._others_name, self._others = _policy(self.world.policies, others)
        self.metadata, self.render_mode = self.world.metadata, self.world.render_mode
        self.observation_space = self.world.observation_space(self.agent)
        self.action_space = self.world.action_space(self.agent)
        self._infos = InfoDicts(self.world.model.info)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode; returns the agent's observation and infos.

        Args:
            seed: of this and, through the env's generator, all later episodes; None goes on with it.
            options: ignored, no world has any.
        """
        self.world.reset_arrays(seed)
        # gymnasium keeps the generator under this name.
        self._np_random = self.world.np_random
        if seed is not None:
            self._np_random_seed = seed
        self._draw()
        return self._seen()

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Run one step window; returns observation, reward, terminated, truncated and infos.

        Raises:
            ActionError: the agent's action, or the policy's for another agent, is wrongly shaped, not finite,
                or out of range.
            ContractBreach: a handler broke the event-locality contract.
            ResetNeeded: there was no `reset`, or the agent's episode has ended.
        """
        if not self.world.live[self._row]:
            raise ResetNeeded(f"{self.agent!r} of {self.world} is not live: call reset() first")
        step = self.world.step_arrays(self._actions(action))
        row = self._row
        self._draw()
        observation, info = self._seen()
        return (
            observation,
            float(step.rewards[row]),
            bool(step.terminated[row]),
            bool(step.truncated[row]),
            info,
        )

    def render(self) -> np.ndarray | None:  # type: ignore[override]  # no list of frames
        """A picture of the boundary, as `SeerParallelEnv.render`; `human` mode shows every step by itself."""
        return self.world.render()

    def close(self) -> None:
        """Close the world; closing again is allowed."""
        self.world.close()

    def __str__(self) -> str:
        return f"<{type(self).__name__} {self.agent} of {self.world}, others by {self._others_name}>"

    def _repr_html_(self) -> str:
        """For Jupyter: who is who, and the world's table and picture."""
        return f"<p>{escape(str(self))}</p>{self.world._repr_html_()}"

    def _actions(self, action: Any) -> np.ndarray:
        """A row per agent: the policy's, but for this agent's own."""
        size, space = self.world.model.action_size, self.action_space
        own = as_block(action, space)
        if own.shape != (space.shape or ()):
            raise ActionError(
                f"action of {self.agent!r} must have shape {space.shape or ()}, got {own.shape}"
            )
        shape = (len(self.world.possible_agents), size)
        block = as_block(self._others(self.world), space)
        if block.shape != shape and not (size == 1 and block.shape == shape[:1]):
            raise ActionError(
                f"policy {self._others_name} must give an action for every agent, numbers of shape {shape}, "
                f"got shape {block.shape}"
            )
        block = np.array(block.reshape(shape))
        block[self._row] = own
        return block

    def _seen(self) -> tuple[np.ndarray, dict[str, Any]]:
        """What the boundary shows the agent."""
        row, records = self._row, self.world.info_arrays
        info = self._infos(None if records is None else records[row : row + 1], 1)[0]
        return self.world.observations[row].copy(), info

    def _draw(self) -> None:
        if self.render_mode == "human":
            self.world.render()


def _agent(names: list[str], agent: str | None) -> tuple[str, int]:
    """An agent's name and row."""
    if agent is None:
        return names[0], 0
    if agent not in names:
        listed = ", ".join(names[:LISTED]) + (f", ... {names[-1]}" if len(names) > LISTED else "")
        raise ValueError(f"agent {agent!r} is not in this world: there are {listed}")
    return agent, names.index(agent)


def _policy(known: dict[str, Policy], others: str | Policy) -> tuple[str, Callable]:
    """A policy's name and function."""
    if isinstance(others, str):
        if others not in known:
            raise ValueError(f"others={others!r} is no policy of this world: there are {sorted(known)}")
        return repr(others), known[others]
    if not callable(others):
        raise TypeError(f"others must be a policy's name or callable, got {others!r}")
    return getattr(others, "__name__", repr(others)), others
