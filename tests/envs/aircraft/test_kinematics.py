"""Limits of motion, angles, wind and routes."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seer_env.envs.aircraft import kinematics
from seer_env.envs.aircraft.model import Aircraft
from seer_env.envs.aircraft.policies import wind_over
from seer_env.runtime.engine import make_engine

angle = st.floats(-50, 50)


@given(angle)
def test_wrapped_is_the_same_angle_within_half_a_turn(a):
    w = kinematics.wrapped(a)
    assert -math.pi <= w < math.pi
    assert math.isclose(math.cos(w), math.cos(a), abs_tol=1e-9)
    assert math.isclose(math.sin(w), math.sin(a), abs_tol=1e-9)


def test_random_actions_never_break_a_limit():
    model = Aircraft(20, per_region=20, dt=1.0, ticks=1, link_delay=0.25)
    params, engine, rng = model.params, make_engine(model, "python"), np.random.default_rng(0)
    engine.reset(1)
    for _ in range(25):
        before = engine.state.copy()
        engine.step(rng.uniform(-1, 1, (20, 3)), np.ones(20, bool))
        after, flying = engine.state, engine.state["active"] == 1
        turned = np.abs((after["heading"] - before["heading"] + np.pi) % (2 * np.pi) - np.pi)
        limit = np.minimum(params["max_turn"], params["bank_accel"] / before["speed"])
        assert (turned <= limit + 1e-12)[flying].all()
        assert (np.abs(after["speed"] - before["speed"]) <= params["max_accel"] + 1e-12).all()
        assert (np.abs(after["climb"] - before["climb"]) <= params["climb_accel"] + 1e-12).all()
        assert (np.abs(after["climb"]) <= params["max_climb"]).all()
        assert (after["speed"] >= params["min_speed"]).all()
        assert (after["speed"] <= params["max_speed"]).all()


def test_wind_is_bilinear_between_nodes():
    tables = SimpleNamespace(wind_u=np.array([[0.0, 10.0], [20.0, 30.0]]), wind_v=np.zeros((2, 2)))
    params = SimpleNamespace(wind_low=0.0, wind_inverse=0.01, ceiling=100.0)
    assert kinematics.wind_at(50.0, 50.0, 100.0, params, tables) == (15.0, 0.0)
    assert kinematics.wind_at(50.0, 0.0, 50.0, params, tables) == (2.5, 0.0)
    assert kinematics.wind_at(-1e9, 1e9, 100.0, params, tables) == (20.0, 0.0)


def test_wind_of_arrays_is_the_wind_of_the_handlers():
    model = Aircraft(20, per_region=20)
    state = np.zeros(20, model.entity)
    rng = np.random.default_rng(0)
    state["x"], state["y"], state["z"] = rng.uniform(-2.5e5, 2.5e5, (3, 20)) * [[1], [1], [0.04]]
    params, tables = SimpleNamespace(**model.params), SimpleNamespace(**model.tables)
    single = [kinematics.wind_at(s["x"], s["y"], s["z"], params, tables) for s in state]
    assert pytest.approx(np.array(wind_over(model, state))) == np.array(single).T


def test_the_wind_has_no_sources():
    u, v = Aircraft(1, wind=20.0).tables["wind_u"], Aircraft(1, wind=20.0).tables["wind_v"]
    divergence = (u[1:-1, 2:] - u[1:-1, :-2] + v[2:, 1:-1] - v[:-2, 1:-1]) / 100_000
    assert np.abs(divergence).max() < 0.1 * np.abs(np.gradient(u)[0]).max() / 50_000


def test_last_waypoint_ends_the_flight():
    tables = SimpleNamespace(
        route_x=np.array([0.0, 1e5]), route_y=np.zeros(2), route_z=np.full(2, 1e4),
        route_to_go=np.array([1e5, 0.0]),
    )  # fmt: skip
    me = SimpleNamespace(
        x=1e5 - 2e3, y=0.0, point=1, last=1, active=1, arrived=0, to_go=2e3, level=1e4,
        mirror_x=1.0, mirror_y=1.0, shift_x=0.0, shift_y=0.0, shift_z=0.0,
    )  # fmt: skip
    kinematics.follow(me, SimpleNamespace(capture=3_000.0), tables)
    assert (me.arrived, me.active, me.to_go) == (1, 0, 0.0)
