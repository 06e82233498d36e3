"""Checks of what benchmarks are asked to measure, before anything is measured."""

from __future__ import annotations

from collections.abc import Sequence

import numba

from seer_env.commands.output import CommandError

__all__ = ["check_positive", "check_seconds", "check_threads"]


def check_seconds(seconds: float) -> None:
    """Refuse a measurement without a length.

    Raises:
        CommandError: names the option.
    """
    if not 0.0 < seconds < float("inf"):
        raise CommandError(f"--seconds {seconds}: must be positive")


def check_threads(threads: Sequence[int]) -> None:
    """Refuse more threads than numba's pool has.

    Raises:
        CommandError: names the count and the most there are.
    """
    most = numba.config.NUMBA_NUM_THREADS
    for count in threads:
        if not 1 <= count <= most:
            raise CommandError(f"--threads {count}: from 1 to {most}; NUMBA_NUM_THREADS sets the most")


def check_positive(**options: Sequence[float]) -> None:
    """Refuse options of which a value is not a finite number above 0, or that have none.

    Raises:
        CommandError: names the option and its value.
    """
    for name, values in options.items():
        wrong = [value for value in values if not 0.0 < value < float("inf")]
        if wrong or not values:
            given = f"{wrong[0]:g}" if wrong else "without a value"
            raise CommandError(f"--{name.replace('_', '-')} {given}: must be above 0")
