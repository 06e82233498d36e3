"""`from_arrays`: a world whose step is one function over all rows, such as a numba loop of your own.

    import numpy as np
    from gymnasium import spaces

    import seer_env

    def start(state, rng):
        state["x"] = rng.random(len(state))

    def step(state, actions, rng):
        state["x"] += 0.1 * actions[:, 0]               # changes `state` in place

    def observe(me, obs, info, sim):
        obs[0] = me.x

    model = seer_env.from_arrays(
        step, start=start, observe=observe, n_agents=500, entity=np.dtype([("x", "f8")]),
        observation_space=spaces.Box(-np.inf, np.inf, (1,)), action_space=spaces.Box(-1.0, 1.0, (1,)),
    )
    env = seer_env.make(model, threads=2)

What it gets: `observe`, `reward` and `terminated` are compiled and shared by all threads, with `sim.nearest`
and the other queries; copies, `make_vec`, boundary files, atomic steps, and the same bytes on every number
of threads. What it does not: the function itself runs on one thread, unless it brings its own, and copies'
one after the other. What should be shared moves to events, piece by piece: see `docs/arrays.md`.

`array_step` is the one place where entities are not told apart, so the event-locality contract does not
hold there, but something simpler: nothing else runs meanwhile. It is all that happens in a step before its
first event, which then finds the rows as it left them; `sim.view` shows them as of the last boundary still.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any

import numpy as np
from gymnasium import spaces

from seer_env.errors import ModelError
from seer_env.model import EventModel

__all__ = ["ArrayModel", "from_arrays"]


#: What else of `EventModel` a model without events may declare, and hand to its `__init__`.
DECLARED = ("name", "agent_prefix", "dt", "public", "grid", "info")
FUNCTIONS = ("reward", "terminated")
HANDED = ("params", "tables")

Start = Callable[[np.ndarray, np.random.Generator], None]
Step = Callable[[np.ndarray, np.ndarray, np.random.Generator], None]


class ArrayModel(EventModel):
    """What `from_arrays` makes: a model without events.

    Args:
        start: fills the rows, `start(state, rng)`.
        declared: attributes by name.
        sizes: as `EventModel`'s.
    """

    class Kind(IntEnum):
        """There are none."""

    def __init__(self, start: Start, declared: Mapping[str, Any], **sizes: Any):
        self._start = start
        for name, value in declared.items():
            setattr(self, name, value)
        super().__init__(**sizes)

    def reset(self, state, schedule, rng):
        """Fill the rows; there is nothing to schedule."""
        self._start(state, rng)


def from_arrays(
    step: Step,
    *,
    start: Start,
    observe: Callable,
    entity: np.dtype,
    observation_space: spaces.Box,
    action_space: spaces.Space,
    n_agents: int,
    n_entities: int | None = None,
    **declared: Any,
) -> ArrayModel:
    """A model without events, of a function that changes all rows at once.

    Args:
        step: `step(state, actions, rng)`. `state`: structured `[n_entities]` of `entity`, to be changed in
            place. `actions`: float64 `[n_agents, A]`, zeros where an agent is not live. `rng`: seeded by
            episode and step. It must depend on these alone, as a step that fails is undone and may be run
            again: buffers of its own may hold nothing from step to step. Python, numpy or numba.
        start: `start(state, rng)` fills the rows, which are zeros, for an episode.
        observe: as `EventModel`'s, a plain function `(me, obs, info, sim)` for one agent.
        entity, observation_space, action_space, n_agents: as `EventModel`'s.
        n_entities: rows, the agents' first; `n_agents` if None.
        declared: `reward`, `terminated`, `name`, `agent_prefix`, `dt`, `public`, `grid`, `info`, `params` and
            `tables`, as `EventModel`'s.

    Raises:
        ModelError: the declaration cannot work.
        TypeError: an argument that there is not.
    """
    functions = {"array_step": step, "observe": observe}
    _check_names(declared)
    _check_functions({"start": start, **functions, **declared})
    declared |= {"entity": entity, "observation_space": observation_space, "action_space": action_space}
    handed = {name: declared.pop(name) for name in HANDED if name in declared}
    size = n_agents if n_entities is None else n_entities
    model = ArrayModel(start, declared | functions, n_entities=size, n_agents=n_agents, **handed)
    model.validate()
    return model


def _check_names(declared: Mapping[str, Any]) -> None:
    foreign = sorted(set(declared) - {*DECLARED, *FUNCTIONS, *HANDED})
    if foreign:
        raise TypeError(f"from_arrays takes no {foreign}: what has events is a subclass of EventModel")


def _check_functions(given: Mapping[str, Any]) -> None:
    for name in sorted(given.keys() & {"array_step", "start", "observe", *FUNCTIONS}):
        function = given[name]
        if not callable(function) or isinstance(function, staticmethod):
            raise ModelError(f"{name.removeprefix('array_')} must be a plain function, got {function!r}")
