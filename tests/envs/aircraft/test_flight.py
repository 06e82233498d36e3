"""Flown paths against closed forms: closest approaches, radii of turns, climbs. No wind, nobody resolves."""

from __future__ import annotations

import math

import numpy as np
import pytest

from seer_env.envs.aircraft.model import Aircraft
from seer_env.envs.aircraft.tracks import Routes
from seer_env.runtime.engine import make_engine

GRAVITY = 9.80665
#: Two flights 1,000 m apart in altitude meet without a loss of separation, so nothing turns them aside.
LEVELS = (9_000.0, 10_000.0)

#: name: ground position (m) and velocity (m/s) of both aircraft.
ENCOUNTERS = {
    "head-on": (((-20_000, 0), (200, 0)), ((20_000, 0), (-200, 0))),
    "head-on, abreast": (((-20_000, 0), (220, 0)), ((20_000, 3_000), (-180, 0))),
    "crossing": (((0, 0), (200, 0)), ((20_000, -10_000), (0, 200))),
    "crossing at 60 degrees": (
        ((0, 0), (200, 0)),
        ((10_000, -20_000), (200 * math.cos(1.0472), 200 * math.sin(1.0472))),
    ),
    "overtaking": (((-35_000, 0), (250, 0)), ((-20_000, 1_000), (200, 0))),
}


def placed(*flights):
    """An engine with aircraft that fly straight on: `(x, y, z, vx, vy)` each, with steps of one second."""
    n, half = len(flights), 1.5e5
    flat = np.zeros(2)
    route = Routes(np.array([0, 2]), np.array([-half, half]), flat, flat + 1e4, np.array([0.0, 1_500.0]))
    world = Aircraft(n, routes=route, wind=0.0, jitter=0.0, per_region=n, dt=1.0, ticks=1, link_delay=0.25)
    engine = make_engine(world, "python")
    engine.reset(0)
    boundary = engine.capture()
    for me, (x, y, z, vx, vy) in zip(boundary.state, flights):
        me["x"], me["y"], me["z"], me["vx"], me["vy"] = x, y, z, vx, vy
        me["heading"] = me["target_heading"] = math.atan2(vy, vx)
        me["speed"] = me["target_speed"] = math.hypot(vx, vy)
        me["climb"] = me["target_climb"] = 0.0
    engine.restore(boundary, engine.outputs)
    return engine


def flown(engine, seconds, action=(0.0, 0.0, 0.0)):
    """State after each second, structured `[seconds + 1, N]`, everybody taking the same action."""
    n = engine.model.n_agents
    states = [engine.state.copy()]
    for _ in range(seconds):
        outputs = engine.step(np.tile(np.array(action), (n, 1)), np.ones(n, bool))
        assert not outputs.terminated.any()
        states.append(engine.state.copy())
    return np.stack(states)


@pytest.mark.parametrize("name", ENCOUNTERS)
def test_two_aircraft_pass_when_and_where_the_closed_form_says(name):
    (place, velocity), (other_place, other_velocity) = np.array(ENCOUNTERS[name], float)
    r, v = other_place - place, other_velocity - velocity
    closest = -(r @ v) / (v @ v)  # t* = -r.v / |v|^2
    states = flown(
        placed((*place, LEVELS[0], *velocity), (*other_place, LEVELS[1], *other_velocity)),
        round(closest) + 20,
    )
    apart = np.hypot(*(states[axis][:, 1] - states[axis][:, 0] for axis in "xy"))
    met = int(apart.argmin())
    assert abs(met - closest) <= 0.5 + 1e-6  # boundaries are a second apart
    # Boundaries miss t* by a fraction of a second, in which the distance follows Pythagoras.
    expected = math.hypot(np.linalg.norm(r + v * closest), np.linalg.norm(v) * (met - closest))
    assert apart[met] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("side", [1.0, -1.0], ids=["left", "right"])
@pytest.mark.parametrize(
    ("speed", "radius"),
    [
        (250.0, 250.0**2 / (GRAVITY * math.tan(math.radians(25.0)))),  # 25 degrees of bank
        (120.0, 120.0**2 / (GRAVITY * math.tan(math.radians(25.0)))),
        (75.0, 75.0 / math.radians(3.0)),  # slow: the standard rate is the lower limit
    ],
)
def test_the_tightest_turn_has_the_stated_radius(speed, radius, side):
    engine = placed((0.0, 0.0, 9_000.0, speed, 0.0))
    whole = 2 * math.pi * radius / speed  # s for a full circle
    states = flown(engine, round(whole), (side, 0.0, 0.0))[:, 0]
    a, b, c = (np.array([states[axis][round(whole * part)] for axis in "xy"]) for part in (0.0, 0.33, 0.67))
    # The path is a polygon of one-second sides.
    assert circumradius(a, b, c) == pytest.approx(radius, rel=1e-3)
    assert np.sign(states["y"][round(whole / 2)]) == side


def circumradius(a, b, c):
    """Radius of the circle through three points: product of the sides / (4 * area)."""
    u, v = b - a, c - a
    sides = np.linalg.norm(u) * np.linalg.norm(v) * np.linalg.norm(u - v)
    return sides / (2 * abs(u[0] * v[1] - u[1] * v[0]))


@pytest.mark.parametrize("sense", [1.0, -1.0], ids=["climb", "descent"])
def test_climb_builds_up_at_the_stated_rate_to_the_stated_limit(sense):
    states = flown(placed((0.0, 0.0, 7_000.0, 200.0, 0.0)), 30, (0.0, 0.0, sense))[:, 0]
    seconds = np.arange(31)
    assert states["climb"] == pytest.approx(sense * np.minimum(1.5 * seconds, 15.0))
    # z = a t^2 / 2 while it builds up, then linear; the ticks of a second are ahead of it by a t / 2 seconds
    smooth = np.where(seconds <= 10, 0.75 * seconds**2, 75.0 + 15.0 * (seconds - 10))
    assert np.abs(sense * (states["z"] - 7_000.0) - smooth).max() <= 0.5 * 15.0 + 1e-6


def test_nobody_climbs_above_the_ceiling():
    states = flown(placed((0.0, 0.0, 13_900.0, 200.0, 0.0)), 30, (0.0, 0.0, 1.0))
    assert states["z"].max() == 14_000.0


@pytest.mark.parametrize(("action", "limit"), [(1.0, 290.0), (-1.0, 70.0)])
def test_speed_changes_at_the_stated_rate_to_the_stated_limit(action, limit):
    start = limit - 20.0 * action
    states = flown(placed((0.0, 0.0, 9_000.0, start, 0.0)), 60, (0.0, action, 0.0))[:, 0]
    expected = start + action * np.minimum(0.5 * np.arange(61), 20.0)
    assert states["speed"] == pytest.approx(expected)
