"""Hundreds of aircraft, every scheduler and thread count: the same bytes at every boundary.

The full extent is a stress test (`make stress`); a shorter run is part of every run of the tests.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from seer_env.envs.aircraft.model import Aircraft
from seer_env.runtime.engine import make_engine

THREADS = (1, 2, 3, 4, 8)


def flown(scheduler, threads, agents, steps):
    """A digest of all outputs, and that of the last boundary, of a flight under random actions."""
    engine = make_engine(Aircraft(agents), scheduler, threads)
    engine.reset(4)
    rng, live = np.random.default_rng(4), np.ones(agents, bool)
    shown, shared = hashlib.blake2b(), 0
    for _ in range(steps):
        outputs = engine.step(rng.uniform(-1.0, 1.0, (agents, 3)), live)
        shared += engine.stats.shared_rounds
        for array in outputs:
            shown.update(array.tobytes())
        live = live & ~outputs.terminated
    return (shown.hexdigest(), engine.digest()), shared


@pytest.fixture(scope="module")
def serial():
    return flown("serial", 1, 200, 40)[0]


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_two_hundred_aircraft_fly_the_same_on_any_number_of_threads(serial, threads):
    found, shared = flown("seer", threads, 200, 40)
    assert found == serial
    assert shared > 0


@pytest.mark.stress
def test_eight_hundred_aircraft_fly_three_hundred_steps_the_same_on_every_number_of_threads():
    expected, _ = flown("serial", 1, 800, 300)
    for threads in THREADS:
        assert flown("seer", threads, 800, 300)[0] == expected, threads


@pytest.mark.stress
def test_eight_hundred_aircraft_fly_as_under_the_oracle():
    assert flown("seer", 2, 800, 10)[0] == flown("python", 1, 800, 10)[0]
