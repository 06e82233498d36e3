"""A model's `array_step`: what changes all rows of a world at once, before the first event of a step.

It is called from Python, on one thread, where a step window begins: when it is stepped, rehearsed, and when
it is replayed because a later one failed. So it must be a function of its arguments alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from seer_env.errors import ModelError
from seer_env.runtime.rng import step_random

if TYPE_CHECKING:
    from seer_env.model import EventModel


def run_array_step(
    model: EventModel, state: np.ndarray, actions: np.ndarray, gamma: np.ndarray, step: int
) -> None:
    """Let the model's `array_step`, if it has one, change the rows of a world.

    Args:
        state: structured `[N]`.
        actions: float64 `[M, A]`; the function gets a copy.
        gamma: the increments of the entities' random streams, uint64 `[N]`, which tell episodes apart.
        step: number of the window.

    Raises:
        ModelError: it returned something: arrays that nobody would keep.
    """
    if model.array_step is None:
        return
    returned = model.array_step(state, actions.copy(), step_random(int(gamma[0]), step))
    if returned is not None:
        raise ModelError(
            f"array_step of {model!r} must change `state` in place and return None, got "
            f"{type(returned).__name__}"
        )
