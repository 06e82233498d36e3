"""How much work an event needs to take a wanted time, found with clocks whose law is known."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from seer_env.bench import calibration
from seer_env.bench.calibration import (
    CLOSE,
    FITS,
    Calibration,
    calibrate,
    calibrated_group,
    phold_event_us,
    world_event_us,
)
from seer_env.bench.experiment import Contender
from seer_env.bench.stepping import World

FEW = World("pcs_v0", "guard", {"n_agents": 16})


class Clock:
    """Measures by a law, and remembers what was asked."""

    def __init__(self, law):
        self._law, self.asked = law, []

    def __call__(self, work: int) -> float:
        self.asked.append(work)
        return self._law(work)


@pytest.mark.parametrize(("wanted", "work"), [(50.0, 4980), (1.0, 80), (800.0, 79980)])
def test_a_linear_law_is_met_with_three_measurements(wanted, work):
    clock = Clock(lambda work: 0.2 + 0.01 * work)
    found = calibrate(clock, wanted)
    assert (found.work, found.error) == (work, pytest.approx(0.0, abs=1e-9))
    assert len(clock.asked) <= 3


@pytest.mark.parametrize("wanted", [1.0, 10.0, 100.0, 800.0])
def test_a_law_that_bends_is_met_closely(wanted):
    clock = Clock(lambda work: 0.1 + 0.05 * work**0.9)
    found = calibrate(clock, wanted)
    assert abs(found.error) <= CLOSE
    assert len(clock.asked) <= 2 + FITS


def test_the_error_is_that_of_a_measurement_with_the_work_found():
    found = calibrate(lambda work: 2.0 if work == 1 else 3.0, 10.0)  # more work never takes 10
    assert found == Calibration(1000, 10.0, 3.0)
    assert found.error == pytest.approx(-0.7)


def test_events_that_take_too_long_with_the_least_work_keep_it():
    clock = Clock(lambda work: 5.0 * work)
    assert calibrate(clock, 2.0) == Calibration(1, 2.0, 5.0)
    assert clock.asked == [1]


def test_noise_that_hides_the_slope_ends_the_search():
    assert calibrate(lambda work: 3.0 - 1e-4 * work, 10.0).work == 1


def test_more_work_takes_longer_in_a_world():
    assert world_event_us(FEW.but(complexity=3000), 0) > 5 * world_event_us(FEW.but(complexity=1), 0) > 0


def test_more_work_takes_longer_in_phold():
    assert phold_event_us(10_000, n=50, dt=5.0) > 5 * phold_event_us(1, n=50, dt=5.0) > 0


def test_a_calibrated_group_is_the_world_with_the_work_found(monkeypatch):
    monkeypatch.setattr(
        calibration, "world_event_us", lambda world, seed: 0.01 * world.arguments["complexity"]
    )
    contenders = [Contender("serial"), Contender("seer", 2)]
    group = calibrated_group("g", FEW, contenders, 2.0, 0, 1e-6, {"cells": 16})
    assert group.facts == {"cells": 16}
    found = group.prepare()
    assert found == {"complexity": 200, "us/event": 2.0, "error %": 0.0}
    with ExitStack() as stack:
        made = group.make(stack, found)
        assert list(made) == contenders
        assert [stepping.env.model.params["complexity"] for stepping in made.values()] == [200, 200]
