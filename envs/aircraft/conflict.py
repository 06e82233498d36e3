"""Closest point of approach, conflict intervals and prediction; scalar functions for handlers.

Conventions: `r` is the neighbour's position minus one's own, `w` its velocity minus one's own.
State-based detection after Hoekstra, van Gent and Ruigrok (2002): a conflict is an interval of time
in which both the horizontal distance is below `R` and the vertical one below `H`.
"""

from __future__ import annotations

import math

from seer_env.envs.aircraft.kinematics import clamped, turn_limit, waypoint, wrapped

INFINITY = math.inf


def approach(rx, ry, wx, wy):
    """Time (s, may be negative) of closest horizontal approach, and the distance then (m).

    Without relative motion the distance never changes: time 0.
    """
    square = wx * wx + wy * wy
    if square < 1e-12:
        return 0.0, math.sqrt(rx * rx + ry * ry)
    time = -(rx * wx + ry * wy) / square
    x, y = rx + wx * time, ry + wy * time
    return time, math.sqrt(x * x + y * y)


def conflict_interval(rx, ry, rz, wx, wy, wz, radius, height):
    """When both minima are infringed, `(t_in, t_out)` in s from now; `(inf, -inf)` if never."""
    time, distance = approach(rx, ry, wx, wy)
    if distance >= radius:
        return INFINITY, -INFINITY
    square = wx * wx + wy * wy
    t_in, t_out = -INFINITY, INFINITY
    if square >= 1e-12:
        half = math.sqrt((radius * radius - distance * distance) / square)
        t_in, t_out = time - half, time + half
    if abs(wz) < 1e-9:
        if abs(rz) >= height:
            return INFINITY, -INFINITY
    else:
        a, b = (-height - rz) / wz, (height - rz) / wz
        t_in, t_out = max(t_in, min(a, b)), min(t_out, max(a, b))
    if t_in > t_out:
        return INFINITY, -INFINITY
    return t_in, t_out


def swept_hit(rx, ry, rz, wx, wy, wz, span, radius, height):
    """Whether two aircraft were closer than both limits at their closest approach in the last `span` s."""
    time = clamped(approach(rx, ry, wx, wy)[0], -span, 0.0)
    x, y, z = rx + wx * time, ry + wy * time, rz + wz * time
    return x * x + y * y < radius * radius and abs(z) < height


def collides(me, other, params):
    """Whether `me` met `other` (a boundary view) since the boundary before; symmetric in the two."""
    return swept_hit(
        other.x - me.x, other.y - me.y, other.z - me.z,
        other.vx - me.vx, other.vy - me.vy, other.climb - me.climb,
        params.step, params.collision_h, params.collision_v,
    )  # fmt: skip


def predicted(me, own, report, params, tables):
    """Predict both flights over the horizon, as they fly and as they mean to: `(t_in, ratio)`.

    First both fly straight on. Then the horizon is cut into `complexity` segments of equal time, in
    each of which both fly straight: I towards my next waypoint as far as my turn limit lets me,
    climbing to its altitude; the neighbour on along its reported turn, levelling off at its reported
    level. Within a segment the conflict interval is exact, so more segments follow turns more closely.

    Args:
        me: my row (route and limits); own: my boundary view (where I was when the report was sent).
        report: payload: sender, x, y, z, vx, vy, vz, turn, turn time, level.

    Returns:
        t_in: s until the first conflict of either prediction, inf if none within the horizon.
        ratio: least value of max(distance / R, vertical distance / H) at the segments' closest points.
    """
    step = params.horizon / params.complexity
    radius, height = params.separation_h, params.separation_v
    x, y, z, course = own.x, own.y, own.z, math.atan2(own.vy, own.vx)
    speed = math.sqrt(own.vx * own.vx + own.vy * own.vy)
    limit, point = turn_limit(me.speed, params) * step, me.point
    ox, oy, oz, ovx, ovy = report[1], report[2], report[3], report[4], report[5]
    turn_left = report[8]
    wx, wy, wz = ovx - own.vx, ovy - own.vy, report[6] - own.climb
    first, ratio = segment(ox - x, oy - y, oz - z, wx, wy, wz, params.horizon, radius, height)
    # In one piece: its parts would hand each other both aircraft's positions and velocities.
    for s in range(params.complexity):
        tx, ty, tz = waypoint(me, point, tables)
        dx, dy = tx - x, ty - y
        course += clamped(wrapped(math.atan2(dy, dx) - course), -limit, limit)
        vx, vy = speed * math.cos(course), speed * math.sin(course)
        away = math.sqrt(dx * dx + dy * dy)
        vz = clamped((tz - z) * speed / max(away, speed), -params.max_climb, params.max_climb)
        if turn_left > 0.0:
            angle = report[7] * min(turn_left, step)
            turn_left -= step
            c, d = math.cos(angle), math.sin(angle)
            ovx, ovy = c * ovx - d * ovy, d * ovx + c * ovy
        ovz = levelling(report[6], report[9] - oz, step)
        t_in, closeness = segment(ox - x, oy - y, oz - z, ovx - vx, ovy - vy, ovz - vz, step, radius, height)
        if t_in < INFINITY:
            first = min(first, s * step + t_in)
        ratio = min(ratio, closeness)
        x, y, z = x + vx * step, y + vy * step, z + vz * step
        ox, oy, oz = ox + ovx * step, oy + ovy * step, oz + ovz * step
        if away < speed * step and point < me.last:
            point += 1
    return first, ratio


def levelling(climb, to_level, step):
    """Vertical speed over a segment of an aircraft that stops at its level, if it is bound for it."""
    if climb * to_level > 0.0 and abs(climb) * step > abs(to_level):
        return to_level / step
    return climb


def segment(rx, ry, rz, wx, wy, wz, step, radius, height):
    """One straight segment: first time of conflict within it (inf if none), and its least ratio."""
    t_in, t_out = conflict_interval(rx, ry, rz, wx, wy, wz, radius, height)
    time = clamped(approach(rx, ry, wx, wy)[0], 0.0, step)
    x, y, z = rx + wx * time, ry + wy * time, rz + wz * time
    ratio = max(math.sqrt(x * x + y * y) / radius, abs(z) / height)
    if t_out > 0.0 and t_in < step:
        return max(t_in, 0.0), ratio
    return INFINITY, ratio
