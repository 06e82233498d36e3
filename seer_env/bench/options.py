"""Checks of what benchmarks are asked to measure, before anything is measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numba

from seer_env.commands.output import CommandError, check_writable

__all__ = ["check_measurement", "check_threads"]


def check_measurement(repeats: int, seconds: float, threads: Sequence[int], json: Path | None) -> None:
    """Refuse what cannot be measured here.

    Raises:
        CommandError: names the option.
    """
    if repeats < 1 or not 0.0 < seconds < float("inf"):
        raise CommandError(f"--repeats {repeats} --seconds {seconds}: must be positive")
    check_threads(threads)
    check_writable(json)


def check_threads(threads: Sequence[int]) -> None:
    """Refuse more threads than numba's pool has.

    Raises:
        CommandError: names the count and the most there are.
    """
    most = numba.config.NUMBA_NUM_THREADS
    for count in threads:
        if not 1 <= count <= most:
            raise CommandError(f"--threads {count}: from 1 to {most}; NUMBA_NUM_THREADS sets the most")
