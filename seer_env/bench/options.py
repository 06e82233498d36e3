"""Checks of what benchmarks are asked to measure, before anything is measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numba

from seer_env.commands.output import CommandError, check_writable

__all__ = ["check_measurement"]


def check_measurement(repeats: int, seconds: float, threads: Sequence[int], json: Path | None) -> None:
    """Refuse what cannot be measured here.

    Raises:
        CommandError: names the option.
    """
    most = numba.config.NUMBA_NUM_THREADS
    if repeats < 1 or not 0.0 < seconds < float("inf"):
        raise CommandError(f"--repeats {repeats} --seconds {seconds}: must be positive")
    for count in threads:
        if not 1 <= count <= most:
            raise CommandError(f"--threads {count}: from 1 to {most}; NUMBA_NUM_THREADS sets the most")
    check_writable(json)
