"""Checks of a model's declaration, at the border: before anything is allocated or compiled."""

from __future__ import annotations

import keyword
import math
import re
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
from gymnasium import spaces

from seer_env.checks import number, whole
from seer_env.errors import ModelError
from seer_env.runtime.layout import MAX_ENTITIES

if TYPE_CHECKING:
    from seer_env.model import EventModel

#: `record.<name>` would be numpy's attribute, not the field, under the `python` scheduler.
RESERVED = frozenset(dir(np.record))
STATE_SCALARS = ("f8", "i8", "b1")
#: `infos` are shown, not computed with: masks may be small.
INFO_SCALARS = (*STATE_SCALARS, "i1")
#: Cells of a grid, at most: a larger one is a mistake in its units.
MOST_CELLS = 1 << 26
#: The longest step and lookahead: the clock of any number of steps is finite. Times may be so large that a
#: lookahead is lost in rounding, as it then is under every scheduler.
MOST_TIME = 1e100
#: What every model has, and how it comes by it where it has not.
NEEDED = {
    **dict.fromkeys(
        ("n_entities", "n_agents", "params", "tables"), "call super().__init__(n_entities) in __init__"
    ),
    "Kind": "declare an IntEnum of the kinds of event, such as IntEnum('Kind', 'ACT', start=0)",
    "entity": "declare the dtype of an entity's row, such as np.dtype([('x', 'f8')])",
    "observation_space": "declare one agent's 1-D float32 Box, such as spaces.Box(0.0, 1.0, (1,))",
}


def validate_model(model: EventModel) -> None:
    """Raise `ModelError` naming the attribute, its value and the fix, or return."""
    for attribute, fix in NEEDED.items():
        _require(hasattr(model, attribute), f"{type(model).__name__} has no {attribute}: {fix}")
    _check_identity(model)
    _check_kinds(model)
    _check_fields(model.entity, "entity")
    _check_numbers(model)
    _check_agent_names(model)
    _check_public(model)
    _check_spaces(model)
    _check_constants(model)
    if model.info is not None:
        _check_fields(model.info, "info", INFO_SCALARS)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ModelError(message)


def _check_identity(model: EventModel) -> None:
    for attribute in ("name", "agent_prefix"):
        value = getattr(model, attribute)
        _require(
            isinstance(value, str) and re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", value) is not None,
            f"{attribute}: letters, digits and underscores, got {value!r}",
        )


def _check_kinds(model: EventModel) -> None:
    owner = type(model).__name__
    kinds = model.Kind
    _require(
        isinstance(kinds, type) and issubclass(kinds, IntEnum),
        f"{owner}.Kind must be an IntEnum class, got {kinds!r}",
    )
    values = sorted(int(k) for k in kinds)
    _require(
        values == list(range(len(values))) and (bool(values) or model.array_step is not None),
        f"{owner}.Kind must have members 0..K-1 without gaps, got {values}",
    )
    missing = [k.name for k in kinds if int(k) not in model.handlers]
    _require(not missing, f"{owner}: no handler for {missing}; add one with @handles({kinds.__name__}.…)")
    unknown = [k for k in model.handlers if k not in values]
    _require(not unknown, f"{owner}: handlers of kinds that {kinds.__name__} lacks: {unknown}")
    if model.action_kind is not None:
        _require(
            int(model.action_kind) in values, f"action_kind {model.action_kind!r} is not a {kinds.__name__}"
        )


def _check_fields(dtype: np.dtype, what: str, scalars: tuple[str, ...] = STATE_SCALARS) -> None:
    _require(
        isinstance(dtype, np.dtype) and dtype.fields is not None,
        f"{what} must be a structured numpy dtype, got {dtype!r}",
    )
    end = 0
    for name, field in (dtype.fields or {}).items():
        _require(
            field[1] == end,
            f"{what}.{name}: fields must follow each other without gaps, which would hold garbage: leave out "
            "align=True and offsets",
        )
        end += field[0].itemsize
        _require(
            name.isidentifier() and not keyword.iskeyword(name) and name not in RESERVED,
            f"{what}: Python or numpy's records use the name {name!r} for themselves; rename the field",
        )
        base, shape = field[0].subdtype or (field[0], ())
        _require(
            base.str[1:] in scalars and base.isnative,
            f"{what}.{name}: use one of {scalars}, got {base}. (Others are refused because compiled and "
            "plain Python arithmetic would differ: use float64 or int64.)",
        )
        _require(len(shape) <= 4, f"{what}.{name}: at most 4 dimensions, got {shape}")
    _require(
        end == dtype.itemsize, f"{what}: {dtype.itemsize - end} bytes behind its fields: leave out align=True"
    )


def _check_numbers(model: EventModel) -> None:
    _require(
        1 <= model.n_entities <= MAX_ENTITIES,
        f"n_entities must be in 1..{MAX_ENTITIES}, got {model.n_entities}",
    )
    _require(
        0 <= model.n_agents <= model.n_entities,
        f"n_agents must be in 0..n_entities={model.n_entities}, got {model.n_agents}",
    )
    number("lookahead", model.lookahead, 0.0, largest=MOST_TIME)
    number("dt", model.dt, positive=True, largest=MOST_TIME)
    whole("payload", model.payload, 0, 64)


def _check_agent_names(model: EventModel) -> None:
    names = list(model.agent_names)
    _require(
        len(set(names)) == len(names) == model.n_agents,
        f"agent_names must be n_agents={model.n_agents} different names, got {len(names)}, {len(set(names))} "
        "of them different",
    )


def _check_public(model: EventModel) -> None:
    unknown = [f for f in model.public if f not in (model.entity.names or ())]
    _require(not unknown, f"public names fields that entity lacks: {unknown}")
    if model.grid is None:
        return
    _require(
        math.prod(model.grid.shape) <= MOST_CELLS,
        f"grid: {math.prod(model.grid.shape)} cells of {model.grid.cell}; make cell larger",
    )
    for name in model.grid.fields:
        _require(name in model.public, f"grid field {name!r} must be listed in public")
        _require(
            model.entity.fields is not None and model.entity.fields[name][0] == np.dtype("f8"),
            f"grid field {name!r} must be a float64 scalar",
        )


def _check_spaces(model: EventModel) -> None:
    space = model.observation_space
    _require(
        isinstance(space, spaces.Box) and space.dtype == np.float32 and len(space.shape) == 1,
        f"observation_space must be a 1-D float32 Box, got {space!r}",
    )
    action = model.action_space
    _require(
        isinstance(action, (spaces.Discrete, spaces.MultiDiscrete))
        or (isinstance(action, spaces.Box) and len(action.shape) == 1),
        f"action_space must be a 1-D Box, Discrete or MultiDiscrete, got {action!r}",
    )


def _check_constants(model: EventModel) -> None:
    for name, value in model.params.items():
        _require(
            name.isidentifier() and isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating)),
            f"params[{name!r}] must be a number under an identifier, got {value!r}",
        )
        _require(
            not isinstance(value, int) or -(2**63) <= value < 2**63,
            f"params[{name!r}] must fit 64 bits, or be a float, got {value!r}",
        )
    for name, table in model.tables.items():
        _require(
            name.isidentifier() and table.dtype.str[1:] in STATE_SCALARS and 1 <= table.ndim <= 4,
            f"tables[{name!r}] must be a numeric array of 1 to 4 dimensions, got {table.dtype} {table.shape}",
        )
