"""A fingerprint of everything that a function reaches: its code, the functions it calls, the
global constants it reads. Two functions with one fingerprint compile to the same machine code.
"""

from __future__ import annotations

import dis
import enum
import hashlib
import sys
import types
from collections.abc import Callable

import numba
import numpy as np


class Unfingerprintable(Exception):
    """Something reached has no value that could be compared with a later process's."""


#: Packages whose functions are told by name and version: their code does not change under us.
_TRUSTED = {"numpy": np.__version__, "numba": numba.__version__}
_SCALARS = (bool, int, float, complex, str, bytes, type(None), type(...))


def fingerprint(*objects) -> str:
    """Hex digest of the objects and all they reach.

    Raises:
        Unfingerprintable: a reached value is of a kind that cannot be compared across processes.
    """
    walk = _Walk()
    for item in objects:
        walk.value(item)
    return walk.digest.hexdigest()


class _Walk:
    def __init__(self):
        self.digest = hashlib.blake2b(digest_size=16)
        self._seen: dict[int, int] = {}
        self._keep: list = []  # ids stay unique while their objects live
        self.text(sys.version)

    def text(self, *parts) -> None:
        for part in parts:
            data = part if isinstance(part, bytes) else str(part).encode()
            self.digest.update(len(data).to_bytes(8, "little") + data)

    def value(self, item) -> None:
        if isinstance(item, _SCALARS) and not isinstance(item, enum.Enum):
            self.text(type(item).__name__, repr(item))
        elif id(item) in self._seen:
            self.text("seen", self._seen[id(item)])
        else:
            self._seen[id(item)] = len(self._seen)
            self._keep.append(item)
            self._compound(item)

    def _compound(self, item) -> None:
        if isinstance(item, (tuple, list)):
            self.text(type(item).__qualname__, getattr(item, "_fields", ""), len(item))
            for element in item:
                self.value(element)
        elif isinstance(item, dict):
            self.text("dict", len(item))
            for key, element in item.items():
                self.value(key)
                self.value(element)
        elif isinstance(item, frozenset):
            self.text("frozenset", *sorted(map(repr, item)))
        elif isinstance(item, (np.ndarray, np.generic)):
            array = np.ascontiguousarray(item)
            self.text("array", array.dtype.descr, array.shape, array.tobytes())
        elif isinstance(item, np.dtype):
            self.text("dtype", item.descr, item.itemsize, sorted((item.fields or {}).items(), key=str))
        elif isinstance(item, enum.Enum):
            self.text("member", item.name, repr(item.value))
        elif isinstance(item, type):
            self._class(item)
        else:
            self._callable(item)

    def _class(self, item: type) -> None:
        if issubclass(item, enum.Enum):
            # Aliases too, which iteration leaves out.
            self.text("enum", item.__name__, *((n, m.value) for n, m in item.__members__.items()))
        elif item.__module__.split(".")[0] in {"builtins", *_TRUSTED}:
            self.text("class", item.__module__, item.__qualname__)
        elif issubclass(item, tuple) and hasattr(item, "_fields"):
            self.text("namedtuple", item.__qualname__, item._fields)
        else:
            raise Unfingerprintable(f"class {item.__qualname__}")

    def _callable(self, item) -> None:
        item = getattr(item, "py_func", item)  # a numba dispatcher
        module = (getattr(item, "__module__", None) or "").split(".")[0]
        if isinstance(item, (types.BuiltinFunctionType, np.ufunc)) or module in _TRUSTED:
            self.text("named", module, _TRUSTED.get(module, ""), getattr(item, "__qualname__", repr(item)))
        elif isinstance(item, types.FunctionType):
            self._function(item)
        else:
            raise Unfingerprintable(f"{type(item).__qualname__} {item!r}")

    def _function(self, function: Callable) -> None:
        self.code(function.__code__)
        self.value(function.__defaults__)
        self.value(function.__kwdefaults__)
        for cell in function.__closure__ or ():
            self.value(cell.cell_contents)
        for name, found in reached_globals(function).items():
            self.text("global", name)
            if isinstance(found, types.ModuleType):
                self._module(found, names_of(function.__code__))
            else:
                self.value(found)

    def code(self, code: types.CodeType) -> None:
        self.text("code", code.co_name, code.co_code, code.co_names, code.co_varnames, code.co_freevars)
        self.text(getattr(code, "co_exceptiontable", b""))
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self.code(constant)
            else:
                self.value(constant)

    def _module(self, module: types.ModuleType, names: list[str]) -> None:
        self.text("module", module.__name__)
        if is_library(module):
            self.text(_TRUSTED.get(module.__name__.split(".")[0], ""))
            return
        for name in names:
            found = vars(module).get(name, self)
            if isinstance(found, types.ModuleType):
                self._module(found, [n for n in names if n != name])
            elif found is not self:
                self.text("attribute", name)
                self.value(found)


def is_library(module: types.ModuleType) -> bool:
    """Whether numba knows a module's functions, and they change with its version alone."""
    return module.__name__.split(".")[0] in {"math", "builtins", "operator", "cmath", *_TRUSTED}


def names_of(code: types.CodeType) -> list[str]:
    """Names of globals and attributes that a code object and those nested in it mention."""
    names = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names += names_of(constant)
    return sorted(set(names))


def attributes_of(module: types.ModuleType, function: Callable) -> set[str]:
    """Names that a function's code reads from a module, as in `module.name`."""
    names, previous = set(), None
    for instruction in dis.get_instructions(function.__code__):
        reads = instruction.opname in ("LOAD_ATTR", "LOAD_METHOD")
        if reads and previous is not None and function.__globals__.get(previous) is module:
            names.add(instruction.argval)
        previous = instruction.argval if instruction.opname == "LOAD_GLOBAL" else None
    return names


def reached_globals(function: Callable) -> dict:
    """The globals that a function's code mentions and that exist now."""
    scope = function.__globals__
    return {name: scope[name] for name in names_of(function.__code__) if name in scope}
