"""Checks of arguments at the border: an error names the argument, what it may be, and what it was given."""

from __future__ import annotations

import math
import numbers
import operator
from typing import Any

import numpy as np

from seer_env.errors import ModelError

__all__ = ["flag", "number", "whole"]


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


def number(name: str, value: Any, least: float = -math.inf, *, positive: bool = False) -> float:
    """`value` as a float, if it is a finite real number, no bool, of at least `least` or above 0.

    Raises:
        ModelError: it is not.
    """
    try:
        real = math.nan if isinstance(value, bool) or not isinstance(value, numbers.Real) else float(value)
    except OverflowError:  # an integer beyond the largest float64
        real = math.inf
    if not math.isfinite(real) or real < least or (positive and real <= 0):
        span = " above 0" if positive else f" from {least:g} up" if least > -math.inf else ""
        raise ModelError(f"{name} must be a finite number{span}, got {value!r}")
    return real


def flag(name: str, value: Any) -> bool:
    """`value` as a bool, if it is one: `"false"` would count as true.

    Raises:
        ModelError: it is not.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise ModelError(f"{name} must be True or False, got {value!r}")
    return bool(value)
