"""What an aircraft sees at a boundary, and the terms of its reward; scalar functions for outputs."""

from __future__ import annotations

import math

from seer_env.envs.aircraft.conflict import collides
from seer_env.envs.aircraft.constants import EACH, OWN
from seer_env.envs.aircraft.kinematics import clamped, leg, waypoint, wrapped

INFINITY = math.inf


def unit(value):
    """`value` clipped to [-1, 1]."""
    return clamped(value, -1.0, 1.0)


def assess(me, info, sim):
    """Fill `info`: losses of separation and collision as they are, alerts as reported, reward terms."""
    params = sim.params
    losses, close, collided = 0, 0, 0
    if me.active == 1:
        wide = params.separation_margin * params.separation_h
        high = params.separation_margin * params.separation_v
        ids = sim.within(params.near)
        for q in range(len(ids)):
            other = sim.view(ids[q])
            if other.active == 1:
                dx, dy, dz = other.x - me.x, other.y - me.y, abs(other.z - me.z)
                if dx * dx + dy * dy < params.separation_h * params.separation_h and dz < params.separation_v:
                    losses += 1
                if dx * dx + dy * dy < wide * wide and dz < high:
                    close += 1
                if collides(me, other, params):
                    collided = 1
    alerts = 0
    for k in range(params.neighbours):
        if me.near_id[k] >= 0 and me.near_urgency[k] < params.horizon:
            alerts += 1
    _, _, length, duration = leg(me, sim.tables)
    made = unit((me.to_go_before - me.to_go) * duration / (length * params.step) * 0.5) * 2.0
    info.progress = params.w_progress * made + params.arrival_bonus * me.arrived
    info.separation = -params.w_separation * close - params.collision_cost * collided
    info.alerts = -params.w_alerts * alerts
    info.effort = -params.w_effort * me.effort
    info.losses, info.alert_count, info.to_go = losses, alerts, me.to_go
    info.arrived, info.collided = me.arrived, collided


def observe_own(me, obs, info, now, params, tables):
    """Numbers 0 to 15: the aircraft relative to its route (table in `README.md`)."""
    to_x, to_y, to_z = waypoint(me, me.point, tables)
    _, _, from_z = waypoint(me, me.point - 1, tables)
    east, north, length, duration = leg(me, tables)
    dx, dy = to_x - me.x, to_y - me.y
    course, speed = math.atan2(me.vy, me.vx), math.sqrt(me.vx * me.vx + me.vy * me.vy)
    error = wrapped(math.atan2(dy, dx) - course)
    away = math.sqrt(dx * dx + dy * dy)
    profile = to_z + (from_z - to_z) * min(away / length, 1.0)
    span = params.max_speed - params.min_speed
    c, s = me.vx / max(speed, 1.0), me.vy / max(speed, 1.0)
    obs[0] = math.sin(error)
    obs[1] = math.cos(error)
    obs[2] = unit(away / 100_000.0)
    obs[3] = unit(me.to_go / 400_000.0)
    obs[4] = unit((profile - me.z) / 1000.0)
    obs[5] = unit((north * dx - east * dy) / params.separation_h)
    obs[6] = unit(2.0 * (me.speed - params.min_speed) / span - 1.0)
    obs[7] = unit(2.0 * (length / duration - params.min_speed) / span - 1.0)
    obs[8] = unit(me.climb / params.max_climb)
    obs[9] = unit(2.0 * me.z / params.ceiling - 1.0)
    obs[10] = unit((me.wind_x * c + me.wind_y * s) / 50.0)
    obs[11] = unit((me.wind_y * c - me.wind_x * s) / 50.0)
    obs[12] = unit(wrapped(me.target_heading - me.heading) / math.pi)
    obs[13] = me.advisory if now < me.advisory_end else 0.0
    obs[14] = unit(info.alert_count / params.neighbours)
    obs[15] = unit(info.losses / params.neighbours)


def observe_neighbours(me, obs, params):
    """From number 16 on, nine per neighbour as reported, most urgent first, zeros where there is none."""
    speed = max(math.sqrt(me.vx * me.vx + me.vy * me.vy), 1.0)
    c, s = me.vx / speed, me.vy / speed
    taken = 0
    for place in range(params.neighbours):
        k = most_urgent(me, taken, params.neighbours)
        if k < 0:
            return
        taken |= 1 << k
        age = params.step * (me.near_age[k] + 1)
        x = me.near_x[k] + me.near_vx[k] * age - me.x
        y = me.near_y[k] + me.near_vy[k] * age - me.y
        z = me.near_z[k] + me.near_vz[k] * age - me.z
        wx, wy, wz = me.near_vx[k] - me.vx, me.near_vy[k] - me.vy, me.near_vz[k] - me.climb
        at = OWN + EACH * place
        obs[at] = 1.0
        obs[at + 1] = unit((c * x + s * y) / params.range)
        obs[at + 2] = unit((c * y - s * x) / params.range)
        obs[at + 3] = unit(z / params.reach)
        obs[at + 4] = unit((c * wx + s * wy) / 500.0)
        obs[at + 5] = unit((c * wy - s * wx) / 500.0)
        obs[at + 6] = unit(wz / 30.0)
        obs[at + 7] = 1.0 - min(me.near_urgency[k] / params.horizon, 1.0)
        obs[at + 8] = unit(me.near_ratio[k] / 4.0)


def most_urgent(me, taken, neighbours):
    """Slot of the most urgent neighbour whose bit is not in `taken`, or -1."""
    best, value = -1, INFINITY
    for k in range(neighbours):
        if me.near_id[k] >= 0 and (taken >> k) & 1 == 0 and me.near_urgency[k] < value:
            best, value = k, me.near_urgency[k]
    return best
