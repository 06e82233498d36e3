"""What numba refuses of a model, in words about the model instead of numba's types.

Outside `runtime`, whose sources stamp the compiled code: other words here compile nothing anew.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from seer_env.errors import ModelError
from seer_env.runtime.user_code import place

if TYPE_CHECKING:
    from seer_env.runtime.sim_type import SimSpec

#: What the shims call the user's functions, in the order of the calls.
CALLED = ("handle", "write_observation", "reward", "is_terminated")
#: What the runtime's own checks say, wherever in numba's text.
OWN_WORDS = re.compile(
    r"^\W*(?:TypingError: )?(sim\.\w+.*|a handler writes its own row only.*)$", re.MULTILINE
)
#: Numba's name of the type of `sim`: a line long, and in every line.
SIM_TYPE = re.compile(r"(?:Sim|Tables)\(SimSpec\(.*?label='\w*'\)\)")


def explained(error: Exception, spec: SimSpec, scope: dict[str, Any], users: str) -> ModelError:
    """The error to raise for what numba raised as it compiled a shim over `scope`, which calls `users`.

    Its `__cause__` is numba's error where the message quotes it, and None where it says the same better.
    """
    called = [scope[name] for name in CALLED if name in scope]
    users = next((_place(f, spec) for f in called if not f.overloads), users)
    sentence = _own_words(str(error))
    if sentence is not None:
        return ModelError(f"{users}: {sentence}")
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
