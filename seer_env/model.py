"""What a user writes: an `EventModel`, its kinds of event and the handlers that apply them.

    from enum import IntEnum

    import numpy as np
    from gymnasium import spaces

    import seer_env
    from seer_env import EventModel, handles, output

    class Kind(IntEnum):
        MOVE = 0                                     # the action of an agent
        HELLO = 1

    class Greeters(EventModel):
        Kind = Kind
        entity = np.dtype([("x", "f8"), ("greetings", "i8")])
        lookahead = 0.5
        action_kind = Kind.MOVE
        action_space = spaces.Box(-1.0, 1.0, (1,))
        observation_space = spaces.Box(-np.inf, np.inf, (2,))

        def reset(self, state, schedule, rng):
            state["x"] = rng.random(self.n_entities)

        @handles(Kind.MOVE)
        def move(me, event, sim):
            me.x += event.payload[0]
            sim.emit((sim.me + 1) % sim.n_entities, 0.5, Kind.HELLO, me.x)

        @handles(Kind.HELLO)
        def hello(me, event, sim):
            me.greetings += 1

        @output
        def observe(me, obs, info, sim):
            obs[0] = me.x
            obs[1] = me.greetings

        @output
        def reward(me, info, sim):
            return me.greetings

    env = seer_env.make(Greeters(100))

Handlers and outputs are plain functions. They are compiled by numba, and run uncompiled under the
`python` scheduler, where breakpoints work.

What a handler may touch (the event-locality contract): its own entity's row `me`, the event (`time`,
`kind`, `target`, `payload`), and `sim`:

| word | meaning |
|---|---|
| `sim.me`, `sim.now` | index of the entity; time of the event, or of the boundary in outputs |
| `sim.n_entities`, `sim.n_agents` | sizes |
| `sim.params.<name>`, `sim.tables.<name>` | the model's constants |
| `sim.emit(target, delay, kind, *payload)` | send an event (handlers only) |
| `sim.random()`, `normal(mean, std)`, `exponential(mean)`, `integers(n)` | own stream (handlers only) |
| `sim.view(j)` | public fields of entity j at the last boundary |
| `sim.offset(j)` | displacement to j at that boundary, a tuple, by the shortest way round a torus |
| `sim.nearest(k, radius)` | `(count, ids)`: others within the radius, ids of the k nearest or -1 |
| `sim.within(radius)` | ids of the others within the radius, int64, valid until the next query |
| `sim.scratch` | 128 int64 to use within the call, undefined at its start and behind `nearest` |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, Protocol

import numpy as np
from gymnasium import spaces

from seer_env.checks import flag, number, whole
from seer_env.errors import ModelError

__all__ = ["EventModel", "Grid", "Schedule", "handles", "output"]


def handles(kind: IntEnum) -> Callable[[Callable], staticmethod]:
    """Mark a function `(me, event, sim)` of an `EventModel` as the handler of one kind of event."""

    def mark(function: Callable) -> staticmethod:
        function.handled_kind = kind  # type: ignore[attr-defined]  # functions carry attributes
        return staticmethod(function)

    return mark


#: Marks `observe`, `reward` and `terminated`: plain functions, so a `staticmethod`.
output = staticmethod


@dataclass(frozen=True)
class Grid:
    """A boundary index: a uniform cell grid over position fields, rebuilt at each boundary.

    Attributes:
        fields: names of one to three float64 scalar fields; all must be in `EventModel.public`.
        cell: edge of a cell, best the usual query radius.
        low, high: bounds per field. Without `wrap`, entities outside belong to the border cells.
        wrap: a torus: distances and offsets take the shortest way round. Handlers keep positions
            within `[low, high)`.
    """

    fields: tuple[str, ...]
    cell: float
    low: tuple[float, ...]
    high: tuple[float, ...]
    wrap: bool = False

    def __post_init__(self):
        flag("Grid.wrap", self.wrap)
        if not 1 <= len(self.fields) <= 3:
            raise ModelError(f"Grid.fields: one to three position fields, got {self.fields!r}")
        if not len(self.fields) == len(self.low) == len(self.high):
            raise ModelError("Grid: fields, low and high must have the same length")
        number("Grid.cell", self.cell, positive=True)
        for side in ("low", "high"):
            for bound in getattr(self, side):
                number(f"Grid.{side}", bound)
        if not all(a < b for a, b in zip(self.low, self.high)):
            raise ModelError(f"Grid: every low must be below its high, got {self!r}")

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each field, at least one. Cells are stretched to fill the bounds exactly."""
        return tuple(max(1, int((b - a) / self.cell)) for a, b in zip(self.low, self.high))


class Schedule(Protocol):
    """Schedules initial events; every argument may be a scalar or an array, and broadcasts."""

    def __call__(self, target, time, kind, *payload) -> None:
        """Schedule events for entities `target` at `time >= 0`, with float payload words."""


class EventModel:
    """A world of entities and events. Subclass it, declare, and hand an instance to `seer_env.make`.

    Declared by the class (or set on the instance before `super().__init__`):
        name: letters, digits and underscores; used in messages and agent names.
        Kind: an `IntEnum` with members 0..K-1.
        entity: structured dtype of an entity's row, of float64, int64, bool scalars and subarrays.
        lookahead: smallest delay of an event between two entities, in time units, `>= 0`.
        dt: length of a step window, `> 0`.
        payload: float64 words an event carries; 4 are free, more cost a cache line per 8.
        public: names of the fields that others may see, as of the last boundary, with `sim.view`.
        grid: a `Grid`, or None.
        action_kind: the kind of event that an agent's action becomes, at the step's start; or None.
        action_space: one agent's `Box` (1-D), `Discrete` or `MultiDiscrete`; a discrete action
            arrives in `event.payload` as floats.
        observation_space: one agent's 1-D float32 `Box`.
        info: structured dtype of numbers that `observe` fills and `infos` shows, or None.
        array_step: None, or a method `(state, actions, rng)` that changes all rows in place where a step
            begins, before its first event; see `seer_env.arrays`.
        agent_prefix: agents are called `<agent_prefix>_<i>`, unless `agent_names` says otherwise.

    Set by `__init__`:
        n_entities, n_agents: entities `0..n_agents-1` are the agents.
        params: NamedTuple-like constants, `sim.params.<name>` (float, int, bool).
        tables: constant arrays, `sim.tables.<name>` (copied as float64, int64 or bool; read-only).
    """

    name: ClassVar[str] = "world"
    agent_prefix: str = "agent"
    Kind: type[IntEnum]
    entity: np.dtype
    lookahead: float = 0.0
    dt: float = 1.0
    payload: int = 4
    public: Sequence[str] = ()
    grid: Grid | None = None
    action_kind: IntEnum | None = None
    action_space: spaces.Space = spaces.Box(-1.0, 1.0, (1,), np.float32)
    observation_space: spaces.Box
    info: np.dtype | None = None
    handlers: ClassVar[dict[int, Callable]] = {}
    array_step: Callable[[np.ndarray, np.ndarray, np.random.Generator], None] | None = None

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.handlers = {}
        for klass in reversed(cls.__mro__):
            own: dict[int, Callable] = {}
            for member in vars(klass).values():
                function = getattr(member, "__func__", member)
                kind = getattr(function, "handled_kind", None)
                if kind is None:
                    continue
                if int(kind) in own:
                    raise ModelError(f"{klass.__name__}: two handlers of {kind!r}; keep one")
                own[int(kind)] = function
            cls.handlers.update(own)

    def __init__(
        self,
        n_entities: int,
        n_agents: int | None = None,
        params: Mapping[str, float] | None = None,
        tables: Mapping[str, np.ndarray] | None = None,
    ):
        self.n_entities = whole("n_entities", n_entities)
        self.n_agents = self.n_entities if n_agents is None else whole("n_agents", n_agents, 0)
        self.params = {k: v.item() if isinstance(v, np.generic) else v for k, v in (params or {}).items()}
        self.tables = {k: _constant(v) for k, v in (tables or {}).items()}

    # -- written by the user -------------------------------------------------------------------

    def reset(self, state: np.ndarray, schedule: Schedule, rng: np.random.Generator) -> None:
        """Fill `state` (zeros, `[n_entities]` of `entity`) and schedule the initial events."""
        raise ModelError(f"{type(self).__name__} must define reset(self, state, schedule, rng)")

    @output
    def observe(me, obs, info, sim):
        """Write one agent's observation into `obs` (float32 `[D]`, zeros) and its `info` record."""

    @output
    def reward(me, info, sim):
        """One agent's reward for the step; called after `observe` with the same `info`."""
        return 0.0

    @output
    def terminated(me, info, sim):
        """Whether the agent's episode ended in this step."""
        return False

    # -- derived -------------------------------------------------------------------------------

    @property
    def action_size(self) -> int:
        """Numbers in one agent's action."""
        return 1 if isinstance(self.action_space, spaces.Discrete) else (self.action_space.shape or (1,))[0]

    @property
    def observation_size(self) -> int:
        """Numbers in one agent's observation."""
        return self.observation_space.shape[0]

    @property
    def agent_names(self) -> list[str]:
        """Every agent's name, `n_agents` different ones in row order."""
        return [f"{self.agent_prefix}_{i}" for i in range(self.n_agents)]

    @property
    def payload_words(self) -> int:
        """float64 words an event must hold: the payload, or an action if that is larger."""
        return max(self.payload, self.action_size if self.action_kind is not None else 0)

    @property
    def public_dtype(self) -> np.dtype:
        """Packed dtype of what `sim.view` shows."""
        fields: Mapping = self.entity.fields or {}
        return np.dtype([(f, fields[f][0]) for f in self.public])

    def validate(self) -> None:
        """Check the declaration; raises `ModelError` naming the attribute, the value and the fix."""
        from seer_env.validation import validate_model

        validate_model(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_entities} entities, {self.n_agents} agents)"

    def _repr_html_(self) -> str:
        """For Jupyter: tables of what is declared, of the kinds of event and of the entity's fields."""
        from seer_env.html import model_html

        return model_html(self)


def _constant(values: Any) -> np.ndarray:
    """A read-only copy, of float64, int64 or bool: what compiled and plain Python compute with alike."""
    array = np.array(values, order="C")
    array = array.astype({"f": np.float64, "i": np.int64, "u": np.int64}.get(array.dtype.kind, array.dtype))
    array.flags.writeable = False
    return array
