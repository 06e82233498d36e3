"""The user's functions on their way to machine code: copies, in which all they call is compiled too.

Nothing of the user's is changed. What numba would compile to something else than the user means, or
refuse in words about something else, is refused here.
"""

from __future__ import annotations

import random
from types import CellType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba import njit

from seer_env.errors import ModelError
from seer_env.runtime.compile import OPTIONS
from seer_env.runtime.fingerprint import attributes_of, global_reads, is_library, reached_globals
from seer_env.runtime.pipeline import HandlerCompiler


def place(function) -> str:
    """A user's function with its file and line."""
    code = function.__code__
    return f"{function.__qualname__} ({code.co_filename}:{code.co_firstlineno})"


def _refuse_functions_of(module: ModuleType, function) -> None:
    """numba does not see through `module.function(...)`: say so before it says something else."""
    if is_library(module):
        return
    for name in sorted(attributes_of(module, function)):
        if isinstance(vars(module).get(name), FunctionType):
            raise ModelError(
                f"{place(function)} calls {module.__name__}.{name}(...): import the function by its name, "
                f"`from {module.__name__} import {name}`, so that it can be compiled with the handler."
            )


def _refuse_foreign_randomness(function) -> None:
    """A global generator gives other numbers in every run and to every worker."""
    for chain in global_reads(function):
        found = function.__globals__.get(chain[0])
        if len(chain) > 1 and chain[1] == "random" and found is np:
            found = np.random
        if found is np.random or found is random or getattr(found, "__module__", None) == "random":
            raise ModelError(
                f"{place(function)} draws from {'.'.join(chain)}, which no seed of the world reaches: use "
                "sim.random(), normal, exponential or integers"
            )


def _refuse_recursion(calls) -> None:
    """Compiled code has no limit of depth but the stack's end, which ends the process and not the step.

    Nor can numba load recursive functions from a cache: a new process would end there.
    """
    chain = " -> ".join(function.__qualname__ for function in calls)
    raise ModelError(
        f"{place(calls[0])} calls itself ({chain}): use a loop, with an array for what is put off"
    )


class UserFunctions:
    """Compiled copies of user functions, with the plain functions they call compiled as well.

    Args:
        label: ends the copies' names in machine code; unique to a model. numba names code by the function
            and a number for each record type, both counted per process: of two models that other
            processes have cached, functions would share a name, and the linker would take one for the other.
    """

    def __init__(self, label: str):
        self._label = label
        self._done: dict[int, Any] = {}
        self._open: list[FunctionType] = []  # those whose reach is being followed, callers first

    def compiled(self, function, inline: bool = False):
        """The compiled copy; `inline` for what the engine calls, which has one caller: the shim."""
        if function in self._open:
            _refuse_recursion([*self._open[self._open.index(function) :], function])
        if id(function) in self._done:
            return self._done[id(function)]
        self._open.append(function)
        scope = dict(function.__globals__)
        cells = tuple(CellType() for _ in function.__closure__ or ())
        clone = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells)
        clone.__kwdefaults__ = function.__kwdefaults__
        scope["__name__"] = clone.__module__ = __name__
        clone.__qualname__ = f"{function.__qualname__}_{self._label}"
        options = {**OPTIONS, "forceinline": inline, "boundscheck": True}
        self._done[id(function)] = dispatcher = njit(pipeline_class=HandlerCompiler, **options)(clone)
        for cell, original in zip(cells, function.__closure__ or ()):
            cell.cell_contents = self._reached(original.cell_contents)
        _refuse_foreign_randomness(function)
        for name, found in reached_globals(function).items():
            scope[name] = self._reached(found)
            if isinstance(found, ModuleType):
                _refuse_functions_of(found, function)
        self._open.pop()
        return dispatcher

    def _reached(self, found):
        """What takes the place of a value that a function reaches."""
        library = isinstance(found, FunctionType) and (found.__module__ or "").split(".")[0] in (
            "numba",
            "numpy",
        )
        return self.compiled(found) if isinstance(found, FunctionType) and not library else found
