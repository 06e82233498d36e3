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
        if hasattr(item, "py_func") and hasattr(item, "targetoptions"):  # a numba dispatcher
            self.value(dict(item.targetoptions))
            item = item.py_func
        module = (getattr(item, "__module__", None) or "").split(".")[0]
        if _is_named(item, module):
            self.text("named", module, _TRUSTED.get(module, ""), getattr(item, "__qualname__", repr(item)))
        elif isinstance(item, types.FunctionType):
            self._function(item)
        else:
            raise Unfingerprintable(f"{type(item).__qualname__} {item!r}")

    def _function(self, function: Callable) -> None:
        self.code(function.__code__)
        self.value(function.__defaults__)
        self.value(function.__kwdefaults__)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                self.value(cell.cell_contents)
            except ValueError as error:
                raise Unfingerprintable(f"variable {name!r}, which is not set yet") from error
        for chain in global_reads(function):
            self._read(function.__globals__, chain)

    def _read(self, scope: dict, chain: tuple[str, ...]) -> None:
        """A global, or what an attribute chain reads from a module."""
        self.text("global", *chain)
        if chain[0] not in scope:
            return  # a builtin, or not defined yet
        found = scope[chain[0]]
        for name in chain[1:]:
            if not isinstance(found, types.ModuleType) or is_library(found):
                break
            found = vars(found).get(name)
        if not isinstance(found, types.ModuleType):
            self.value(found)
        elif is_library(found):
            self.text("library", found.__name__, _TRUSTED.get(found.__name__.split(".")[0], ""))
        else:
            raise Unfingerprintable(f"module {found.__name__} as a value")

    def code(self, code: types.CodeType) -> None:
        self.text("code", code.co_name, code.co_code, code.co_names, code.co_varnames, code.co_freevars)
        self.text(getattr(code, "co_exceptiontable", b""))
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self.code(constant)
            else:
                self.value(constant)


def _is_named(item, module: str) -> bool:
    """Whether a callable is told by its name: a builtin, or a function or type of a trusted package."""
    if isinstance(item, (types.BuiltinFunctionType, numba.types.Type)):
        return True
    if isinstance(item, types.FunctionType):
        return module in _TRUSTED
    return type(item).__module__.split(".")[0] == "numpy"  # ufuncs, and functions that arrays override


def is_library(module: types.ModuleType) -> bool:
    """Whether numba knows a module's functions, and they change with its version alone."""
    return module.__name__.split(".")[0] in {"math", "builtins", "operator", "cmath", *_TRUSTED}


def global_reads(function: Callable) -> list[tuple[str, ...]]:
    """What a function's code, and the code nested in it, reads from its globals.

    Each as a chain, `("constants", "LIMIT")` where it reads LIMIT from the module constants.
    """
    return sorted(_global_reads(function.__code__))


def _global_reads(code: types.CodeType) -> set[tuple[str, ...]]:
    chains: set[tuple[str, ...]] = set()
    chain: tuple[str, ...] = ()
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and chain:
            chain += (instruction.argval,)
            continue
        if chain:
            chains.add(chain)
        chain = (instruction.argval,) if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME") else ()
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            chains |= _global_reads(constant)
    return chains


def attributes_of(module: types.ModuleType, function: Callable) -> set[str]:
    """Names that a function's code reads from a module, as in `module.name`."""
    scope = function.__globals__
    return {c[1] for c in global_reads(function) if len(c) > 1 and scope.get(c[0]) is module}


def reached_globals(function: Callable) -> dict:
    """The globals that a function's code reads and that exist now."""
    scope = function.__globals__
    return {chain[0]: scope[chain[0]] for chain in global_reads(function) if chain[0] in scope}
