"""Closest point of approach, conflict intervals and prediction against closed forms."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seer_env.envs.aircraft import conflict

RADIUS, HEIGHT = 9260.0, 304.8
coordinate = st.floats(-50_000, 50_000)
velocity = st.floats(-300, 300)


def test_head_on_meets_in_the_middle():
    time, distance = conflict.approach(40_000.0, 0.0, -400.0, 0.0)
    assert (time, distance) == (100.0, 0.0)


def test_head_on_conflict_lasts_from_radius_to_radius():
    t_in, t_out = conflict.conflict_interval(40_000.0, 0.0, 0.0, -400.0, 0.0, 0.0, RADIUS, HEIGHT)
    assert t_in == pytest.approx((40_000 - RADIUS) / 400)
    assert t_out == pytest.approx((40_000 + RADIUS) / 400)


def test_crossing_at_right_angles_passes_at_the_known_distance():
    # I fly east at 200 m/s, the other north at 200 m/s from (20 km, -10 km): w = (-200, 200)
    time, distance = conflict.approach(20_000.0, -10_000.0, -200.0, 200.0)
    assert time == pytest.approx(75.0)
    assert distance == pytest.approx(math.hypot(5_000, 5_000))


def test_overtaking_closes_at_the_difference_of_speeds():
    time, distance = conflict.approach(15_000.0, 1_000.0, -50.0, 0.0)
    assert (time, distance) == (300.0, 1_000.0)


def test_without_relative_motion_the_distance_stays():
    assert conflict.approach(3_000.0, 4_000.0, 0.0, 0.0) == (0.0, 5_000.0)


def test_vertical_separation_prevents_a_head_on_conflict():
    interval = conflict.conflict_interval(40_000.0, 0.0, 400.0, -400.0, 0.0, 0.0, RADIUS, HEIGHT)
    assert interval == (math.inf, -math.inf)


def test_climbing_through_a_level_bounds_the_conflict():
    # same place and course, 1000 m below, climbing at 10 m/s: within 304.8 m from 69.52 s to 130.48 s
    t_in, t_out = conflict.conflict_interval(0.0, 0.0, -1000.0, 0.0, 0.0, 10.0, RADIUS, HEIGHT)
    assert (t_in, t_out) == (pytest.approx(69.52), pytest.approx(130.48))


@given(coordinate, coordinate, st.floats(-2000, 2000), velocity, velocity, st.floats(-30, 30))
def test_conflict_interval_agrees_with_sampling(x, y, z, u, v, w):
    t_in, t_out = conflict.conflict_interval(x, y, z, u, v, w, RADIUS, HEIGHT)
    t = np.linspace(-200, 400, 601)
    inside = (np.hypot(x + u * t, y + v * t) < RADIUS) & (np.abs(z + w * t) < HEIGHT)
    clear = (np.abs(t - t_in) > 1e-3) & (np.abs(t - t_out) > 1e-3)
    edge = np.abs(np.hypot(x + u * t, y + v * t) - RADIUS) < 1e-3
    edge |= np.abs(np.abs(z + w * t) - HEIGHT) < 1e-3
    assert (inside == ((t > t_in) & (t < t_out)))[clear & ~edge].all()


@given(coordinate, coordinate, velocity, velocity)
def test_collision_test_is_symmetric(x, y, u, v):
    limits = 5.0, 2000.0, 30.0
    mine = conflict.swept_hit(x, y, 5.0, u, v, 1.0, *limits)
    assert mine == conflict.swept_hit(-x, -y, -5.0, -u, -v, -1.0, *limits)


def test_a_collision_between_boundaries_is_seen():
    # they passed each other 2 s ago, and are 800 m apart again
    assert conflict.swept_hit(-800.0, 0.0, 0.0, -400.0, 0.0, 0.0, 5.0, 150.0, 30.0)


def straight_world(complexity):
    """One long leg east at altitude 10 km, and an aircraft on it at 200 m/s."""
    params = SimpleNamespace(
        horizon=300.0, complexity=complexity, separation_h=RADIUS, separation_v=HEIGHT, max_turn=0.05,
        bank_accel=4.5, max_climb=15.0,
    )  # fmt: skip
    tables = SimpleNamespace(route_x=np.array([0.0, 1e6]), route_y=np.zeros(2), route_z=np.full(2, 1e4))
    me = SimpleNamespace(
        speed=200.0, point=1, last=1, mirror_x=1.0, mirror_y=1.0, shift_x=0.0, shift_y=0.0, shift_z=0.0
    )
    own = SimpleNamespace(x=0.0, y=0.0, z=1e4, vx=200.0, vy=0.0, climb=0.0)
    return me, own, params, tables


@pytest.mark.parametrize("complexity", [1, 2, 7, 100])
def test_prediction_on_straight_legs_is_the_closed_form(complexity):
    me, own, params, tables = straight_world(complexity)
    report = (1.0, 60_000.0, 0.0, 1e4, -200.0, 0.0, 0.0, 0.0, 0.0, 1e4)
    t_in, ratio = conflict.predicted(me, own, report, params, tables)
    assert t_in == pytest.approx((60_000 - RADIUS) / 400)
    assert ratio == pytest.approx(0.0, abs=1e-9)


def test_prediction_follows_a_reported_turn():
    me, own, params, tables = straight_world(300)
    # head-on as it flies, but turning left at 1 degree/s for 90 s: away to the south
    rate = math.radians(1.0)
    report = (1.0, 120_000.0, -20_000.0, 1e4, -200.0, 0.0, 0.0, rate, 90.0, 1e4)
    turned = conflict.predicted(me, own, report, params, tables)
    straight = conflict.predicted(me, own, (*report[:7], 0.0, 0.0, 1e4), params, tables)
    # a left turn of 90 degrees from west ends southbound
    assert turned[0] == math.inf
    assert turned[1] == pytest.approx(straight[1])  # the straight prediction counts too


def test_prediction_levels_the_neighbour_off_where_it_is_bound():
    me, own, params, tables = straight_world(300)
    # in front at my speed, 1000 m below, climbing at 10 m/s, bound for 500 m below me
    report = (1.0, 5_000.0, 0.0, 9e3, 200.0, 0.0, 10.0, 0.0, 0.0, 9.5e3)
    with_level = conflict.levelling(10.0, 3.0, 1.0)
    assert with_level == 3.0
    assert conflict.predicted(me, own, report, params, tables)[0] == pytest.approx(69.52)  # as it flies
