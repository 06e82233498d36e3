"""Random worlds, schedulers, thread counts and breaches: no mismatch, no hang, no leak."""

from __future__ import annotations

import os
import secrets
import statistics
from pathlib import Path

import pytest
from programs import run

SOAK = "import runpy, sys; sys.argv[0] = 'soak'; runpy.run_module('stress.soak', run_name='__main__')"
#: Growth of resident memory that is not a leak: arenas that the allocator keeps, jitter of measurement.
SLACK_MIB = 16.0


def soak(seconds: float, seed: int) -> dict:
    """Run a soak; a mismatch is an error, and a hang its exit status."""
    return run(SOAK, arguments=(seconds, seed), patience=3.0 * seconds + 300.0)


def check(result: dict, examples: int) -> None:
    assert result["examples"] >= examples
    assert min(result["steps"], result["breaches"], result["switches"], result["restores"]) > 0
    if Path("/proc/self/statm").exists():
        resident = result["resident"]
        third = max(1, len(resident) // 3)
        middle, last = statistics.median(resident[third : 2 * third]), statistics.median(resident[-third:])
        assert last - middle < SLACK_MIB, f"resident memory grows: {resident} MiB"


def test_half_a_minute_of_random_worlds():
    check(soak(30.0, seed=1), examples=20)


@pytest.mark.stress
def test_long_run_of_random_worlds():
    seconds = float(os.environ.get("SEER_ENV_SOAK_SECONDS", "600"))
    seed = int(os.environ.get("SEER_ENV_SOAK_SEED", secrets.randbelow(2**31)))
    print(f"SEER_ENV_SOAK_SEED={seed}")
    check(soak(seconds, seed), examples=int(seconds / 3.0))
