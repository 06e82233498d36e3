"""Finding an `EventModel` by `module:attribute`, or `folder/file.py:attribute`."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from seer_env.errors import SeerError

__all__ = ["EntryPointError", "load"]


class EntryPointError(SeerError, ImportError):
    """There is no such module, or nothing of that name in it."""


def load(entry_point: str) -> Callable[..., Any]:
    """What `module:attribute` names; a file's folder comes first on `sys.path`, as if it were run.

    Modules are imported once per process: an edit counts after `importlib.reload`, or in a new process.

    Raises:
        EntryPointError: there is no such module, file or attribute; it names those that there are.
    """
    place, _, attribute = entry_point.rpartition(":")
    is_file = place.endswith(".py")
    if not place or (place.startswith(".") and not is_file):
        raise EntryPointError(f"{entry_point!r}: expected module:Class or path/to/file.py:Class")
    module = _module_of_file(Path(place)) if is_file else _module(place)
    if not hasattr(module, attribute):
        raise EntryPointError(f"{entry_point!r}: {place} has no {attribute!r}; {_models_in(module)}")
    return getattr(module, attribute)


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # it is there, and imports what is not
        raise EntryPointError(
            f"there is no module {error.name!r}: work in the folder that has it, install it, or name the "
            f"file, as in path/to/world.py:World"
        ) from error


def _module_of_file(file: Path) -> ModuleType:
    if not file.is_file():
        raise EntryPointError(f"there is no file {file.absolute()}")
    if "." in file.stem:
        raise EntryPointError(f"{file}: a module's name has no dots; rename the file")
    path, folder = list(sys.path), str(file.absolute().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = _module(file.stem)
        found = getattr(module, "__file__", None)
        if found is None or not file.samefile(found):
            raise EntryPointError(f"{file}: there is another module {file.stem!r} already; rename the file")
    except BaseException:  # a folder that gave no module must not hide others' modules
        sys.path[:] = path
        raise
    return module


def _models_in(module: ModuleType) -> str:
    from seer_env.model import EventModel

    found = [
        name
        for name, value in vars(module).items()
        if inspect.isclass(value) and issubclass(value, EventModel) and value is not EventModel
    ]
    return f"its models are {', '.join(found)}" if found else "it defines no EventModel"
