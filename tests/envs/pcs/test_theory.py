"""Blocking, dropping and numbers of calls are those of teletraffic theory."""

from __future__ import annotations

import numpy as np
import pytest
from teletraffic import erlang_b, torus

from seer_env.envs.pcs.model import Pcs
from seer_env.envs.pcs.policies import with_guards
from seer_env.runtime.engine import make_engine

#: Standard errors that a mean may differ from theory: a false alarm in 16,000 comparisons.
SIGMAS = 4.0
#: Time steps are longer than a call, so that the cells of a step are nearly independent of the next.
DT = 100.0


def simulated(cells, steps, guard=0, **world):
    """Sums per cell over `steps`, as a dict of int64 or float64 `[cells]`, and the last state."""
    settings = {"fading": False, "hotspot": 0.0, "channels": 10, "dt": DT, "link_delay": 0.001, **world}
    model = Pcs(cells, **settings)
    engine = make_engine(model, "serial")
    engine.reset(3)
    actions, live = with_guards(model, np.full(cells, guard)).astype(float), np.ones(cells, bool)
    sums = {name: 0.0 for name in model.info.names}
    for _ in range(steps):
        info = engine.step(actions, live).info
        for name in sums:
            sums[name] = sums[name] + info[name]
    return sums, engine


def ratio(part, whole):
    """A ratio of sums over cells, and its standard error by the differences between cells."""
    value = part.sum() / whole.sum()
    error = (part - value * whole).std(ddof=1) * np.sqrt(len(part)) / whole.sum()
    return value, error


@pytest.mark.parametrize("load", [6.0, 9.0, 14.0])
def test_blocking_is_erlangs_without_mobility_and_fading(load):
    sums, _ = simulated(400, 60, mobility=False, communication=False, interarrival=60.0 / load)
    blocking, error = ratio(sums["calls_blocked"], sums["calls_arrived"])
    expected = erlang_b(10, load)
    assert error < 0.05 * expected
    assert abs(blocking - expected) < SIGMAS * error


def test_erlang_b_by_its_definition():
    terms = np.cumprod(np.r_[1.0, 8.0 / np.arange(1, 11)])
    assert erlang_b(10, 8.0) == pytest.approx(terms[-1] / terms.sum())


def everybody_neighbours_everybody(n):
    """A complete graph in CSR form."""
    others = np.broadcast_to(np.arange(n), (n, n))[~np.eye(n, dtype=bool)]
    return np.arange(n + 1) * (n - 1), others


@pytest.mark.parametrize("guard", [0, 1, 3])
@pytest.mark.parametrize(
    ("topology", "cells", "residence"),
    [
        # Theory takes handoffs for independent of the cell that they come to. On a torus this is good where
        # calls move less than once on average; where all cells are neighbours, it is so however they move.
        ("hexagonal", 900, 150.0),
        ("square", 900, 150.0),
        (everybody_neighbours_everybody(300), 300, 60.0),
    ],
    ids=["hexagonal", "square", "complete"],
)
def test_blocking_and_dropping_are_those_of_the_birth_death_chain(topology, cells, residence, guard):
    world = {"interarrival": 6.0, "residence": residence, "topology": topology, "communication": False}
    sums, _ = simulated(cells, 54_000 // cells, guard, **world)
    blocking, blocking_error = ratio(sums["calls_blocked"], sums["calls_arrived"])
    dropping, dropping_error = ratio(sums["calls_dropped"], sums["calls_received"])
    expected_blocking, expected_dropping = torus(10, guard, 1 / 6.0, 60.0, residence)
    assert blocking_error < 0.02 * expected_blocking
    assert dropping_error < 0.06 * expected_dropping
    assert abs(blocking - expected_blocking) < SIGMAS * blocking_error
    assert abs(dropping - expected_dropping) < SIGMAS * dropping_error


@pytest.mark.parametrize("residence", [60.0, 150.0])
def test_littles_law(residence):
    # L = lambda W: a call that got a channel keeps it for the shorter of two exponential times.
    steps = 60
    sums, _ = simulated(900, steps, interarrival=6.0, residence=residence)
    taken = sums["calls_arrived"] - sums["calls_blocked"] + sums["calls_received"] - sums["calls_dropped"]
    in_progress, rate = sums["mean_busy"] / steps, taken / (steps * DT)
    stay = 1.0 / (1.0 / 60.0 + 1.0 / residence)
    value, error = ratio(in_progress, rate)
    assert error < 0.01 * stay
    assert abs(value - stay) < SIGMAS * error


def test_a_warm_start_is_stationary():
    # In the first second of an episode as many calls are in progress as after a long time.
    load = 8.0
    model = Pcs(4000, channels=10, interarrival=60.0 / load, mobility=False, fading=False, hotspot=0.0)
    engine = make_engine(model, "serial")
    engine.reset(5)
    expected = load * (1.0 - erlang_b(10, load))
    busy = engine.state["busy"]
    assert abs(busy.mean() - expected) < SIGMAS * busy.std() / np.sqrt(len(busy))


def test_the_diurnal_profile_changes_the_arrivals():
    # 4 times as long between calls until 8:30, 0.8 times from then on.
    sums = []
    for hour in (8.0, 8.5):
        total, _ = simulated(200, 10, diurnal=True, start_hour=hour, day=86_400.0, mobility=False)
        sums.append(total["calls_arrived"].sum())
    assert sums[1] / sums[0] == pytest.approx(4.0 / 0.8, rel=0.05)


def test_hot_cells_have_skew_times_the_calls_and_the_mean_stays():
    world = {"hotspot": 0.25, "skew": 3.0, "tour": 0.0, "mobility": False}
    sums, engine = simulated(400, 40, **world)
    hot = engine.model.weights(0.0) > 1.0
    arrived = sums["calls_arrived"]
    assert hot.sum() == 100
    assert arrived[hot].mean() / arrived[~hot].mean() == pytest.approx(3.0, rel=0.02)
    assert arrived.mean() == pytest.approx(40 * DT, rel=0.02)  # one a second


def test_a_moving_hot_spot_takes_the_arrivals_along():
    model = Pcs(400, hotspot=0.1, skew=8.0, tour=3200.0, channels=10, fading=False, dt=DT)
    engine = make_engine(model, "serial")
    engine.reset(0)
    actions, live = with_guards(model, np.zeros(400)).astype(float), np.ones(400, bool)
    for step in range(16):
        arrived = engine.step(actions, live).info["calls_arrived"]
        hot = model.weights((step + 0.5) * DT) > 1.0
        assert arrived[hot].mean() > 4.0 * arrived[~hot].mean()
    assert (model.weights(0.0) != model.weights(16 * DT)).any()
