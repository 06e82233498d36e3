"""How an aircraft moves and follows its route; scalar functions that handlers call."""

from __future__ import annotations

import math

TWO_PI = 2.0 * math.pi


def wrapped(angle):
    """`angle` in `[-pi, pi)`, radians."""
    return angle - TWO_PI * math.floor((angle + math.pi) / TWO_PI)


def clamped(value, low, high):
    """`value` limited to `[low, high]`."""
    return min(max(value, low), high)


def approached(value, target, step):
    """`value` moved towards `target` by at most `step`."""
    return value + clamped(target - value, -step, step)


def turn_limit(speed, params):
    """Fastest turn in rad/s at this airspeed: standard rate, or what the bank angle gives."""
    return min(params.max_turn, params.bank_accel / max(speed, 1.0))


def wind_at(x, y, z, params, tables):
    """Wind (m/s east, north) at a place: bilinear in the table, growing in proportion to altitude."""
    n = tables.wind_u.shape[0]
    gx = clamped((x - params.wind_low) * params.wind_inverse, 0.0, n - 1.0)
    gy = clamped((y - params.wind_low) * params.wind_inverse, 0.0, n - 1.0)
    i, j = min(int(gx), n - 2), min(int(gy), n - 2)
    fx, fy = gx - i, gy - j
    a, b = (1.0 - fx) * (1.0 - fy), fx * (1.0 - fy)
    c, d = (1.0 - fx) * fy, fx * fy
    u, v = tables.wind_u, tables.wind_v
    grown = z / params.ceiling
    return (
        grown * (a * u[j, i] + b * u[j, i + 1] + c * u[j + 1, i] + d * u[j + 1, i + 1]),
        grown * (a * v[j, i] + b * v[j, i + 1] + c * v[j + 1, i] + d * v[j + 1, i + 1]),
    )


def advance(me, now, params, tables):
    """Fly one tick towards the targets, within the limits of turn, acceleration and climb."""
    tick = params.tick
    limit = turn_limit(me.speed, params)
    wanted = wrapped(me.target_heading - me.heading)
    turned = clamped(wanted, -limit * tick, limit * tick)
    me.heading = wrapped(me.heading + turned)
    me.turn = turned / tick
    me.turn_time = abs(wanted - turned) / limit
    me.speed = approached(me.speed, me.target_speed, params.max_accel * tick)
    climb = me.target_climb
    if now < me.advisory_end:
        climb = me.advisory * params.advisory_climb
    climb = clamped(climb, -params.max_climb, params.max_climb)
    me.climb = approached(me.climb, climb, params.climb_accel * tick)
    me.wind_x, me.wind_y = wind_at(me.x, me.y, me.z, params, tables)
    me.vx = me.speed * math.cos(me.heading) + me.wind_x
    me.vy = me.speed * math.sin(me.heading) + me.wind_y
    me.x += me.vx * tick
    me.y += me.vy * tick
    me.z = clamped(me.z + me.climb * tick, 0.0, params.ceiling)


def waypoint(me, p, tables):
    """Waypoint `p` of the tables as this aircraft flies it: x, y, z in metres."""
    return (
        me.mirror_x * tables.route_x[p] + me.shift_x,
        me.mirror_y * tables.route_y[p] + me.shift_y,
        tables.route_z[p] + me.shift_z,
    )


def follow(me, params, tables):
    """Pass the next waypoint if it is reached or abeam; the last one ends the flight."""
    to_x, to_y, level = waypoint(me, me.point, tables)
    from_x, from_y, _ = waypoint(me, me.point - 1, tables)
    dx, dy = to_x - me.x, to_y - me.y
    near = dx * dx + dy * dy < params.capture * params.capture
    if near or dx * (to_x - from_x) + dy * (to_y - from_y) <= 0.0:
        if me.point == me.last:
            me.arrived, me.active, me.to_go = 1, 0, 0.0
            return
        me.point += 1
        to_x, to_y, level = waypoint(me, me.point, tables)
        dx, dy = to_x - me.x, to_y - me.y
    me.level = level
    me.to_go = math.sqrt(dx * dx + dy * dy) + tables.route_to_go[me.point]


def leg(me, tables):
    """The leg being flown: unit vector east, north, its length (m) and scheduled duration (s)."""
    to_x, to_y, _ = waypoint(me, me.point, tables)
    from_x, from_y, _ = waypoint(me, me.point - 1, tables)
    dx, dy = to_x - from_x, to_y - from_y
    length = math.sqrt(dx * dx + dy * dy)
    return dx / length, dy / length, length, tables.route_t[me.point] - tables.route_t[me.point - 1]
