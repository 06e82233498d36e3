"""From what a policy hands over to the float64 `[M, A]` block of the engine, with every check.

Checks run on the whole block, in one compiled pass. Only when one fails is the agent looked for that
it concerns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from seer_env.checks import flag
from seer_env.errors import SeerError
from seer_env.legal_actions import CLIP, PLAIN, STRICT, WHOLE, legalise

if TYPE_CHECKING:
    from seer_env.model import EventModel
    from seer_env.roster import Roster

__all__ = ["ActionError", "ActionReader", "as_block"]

#: `dtype.kind` of what counts as a number: floats, integers, bools.
NUMBERS = "fiub"


class ActionError(SeerError, ValueError):
    """An action that cannot be taken; it names the agent, the value and the space. Nothing changed."""


class ActionReader:
    """Reads the actions of one world.

    A finite continuous action outside its `Box` is clipped to it, or refused if `strict`.

    Args:
        model: gives the action space and the number of agents.
        strict: refuse a continuous action outside its box.
        copies: worlds of that many agents each, whose rows follow one another.
    """

    def __init__(self, model: EventModel, strict: bool = False, copies: int = 1):
        self.space = model.action_space
        self.strict = flag("strict_actions", strict)
        self._agents, self._size = copies * model.n_agents, model.action_size
        self._shape = self.space.shape or ()
        # AgileRL squeezes actions, so that those of one number lose their dimension.
        self._shapes = {self._shape, ()} if self._shape == (1,) else {self._shape}
        self._continuous = isinstance(self.space, spaces.Box)
        self._low, self._high = _bounds(self.space)
        bounded = bool(np.isfinite(self._low).any() or np.isfinite(self._high).any())
        if not self._continuous:
            self._rule = WHOLE
        else:
            self._rule = PLAIN if not bounded else STRICT if strict else CLIP

    def from_dict(self, actions: Mapping[str, Any], roster: Roster) -> np.ndarray:
        """Actions by agent as float64 `[M, A]`, zeros where an agent is not live.

        Args:
            actions: an action for every live agent; those of agents not live are ignored. In a space of
                shape `(1,)` the bare number will do.
            roster: who is live.

        Raises:
            ActionError: an unknown agent, or a live agent's action is missing, not a number, wrongly
                shaped, not finite, or out of range.
        """
        if not isinstance(actions, Mapping):
            raise ActionError(f"actions must be a dict from agent to action, got {type(actions).__name__}")
        names = roster.live_names
        if len(actions) == len(names) and list(actions) == names:
            values = list(actions.values())
        else:
            values = self._ordered(actions, roster)
        return self._legal(self._stacked(values, names), roster)

    def from_array(self, actions: np.ndarray, roster: Roster) -> np.ndarray:
        """Actions as an array as float64 `[M, A]`, zeros where an agent is not live.

        Args:
            actions: numbers `[M, A]`, or `[M]` where `A` is 1; rows of agents not live are ignored.
            roster: who is live.

        Raises:
            ActionError: the array is wrongly shaped, or a live agent's row not finite or out of range.
        """
        block, shape = as_block(actions, self.space), (self._agents, self._size)
        if block.shape != shape and not (self._size == 1 and block.shape == shape[:1]):
            raise ActionError(f"actions must have shape {shape} for {self.space}, got {block.shape}")
        if block.dtype.kind not in NUMBERS:
            raise ActionError(f"actions must be numbers for {self.space}, got dtype {block.dtype}")
        return self._legal(block.reshape(shape), roster)

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        """Random legal actions, float64 `[M, A]`: uniform, or normal where a `Box` has no bounds."""
        shape = (self._agents, self._size)
        low, high = np.broadcast_to(self._low, shape), np.broadcast_to(self._high, shape)
        if not self._continuous:
            return rng.integers(low.astype(np.int64), high.astype(np.int64), endpoint=True).astype(np.float64)
        closed = np.isfinite(low) & np.isfinite(high)
        uniform = rng.uniform(np.where(closed, low, 0.0), np.where(closed, high, 1.0))
        return np.where(closed, uniform, np.clip(rng.standard_normal(shape), low, high))

    def sample_legal(self, rng: np.random.Generator, info: np.ndarray | None) -> np.ndarray:
        """Random actions, float64 `[M, A]`, of those that the infos' masks allow where there are any.

        Args:
            rng: draws them.
            info: the infos of the boundary, structured `[M]` or, for copies, `[B, M]`; or None.
        """
        if info is None or "action_mask" not in (info.dtype.names or ()):
            return self.sample(rng)
        return self.sample_masked(rng, info["action_mask"].reshape(self._agents, -1))

    def sample_masked(self, rng: np.random.Generator, masks: np.ndarray) -> np.ndarray:
        """Random actions of a `Discrete` space, uniform over those that `masks` allow, float64 `[M, 1]`.

        Args:
            rng: draws one number per agent.
            masks: int8 `[M, n]`, 1 where an action is legal; a row of zeros gets the first action.
        """
        allowed = np.cumsum(masks != 0, axis=1)
        chosen = np.floor(rng.random((self._agents, 1)) * allowed[:, -1:])
        return np.argmax(allowed > chosen, axis=1)[:, None] + np.broadcast_to(self._low, (self._agents, 1))

    def _ordered(self, actions: Mapping[str, Any], roster: Roster) -> list:
        for name in actions:
            if name not in roster.index:
                raise ActionError(
                    f"action {actions[name]!r} for unknown agent {name!r}: agents are "
                    f"{roster.names[0]!r} to {roster.names[-1]!r}, each with the space {self.space}"
                )
        try:
            return [actions[name] for name in roster.live_names]
        except KeyError as missing:
            raise ActionError(
                f"no action for the live agent {missing.args[0]!r}: its space is {self.space}"
            ) from None

    def _stacked(self, values: list, names: Sequence[str]) -> np.ndarray:
        try:
            block = np.array(values)
        except Exception:  # whatever an `__array__` raises does not know the agent; `_one` does
            block = np.empty(0)
        fits = len(block) == len(values) and block.shape[1:] in self._shapes
        if not fits or block.dtype.kind not in NUMBERS:
            block = np.array([self._one(name, value) for name, value in zip(names, values)])
        return block.reshape(len(values), self._size)

    def _one(self, name: str, value: Any) -> np.ndarray:
        try:
            array = np.asarray(value)
        except Exception as error:  # torch's `__array__` raises RuntimeError
            raise self._error(name, value, f"is not an array ({error})") from error
        if array.dtype.kind not in NUMBERS:
            raise self._error(name, value, "is not a number")
        if array.shape not in self._shapes:
            raise self._error(name, value, f"has shape {array.shape}, not {self._shape}")
        return array.astype(np.float64).reshape(self._shape)

    def _legal(self, block: np.ndarray, roster: Roster) -> np.ndarray:
        """A fresh float64 `[M, A]` of a block with a row per agent or per live agent."""
        if block.dtype not in (np.float32, np.float64) or not block.flags.c_contiguous:
            block = np.ascontiguousarray(block, np.float64)
        legal = np.empty((self._agents, self._size))
        row = legalise(block, roster.live, self._low, self._high, self._rule, legal)
        if row >= 0:
            raise self._first_error(block, row, roster)
        return legal

    def _first_error(self, block: np.ndarray, row: int, roster: Roster) -> ActionError:
        names = roster.names if len(block) == self._agents else roster.live_names
        values = block[row].tolist()
        if not self._continuous:
            why = "is not a whole number in range"
        elif not np.isfinite(block[row]).all():
            why = "is not finite"
        else:
            why = "is outside its box (strict_actions is on)"
        return self._error(names[row], values if self._shape else values[0], why)

    def _error(self, name: str, value: Any, why: str) -> ActionError:
        return ActionError(f"action of {name!r} is {value!r}, which {why}: its space is {self.space}")


def as_block(actions: Any, space: spaces.Space) -> np.ndarray:
    """`actions` as an array.

    Raises:
        ActionError: they are none; says why.
    """
    try:
        return np.asarray(actions)
    except Exception as error:  # torch's `__array__` raises RuntimeError
        raise ActionError(f"actions must be an array of numbers for {space}: {error}") from error


def _bounds(space: spaces.Space) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest value of each number of an action, float64 `[A]` each."""
    if isinstance(space, spaces.Box):
        return space.low.astype(np.float64), space.high.astype(np.float64)
    if isinstance(space, spaces.MultiDiscrete):
        low = np.asarray(space.start, np.float64)
        return low, low + space.nvec - 1
    assert isinstance(space, spaces.Discrete), "EventModel.validate admits no other space"
    low = np.array([space.start], np.float64)
    return low, low + float(space.n) - 1
