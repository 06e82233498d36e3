"""Copies of spaces that sample on their own."""

from __future__ import annotations

import copy

from gymnasium import spaces

__all__ = ["space_like"]


def space_like(space: spaces.Space) -> spaces.Space:
    """An equal space with a generator of its own, not yet seeded; the bounds are shared.

    A model's spaces belong to its class: if envs handed those out, one env's sampling would move
    the other's.
    """
    twin = copy.copy(space)
    twin._np_random = None  # type: ignore[assignment]  # None until first used, as in a new space
    return twin
