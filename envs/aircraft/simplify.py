"""From position reports to simplified routes: projection, cleaning, splitting, Douglas-Peucker.

Everything here works on one aircraft's columns, float64 `[n]` each: `time` (s), `latitude`,
`longitude` (degrees), `altitude` (m).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

EARTH_RADIUS = 6_371_008.8  # mean radius, m (IUGG)
#: Routes keep at most this many waypoints.
MAX_WAYPOINTS = 16


class Rules(NamedTuple):
    """What counts as a usable piece of flight (metres, seconds, metres per second).

    Attributes:
        floor, ceiling: altitudes outside are cut away: terminal areas below, bad reports above.
        region: edge of the square around the origin that a route must lie in.
        gap: a longer silence splits a flight.
        every: reports closer in time than this are thinned.
        duration, length: the shortest piece worth keeping.
        speed: slowest and fastest ground speed of a leg.
        tolerance: first and largest deviation allowed to the simplification.
        climb: steepest vertical speed of a leg.
        stretch: metres of horizontal deviation that one metre of vertical deviation weighs.
    """

    floor: float = 3_000.0
    ceiling: float = 13_500.0
    region: float = 400_000.0
    gap: float = 60.0
    every: float = 10.0
    duration: float = 300.0
    length: float = 60_000.0
    speed: tuple[float, float] = (90.0, 310.0)
    tolerance: tuple[float, float] = (200.0, 1_500.0)
    climb: float = 25.0
    stretch: float = 5.0


DEFAULT = Rules()


def project(latitude, longitude, origin: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Degrees to metres east and north of `origin` (azimuthal equidistant on a sphere).

    Distances from the origin are exact; at 200 km, distances across them are 0.02 % too long.
    """
    lat, lon = np.radians(latitude), np.radians(longitude)
    lat0, lon0 = math.radians(origin[0]), math.radians(origin[1])
    cos_c = np.sin(lat0) * np.sin(lat) + np.cos(lat0) * np.cos(lat) * np.cos(lon - lon0)
    c = np.arccos(np.clip(cos_c, -1.0, 1.0))
    scale = EARTH_RADIUS / np.where(c > 0, np.sinc(c / np.pi), 1.0)
    east = scale * np.cos(lat) * np.sin(lon - lon0)
    north = scale * (np.cos(lat0) * np.sin(lat) - np.sin(lat0) * np.cos(lat) * np.cos(lon - lon0))
    return east, north


def douglas_peucker(points: np.ndarray, tolerance: float) -> np.ndarray:
    """Indices, ascending, of the points that keep a polyline within `tolerance` of itself.

    Args:
        points: float64 `[n, d]`, `n >= 2`.
        tolerance: largest distance of a dropped point from the segment that replaces it.
    """
    keep = np.zeros(len(points), bool)
    keep[[0, -1]] = True
    stack = [(0, len(points) - 1)]
    while stack:
        first, last = stack.pop()
        if last - first < 2:
            continue
        distance = _segment_distance(points[first + 1 : last], points[first], points[last])
        worst = int(np.argmax(distance))
        if distance[worst] > tolerance:
            middle = first + 1 + worst
            keep[middle] = True
            stack += [(first, middle), (middle, last)]
    return np.flatnonzero(keep)


def _segment_distance(points: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    along = b - a
    square = float(along @ along)
    fraction = np.clip((points - a) @ along / square, 0.0, 1.0) if square > 0 else np.zeros(len(points))
    return np.linalg.norm(points - a - fraction[:, None] * along, axis=1)


def routes_of_flight(time, latitude, longitude, altitude, origin, rules: Rules = DEFAULT) -> list[np.ndarray]:
    """Simplified routes of one aircraft's reports: float64 `[k, 4]` of x, y, z, t; `2 <= k <= 16`.

    Pieces that break a rule are dropped; an empty list means that nothing usable was left.
    """
    x, y = project(latitude, longitude, origin)
    rows = np.stack([x, y, np.asarray(altitude, float), np.asarray(time, float)], axis=1)
    rows = rows[np.isfinite(rows).all(axis=1)]
    rows = rows[np.argsort(rows[:, 3], kind="stable")]
    half = rules.region / 2
    inside = (np.abs(rows[:, :2]) <= half).all(axis=1)
    inside &= (rows[:, 2] >= rules.floor) & (rows[:, 2] <= rules.ceiling)
    routes = []
    for piece in _pieces(_thin(rows[inside], rules.every), rules):
        route = simplified(piece, rules)
        if route is not None:
            routes.append(route)
    return routes


def _thin(rows: np.ndarray, every: float) -> np.ndarray:
    """First report of every interval of `every` seconds."""
    if not len(rows):
        return rows
    slot = np.floor((rows[:, 3] - rows[0, 3]) / every)
    return rows[np.r_[True, np.diff(slot) > 0]]


def _pieces(rows: np.ndarray, rules: Rules) -> list[np.ndarray]:
    """Split where reports fell silent, or jumped farther than an aircraft flies."""
    if len(rows) < 2:
        return []
    step = np.diff(rows, axis=0)
    jump = np.linalg.norm(step[:, :2], axis=1) > 1.3 * rules.speed[1] * step[:, 3]
    steep = np.abs(step[:, 2]) > 2 * rules.climb * step[:, 3]
    cuts = np.flatnonzero((step[:, 3] > rules.gap) | jump | steep) + 1
    return np.split(rows, cuts)


def simplified(rows: np.ndarray, rules: Rules = DEFAULT) -> np.ndarray | None:
    """A piece's route `[k, 4]` with time from zero, or None if it breaks a rule.

    The tolerance grows until at most `MAX_WAYPOINTS` points are left.
    """
    if len(rows) < 2 or rows[-1, 3] - rows[0, 3] < rules.duration:
        return None
    if np.linalg.norm(np.diff(rows[:, :2], axis=0), axis=1).sum() < rules.length:
        return None
    weighted = rows[:, :3] * (1.0, 1.0, rules.stretch)
    tolerance = rules.tolerance[0]
    keep = douglas_peucker(weighted, tolerance)
    while len(keep) > MAX_WAYPOINTS:
        tolerance *= 1.25
        if tolerance > rules.tolerance[1]:
            return None
        keep = douglas_peucker(weighted, tolerance)
    route = rows[keep].copy()
    route[:, 3] -= route[0, 3]
    leg = np.diff(np.round(route), axis=0)
    if (leg[:, 3] <= 0).any():
        return None
    speed = np.linalg.norm(leg[:, :2], axis=1) / leg[:, 3]
    slow, fast = rules.speed
    if (speed < slow).any() or (speed > fast).any() or (np.abs(leg[:, 2]) > rules.climb * leg[:, 3]).any():
        return None
    return route
