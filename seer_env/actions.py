"""From what a policy hands over to the float64 `[M, A]` block of the engine, with every check.

Checks run on the whole block. Only when one fails is the agent looked for that it concerns, so a
legal step pays for a few numpy calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from seer_env.errors import SeerError

if TYPE_CHECKING:
    from seer_env.model import EventModel
    from seer_env.roster import Roster

__all__ = ["ActionError", "ActionReader"]

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
    """

    def __init__(self, model: EventModel, strict: bool = False):
        self.space = model.action_space
        self.strict = strict
        self._agents, self._size = model.n_agents, model.action_size
        self._shape = self.space.shape or ()
        self._continuous = isinstance(self.space, spaces.Box)
        low, high = _bounds(self.space)
        self._bounded = bool(np.isfinite(low).any() or np.isfinite(high).any())
        self._low, self._high = self._broadcastable(low), self._broadcastable(high)
        self._clipped = np.empty((self._agents, self._size))  # the engine reads it during a step only

    def _broadcastable(self, bound: np.ndarray) -> np.ndarray:
        """One bound for all, or a row per agent: numpy is slow at broadcasting short rows."""
        same = bool((bound == bound[0]).all()) if bound.size else True
        return bound[:1].reshape(1, 1) if same else np.tile(bound, (self._agents, 1))

    def from_dict(self, actions: Mapping[str, Any], roster: Roster) -> np.ndarray:
        """Actions by agent as float64 `[M, A]`, zeros where an agent is not live.

        Args:
            actions: an action for every live agent; those of agents not live are ignored.
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
        return self._placed(self._legal(self._stacked(values, names), names), roster)

    def from_array(self, actions: np.ndarray, roster: Roster) -> np.ndarray:
        """Actions as an array as float64 `[M, A]`, zeros where an agent is not live.

        Args:
            actions: numbers `[M, A]`, or `[M]` where `A` is 1; rows of agents not live are ignored.
            roster: who is live.

        Raises:
            ActionError: the array is wrongly shaped, or a live agent's row not finite or out of range.
        """
        block = np.asarray(actions)
        shape = (self._agents, self._size)
        if block.shape != shape and not (self._size == 1 and block.shape == shape[:1]):
            raise ActionError(f"actions must have shape {shape} for {self.space}, got {block.shape}")
        if block.dtype.kind not in NUMBERS:
            raise ActionError(f"actions must be numbers for {self.space}, got dtype {block.dtype}")
        block = np.ascontiguousarray(block, np.float64).reshape(shape)
        return self._placed(self._legal(block[roster.rows], roster.live_names), roster)

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        """Random legal actions, float64 `[M, A]`: uniform, or normal where a `Box` has no bounds."""
        shape = (self._agents, self._size)
        low, high = np.broadcast_to(self._low, shape), np.broadcast_to(self._high, shape)
        if not self._continuous:
            return rng.integers(low.astype(np.int64), high.astype(np.int64), endpoint=True).astype(np.float64)
        closed = np.isfinite(low) & np.isfinite(high)
        uniform = rng.uniform(np.where(closed, low, 0.0), np.where(closed, high, 1.0))
        return np.where(closed, uniform, np.clip(rng.standard_normal(shape), low, high))

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
        except (ValueError, TypeError):  # numpy's message does not know the agent; _one's does
            block = np.empty(0)
        if block.shape != (len(values), *self._shape) or block.dtype.kind not in NUMBERS:
            block = np.array([self._one(name, value) for name, value in zip(names, values)])
        return block.astype(np.float64, copy=False).reshape(len(values), self._size)

    def _one(self, name: str, value: Any) -> np.ndarray:
        try:
            array = np.asarray(value)
        except (ValueError, TypeError) as error:
            raise self._error(name, value, f"is not an array ({error})") from None
        if array.dtype.kind not in NUMBERS:
            raise self._error(name, value, "is not a number")
        if array.shape != self._shape:
            raise self._error(name, value, f"has shape {array.shape}, not {self._shape}")
        return array.astype(np.float64)

    def _legal(self, block: np.ndarray, names: Sequence[str]) -> np.ndarray:
        """`block`, a row per name, checked and clipped."""
        if not self._continuous:
            low, high = self._bounds_of(block)
            whole = (block >= low) & (block <= high) & (block == np.rint(block))
            if not whole.all():
                raise self._first_error(block, whole, names, "is not a whole number in range")
            return block
        finite = np.isfinite(block)
        if not finite.all():
            raise self._first_error(block, finite, names, "is not finite")
        if not self._bounded:
            return block
        low, high = self._bounds_of(block)
        clipped = np.maximum(block, low, out=self._clipped[: len(block)])
        np.minimum(clipped, high, out=clipped)
        if self.strict:
            inside = clipped == block
            if not inside.all():
                raise self._first_error(block, inside, names, "is outside its box (strict_actions is on)")
        return clipped

    def _bounds_of(self, block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._low[: len(block)], self._high[: len(block)]

    def _placed(self, block: np.ndarray, roster: Roster) -> np.ndarray:
        if isinstance(roster.rows, slice):
            return block
        placed = np.zeros((self._agents, self._size))
        placed[roster.rows] = block
        return placed

    def _first_error(
        self, block: np.ndarray, good: np.ndarray, names: Sequence[str], why: str
    ) -> ActionError:
        row = int(np.argmin(good.all(axis=1)))
        values = block[row].tolist()
        return self._error(names[row], values if self._shape else values[0], why)

    def _error(self, name: str, value: Any, why: str) -> ActionError:
        return ActionError(f"action of {name!r} is {value!r}, which {why}: its space is {self.space}")


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
