"""What numba refuses of a model, in words about the model instead of numba's types.

Outside `runtime`, whose sources stamp the compiled code: other words here compile nothing anew.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import types

from seer_env.errors import ModelError
from seer_env.runtime.sim_type import ReadOnlyRecord, SimSpec
from seer_env.runtime.user_code import place

#: What the shims call the user's functions, in the order of the calls.
CALLED = ("handle", "write_observation", "reward", "is_terminated")
#: What the runtime's own checks say, wherever in numba's text; the colon tells it from a line of a handler.
OWN_WORDS = re.compile(
    r"^\W*(?:TypingError: )?(sim\.[\w.]+(?:\(k, radius\))?: .*|a handler writes its own row only.*)$",
    re.MULTILINE,
)
#: What numba says of `sim.<name>` and `sim.tables.<name>`.
UNKNOWN_WORD = re.compile(r"Unknown attribute '(\w+)' of type (Sim|Tables)\(")
#: What of an event's record is the handlers'.
EVENT_WORDS = ("time", "kind", "target", "payload")
#: Of what a function may return by mistake.
NUMBAS_WORDS = {types.unicode_type: "a str", types.none: "None: return one on every path"}
#: Numba's name of the type of `sim`: a line long, and in every line.
SIM_TYPE = re.compile(r"(?:Sim|Tables)\(SimSpec\(.*?label='\w*'\)\)")


def explained(error: Exception, spec: SimSpec, scope: dict[str, Any], users: str) -> ModelError:
    """The error to raise for what numba raised as it compiled a shim over `scope`, which calls `users`.

    Its `__cause__` is numba's error where the message quotes it, and None where it says the same better.
    """
    called = [scope[name] for name in CALLED if name in scope]
    refused = [f for f in called if not f.overloads]
    users = _place(refused[0], spec) if refused else users
    sentence = _missing_field(error, spec) or _own_words(str(error)) or _missing_word(str(error), spec)
    if sentence is not None:
        return ModelError(f"{users}: {sentence}")
    if not refused and "reward" in scope and (kind := _odd_reward(scope["reward"])) is not None:
        return ModelError(f"{_place(scope['reward'], spec)}: a reward must be a number, and this is {kind}")
    refusal = ModelError(
        f"numba cannot compile {users}: {type(error).__name__}: {SIM_TYPE.sub('sim', str(error))}\n"
        "Handlers may use numbers, loops, `math`, `sim` and functions of this kind; under "
        "scheduler='python' they run as they are, and breakpoints work."
    )
    refusal.__cause__ = error
    return refusal


def _place(dispatcher: Any, spec: SimSpec) -> str:
    """The user's function of which a dispatcher is the copy: its name without the label, file and line."""
    return place(dispatcher.py_func).replace(f"_{spec.label}", "")


def _own_words(text: str) -> str | None:
    """What a check of the runtime's own said, if one did."""
    found = OWN_WORDS.search(text)
    return found and found[1]


def _missing_field(error: Exception, spec: SimSpec) -> str | None:
    """For numba's bare `KeyError`, raised by the type of the record that has no such field."""
    if not isinstance(error, KeyError):
        return None
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    record, name = frames[-1].f_locals.get("self"), error.args[0]
    if not isinstance(record, types.Record):
        return None
    return " Or: ".join(
        _lacks(what, name, EVENT_WORDS if dtype == spec.event else dtype.names, fix)
        for what, dtype, fix in _records(spec, isinstance(record, ReadOnlyRecord))
        if tuple(record.fields) == dtype.names
    )


def _records(spec: SimSpec, read_only: bool) -> list[tuple[str, np.dtype, str]]:
    """The records that a function may meet: what handlers call it, its fields, and how to have another."""
    if read_only:
        return [
            ("the event", spec.event, "an emission's words arrive in event.payload"),
            ("sim.params", spec.params, "declare it in `params`"),
            ("a row of sim.view", spec.public, "name it in `public`"),
        ]
    return [
        ("the entity", spec.entity, "declare it in `entity`"),
        ("info", spec.info, "declare it in `info`"),
    ]


def _missing_word(text: str, spec: SimSpec) -> str | None:
    """For `sim.<name>` and `sim.tables.<name>`."""
    found = UNKNOWN_WORD.search(text)
    if found is None:
        return None
    name, owner = found.groups()
    if owner == "Tables":
        return _lacks("sim.tables", name, [table[0] for table in spec.tables], "declare it in `tables`")
    return f"there is no sim.{name}: the words of sim are in help('seer_env.model')"


def _lacks(what: str, name: str, fields: Sequence[str], fix: str) -> str:
    """A dtype needs a field: the one of a record without fields is called `none`."""
    return f"{what} has no field {name!r}; it has {', '.join(fields) or 'none'}: {fix}"


def _odd_reward(reward: Any) -> str | None:
    """What a compiled reward returns, if it is no number: the outputs' shim cannot store it."""
    kind = types.unliteral(reward.nopython_signatures[-1].return_type)
    return None if isinstance(kind, (types.Number, types.Boolean)) else NUMBAS_WORDS.get(kind, str(kind))
