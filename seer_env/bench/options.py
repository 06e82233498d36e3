"""Checks of what benchmarks are asked to measure, before anything is measured."""

from __future__ import annotations

from collections.abc import Sequence

import numba

from seer_env.commands.output import CommandError

__all__ = ["check_seconds", "check_threads"]


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
