"""Checks of arguments at the border: an error names the argument, what it may be, and what it was given."""

from __future__ import annotations

import dataclasses
import difflib
import math
import numbers
import operator
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from seer_env.errors import ModelError

__all__ = ["LARGEST", "divided", "flag", "known", "meant", "named", "number", "pairs", "whole"]

#: No quantity of a world is larger in size: products of several stay finite.
LARGEST = 1e12


def whole(
    name: str,
    value: Any,
    least: int = 1,
    most: int | None = None,
    *,
    also: str = "",
    error: type[ValueError] = ModelError,
) -> int:
    """`value` as an int, if it is an integer (of Python or numpy, no bool and no float) in its range.

    Args:
        least, most: the range, both included; no upper end if None.
        also: for the message, what else the caller takes, such as `None`.

    Raises:
        ModelError: it is not; or an `error` of another class.
    """
    try:
        integer = None if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        integer = None
    if integer is None or integer < least or (most is not None and integer > most):
        span = f"from {least} up" if most is None else f"from {least} to {most}"
        raise error(f"{name} must be {also + ' or ' if also else ''}an integer {span}, got {value!r}")
    return integer


def number(
    name: str, value: Any, least: float = -math.inf, *, positive: bool = False, largest: float = LARGEST
) -> float:
    """`value` as a float, if it is a finite real number, no bool, of at least `least` or above 0.

    Raises:
        ModelError: it is not, or larger in size than `largest`.
    """
    try:
        real = math.nan if isinstance(value, bool) or not isinstance(value, numbers.Real) else float(value)
    except OverflowError:  # an integer beyond the largest float64
        real = math.inf
    if not math.isfinite(real) or real < least or (positive and real <= 0):
        span = " above 0" if positive else f" from {least:g} up" if least > -math.inf else ""
        raise ModelError(f"{name} must be a finite number{span}, got {value!r}")
    if abs(real) > largest:
        raise ModelError(f"{name} must be a number of at most {largest:g} in size, got {value!r}")
    return real


def flag(name: str, value: Any) -> bool:
    """`value` as a bool, if it is one: `"false"` would count as true.

    Raises:
        ModelError: it is not.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise ModelError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def pairs(name: str, values: Any, below: int) -> np.ndarray:
    """`values` as an array `[E, 2]`, if they are pairs of integers from 0 to `below - 1`, such as edges.

    Raises:
        ModelError: they are not.
    """
    array = np.asarray(values)
    if array.dtype.kind not in "iu" or array.ndim != 2 or array.shape[1] != 2:
        raise ModelError(f"{name} must be integers of shape [E, 2], got {array.dtype} of shape {array.shape}")
    if array.size and not 0 <= array.min() <= array.max() < below:
        raise ModelError(f"{name} must be from 0 to {below - 1}, got {array.min()} to {array.max()}")
    return array


def known(given: Iterable[str], names: Iterable[str]) -> None:
    """Refuse arguments of a world that are none of its `names`.

    Raises:
        ModelError: it lists `names`, and the nearest among them and the arguments of `seer_env.make`.
    """
    from seer_env.registration import MAKE_ARGUMENTS

    names = list(names)
    unknown = sorted(set(given).difference(names))
    if unknown:
        hint = meant(unknown, [*names, *MAKE_ARGUMENTS])
        raise ModelError(f"unknown parameters {unknown}: {hint}choose from {names} or make's own arguments")


def meant(given: Iterable[str], names: Iterable[str]) -> str:
    """`"did you mean threads, copies? "`, the nearest of `names` to each given one; "" if none is near."""
    choices = sorted(names)
    near = [name for text in given for name in difflib.get_close_matches(text, choices, n=1)]
    return f"did you mean {', '.join(near)}? " if near else ""


def divided(kind: type, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Keyword arguments that are fields of a dataclass with a default, and the others.

    The fields `n_agents` and `parameters` are not: they hold the number of agents, and the others.
    """
    names = {*named(kind)} - {"n_agents"}
    own = {name: value for name, value in arguments.items() if name in names}
    return own, {name: value for name, value in arguments.items() if name not in names}


def named(kind: type) -> list[str]:
    """Names of a dataclass's fields but `parameters`, which holds what has no field."""
    return [field.name for field in dataclasses.fields(kind) if field.name != "parameters"]
