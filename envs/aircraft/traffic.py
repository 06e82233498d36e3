"""Who flies which route from where: the initial state of an episode, and the wind.

More aircraft than routes come from stated transformations of real routes, never from random lines:
- time: every flight is met at a random moment of its first `SPAN`;
- regions: `per_region` aircraft share a region of 400 km; further regions lie beside it on a square,
  each mirrored against its neighbours, so that traffic is continuous across their seams;
- repeats: within a region all routes are used once (in random order) before any is used again; a
  repeated route is mirrored at random;
- jitter: whatever is not flown as recorded is shifted by a normal deviate horizontally and by -1, 0
  or 1 thousand feet vertically, so that flight levels remain flight levels.
"""

from __future__ import annotations

import math

import numpy as np

from seer_env.envs.aircraft.constants import FOOT
from seer_env.envs.aircraft.simplify import DEFAULT
from seer_env.envs.aircraft.tracks import Routes

REGION = DEFAULT.region
SPAN = 0.7
#: Rounds in which aircraft that would start too close together are met at another moment.
RETRIES = 40
#: Horizontal distance at the start, in separation minima.
START_MARGIN = 1.5
WIND_SPACING = 50_000.0


def regions_per_side(n_agents: int, per_region: int) -> int:
    """Side of the square of regions that hold `n_agents`."""
    return math.isqrt(max(0, -(-n_agents // per_region) - 1)) + 1


def draw_routes(n: int, n_routes: int, per_region: int, jitter: float, rng: np.random.Generator):
    """Choose and transform: structured `[n]` of route, mirror_x, mirror_y, shift_x, shift_y, shift_z."""
    fields = ("mirror_x", "mirror_y", "shift_x", "shift_y", "shift_z")
    chosen = np.zeros(n, [("route", "i8")] + [(name, "f8") for name in fields])
    region, rank = np.divmod(np.arange(n), per_region)
    copy = rank // n_routes
    for first in range(0, n, per_region):
        mine = slice(first, first + per_region)
        chosen["route"][mine] = rng.permutation(n_routes)[rank[mine] % n_routes]
    side = regions_per_side(n, per_region)
    column, row = region % side, region // side
    flip = rng.integers(0, 2, (2, n)) * (copy > 0)
    chosen["mirror_x"] = 1.0 - 2.0 * ((column + flip[0]) % 2)
    chosen["mirror_y"] = 1.0 - 2.0 * ((row + flip[1]) % 2)
    moved = (region > 0) | (copy > 0)
    deviates = rng.normal(0.0, jitter, (2, n)) * moved
    chosen["shift_x"] = (column - (side - 1) / 2) * REGION + deviates[0]
    chosen["shift_y"] = (row - (side - 1) / 2) * REGION + deviates[1]
    chosen["shift_z"] = rng.integers(-1, 2, n) * moved * 1000 * FOOT
    return chosen


def positions(routes: Routes, chosen: np.ndarray, fraction: np.ndarray):
    """Where the flights are after `fraction` of their durations.

    Returns:
        point: int64 `[n]`, index of the next waypoint in `routes`.
        xyz: float64 `[n, 3]`. velocity: float64 `[n, 3]`, over the ground, along the leg.
    """
    first, end = routes.offsets[chosen["route"]], routes.offsets[chosen["route"] + 1]
    moment = fraction * routes.t[end - 1]
    point = first + 1
    for _ in range(int((end - first).max())):
        point += (routes.t[point] < moment) & (point < end - 1)
    before, duration = routes.t[point - 1], routes.t[point] - routes.t[point - 1]
    part = ((moment - before) / duration)[:, None]
    a, b = (np.stack([routes.x[p], routes.y[p], routes.z[p]], axis=1) for p in (point - 1, point))
    mirror = np.stack([chosen["mirror_x"], chosen["mirror_y"], np.ones(len(chosen))], axis=1)
    shift = np.stack([chosen["shift_x"], chosen["shift_y"], chosen["shift_z"]], axis=1)
    xyz = mirror * (a + part * (b - a)) + shift
    return point, xyz, mirror * (b - a) / duration[:, None]


def separated_start(routes, chosen, radius: float, height: float, rng: np.random.Generator):
    """As `positions`, at random moments at which aircraft are separated wherever `RETRIES` rounds can
    make them so (very dense worlds start with some losses of separation)."""
    fraction = SPAN * rng.random(len(chosen))
    xyz, again = positions(routes, chosen, fraction)[1], np.arange(len(chosen))
    for _ in range(RETRIES):
        i, j = neighbours_of(again, xyz, START_MARGIN * radius, height)
        again = np.unique(np.maximum(i, j))
        if not len(again):
            break
        fraction[again] = SPAN * rng.random(len(again))
        xyz[again] = positions(routes, chosen[again], fraction[again])[1]
    return positions(routes, chosen, fraction)


def close_pairs(xyz: np.ndarray, radius: float, height: float) -> np.ndarray:
    """Pairs `i < j`, int64 `[p, 2]` in lexical order, closer than `radius` and `height` (m).

    Args:
        xyz: float64 `[n, 3]`.
    """
    i, j = neighbours_of(np.arange(len(xyz)), xyz, radius, height)
    pairs = np.stack([i, j], axis=1)[i < j]
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def neighbours_of(rows: np.ndarray, xyz: np.ndarray, radius: float, height: float):
    """Indices `(i, j)`, `i` in `rows` and `j` any other, of what is closer than `radius` and `height`."""
    if not len(xyz):
        return np.zeros((2, 0), np.int64)
    cell = np.floor(xyz / (radius, radius, height)).astype(np.int64)
    cell -= cell.min(axis=0) - 1
    extent = cell.max(axis=0) + 2
    key = (cell[:, 2] * extent[1] + cell[:, 1]) * extent[0] + cell[:, 0]
    order = np.argsort(key, kind="stable")
    ranked = key[order]
    found = []
    for dz in (-1, 0, 1):
        for dy in (-1, 0, 1):
            middle = key[rows] + (dz * extent[1] + dy) * extent[0]  # three cells along x are one run
            low, high = np.searchsorted(ranked, middle - 1), np.searchsorted(ranked, middle + 1, side="right")
            i = np.repeat(rows, high - low)
            place = np.arange(len(i)) - np.repeat(np.cumsum(high - low) - (high - low), high - low)
            j = order[np.repeat(low, high - low) + place]
            r = xyz[j] - xyz[i]
            near = (i != j) & (np.hypot(r[:, 0], r[:, 1]) < radius) & (np.abs(r[:, 2]) < height)
            found.append(np.stack([i[near], j[near]]))
    return np.concatenate(found, axis=1)


def wind_tables(half: float, strength: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A smooth wind without sources at the ceiling: u, v float64 `[n, n]` in m/s, row = y, column = x.

    A mean wind of `strength` from the west, and the curl of a stream function of four long waves whose
    root mean square is half of it. Nodes every 50 km from `-half` on.
    """
    nodes = -half + WIND_SPACING * np.arange(math.ceil(2 * half / WIND_SPACING) + 1)
    u, v = np.full((2, len(nodes), len(nodes)), 0.0)
    x, y = np.meshgrid(nodes, nodes)
    for _ in range(4):
        angle, phase = rng.uniform(0, 2 * math.pi, 2)
        number = 2 * math.pi / rng.uniform(400_000.0, 1_200_000.0)
        wave = np.cos(number * (math.cos(angle) * x + math.sin(angle) * y) + phase)
        u += -math.sin(angle) * wave
        v += math.cos(angle) * wave
    scale = 0.5 * strength / math.sqrt(2.0)  # four waves of mean square 1/2
    return strength + scale * u, scale * v
