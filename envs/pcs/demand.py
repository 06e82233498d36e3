"""How many calls arrive where and when: the hot spot, the day, and a network's stationary load."""

from __future__ import annotations

import numpy as np

from seer_env.envs.pcs.constants import HALF_HOURS
from seer_env.envs.pcs.topology import Topology

__all__ = ["day_profile", "hotspot_weights", "stationary_load"]

#: Places at which a moving hot spot stands during a tour.
PLACES = 32

#: Mean time between arrivals, relative to that of `interarrival`, until each hour of a working day, and at
#: weekends. A published profile of a telephone day.
WORKING_DAY = ((8.5, 4.0), (13.0, 0.8), (15.0, 2.5), (19.0, 2.0), (21.0, 2.2), (24.0, 4.5))
WEEKEND = 5.0

#: Relative residual of `stationary_load`.
PRECISION = 1e-8
#: Stay in a cell, in durations of a call, from which on a shorter one changes no load: calls have spread.
SHORTEST_STAY = 1e-6


def day_profile(diurnal: bool) -> np.ndarray:
    """Relative arrival rate in each half-hour of a week that begins on a Monday, float64 `[336]`."""
    if not diurnal:
        return np.ones(HALF_HOURS)
    hour = np.arange(HALF_HOURS) % 48 / 2
    until, stretch = np.array(WORKING_DAY).T
    gaps = stretch[np.searchsorted(until, hour, side="right")]
    gaps[5 * 48 :] = WEEKEND
    return 1.0 / gaps


def hotspot_weights(topology: Topology, hotspot: float, skew: float, moving: bool) -> np.ndarray:
    """Relative arrival rate of every cell at each place of the hot spot, float64 `[places, N]`.

    The `hotspot` share of the cells that lie nearest to the hot spot's centre have `skew` times the rate
    of the others; the mean over cells is 1. The centre moves along the middle row of a grid, or of the
    bounding box of a graph, from left to right.
    """
    n, places = len(topology), PLACES if moving else 1
    hot = round(hotspot * n)
    weights = np.full((places, n), n / (n + hot * (skew - 1.0)))
    low, high = topology.positions.min(axis=0), topology.positions.max(axis=0)
    width = topology.extent[0] if topology.extent is not None else high[0] - low[0]
    for place in range(places):
        share = (place + 0.5) / places if moving else 0.5
        centre = np.array([low[0] + share * width, (low[1] + high[1]) / 2])
        nearest = np.argsort(topology.distances(centre), kind="stable")[:hot]
        weights[place, nearest] *= skew
    return weights


def stationary_load(
    topology: Topology, new_calls: np.ndarray, duration: float, residence: float
) -> np.ndarray:
    """Erlang offered to every cell, new calls and handoffs together, if nobody is blocked; float64 `[N]`.

    Solves the traffic equations: of the calls in a cell, `load / duration` end per s and `load / residence`
    move to its neighbours, to each alike, and as many come in. With the loads divided by the root of the
    cells' degrees these are symmetric, so conjugate gradients (Hestenes and Stiefel, 1952) solve them.

    Args:
        new_calls: calls per s, float64 `[N]`.
        duration, residence: means, s; residence may be inf.
    """
    alone = new_calls * duration  # the load where no call moves
    degree = np.diff(topology.offsets)
    if not len(topology.neighbours) or np.isinf(residence):
        return alone
    stay = max(residence / duration, SHORTEST_STAY)
    root = np.sqrt(np.maximum(degree, 1))
    source, moves = np.repeat(np.arange(len(topology)), degree), degree > 0

    def net_outflow(scaled: np.ndarray) -> np.ndarray:
        inflow = np.bincount(source, (scaled / root)[topology.neighbours], minlength=len(topology)) / root
        return (stay + moves) * scaled - inflow

    wanted = stay * alone / root
    # Near the answer where calls move often: they spread in proportion to the degrees.
    scaled = root * alone.sum() / (root**2).sum()
    residual = wanted - net_outflow(scaled)
    direction, left = residual, residual @ residual
    while left > PRECISION**2 * (wanted @ wanted):
        outflow = net_outflow(direction)
        length = left / (direction @ outflow)
        scaled, residual = scaled + length * direction, residual - length * outflow
        left, before = residual @ residual, left
        direction = residual + left / before * direction
    return scaled * root
