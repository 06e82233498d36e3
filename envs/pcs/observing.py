"""What a cell sees at a boundary, and the terms of its reward; scalar functions for outputs."""

from __future__ import annotations

import math

from seer_env.envs.pcs.constants import EACH, LOWEST_THRESHOLD, OWN, POWER_UNIT, SHOWN
from seer_env.envs.pcs.radio import interference

__all__ = ["assess", "observe_neighbours", "observe_own"]


def unit(value):
    """`value` clipped to [-1, 1]."""
    return min(max(value, -1.0), 1.0)


def assess(me, info, now, params):
    """Fill `info`: the step's counts and means, and the terms of the reward."""
    info.calls_arrived = me.arrived - me.arrived_before
    info.calls_completed = me.completed - me.completed_before
    info.calls_blocked = me.blocked - me.blocked_before
    info.calls_left = me.left - me.left_before
    info.calls_received = me.received - me.received_before
    info.calls_dropped = me.dropped - me.dropped_before
    info.calls_outages = me.outages - me.outages_before
    passed = now - me.since
    info.mean_busy = (me.area + me.busy * passed - me.area_before) / params.step
    info.mean_power = (me.energy + me.transmitted * passed - me.energy_before) / params.step
    info.carried = params.w_carried * info.mean_busy / params.channels
    info.blocked = -params.w_blocked * info.calls_blocked
    info.dropped = -params.w_dropped * (info.calls_dropped + info.calls_outages)
    info.power = -params.w_power * info.mean_power / params.channels


def observe_own(me, obs, info, now, degree, params):
    """Numbers 0 to 15: the cell itself, and its neighbours' means (table in `README.md`)."""
    channels, near = params.channels, max(degree, 1)
    octaves = math.log(params.high_cap / params.low_cap)
    day = 2.0 * math.pi * (params.start + now) / params.day
    obs[0] = me.busy / channels
    obs[1] = me.pending / channels
    obs[2] = unit(me.transmitted / (POWER_UNIT * channels))
    obs[3] = unit(math.log(params.sir * interference(me, 0.0, params) / params.low_cap) / octaves)
    obs[4] = unit(2.0 * math.log(me.cap / params.low_cap) / octaves - 1.0)
    obs[5] = me.guard / params.max_guard
    obs[6] = unit(2.0 * (me.threshold - LOWEST_THRESHOLD) / (1.0 - LOWEST_THRESHOLD) - 1.0)
    obs[7] = me.blocking
    obs[8] = me.dropping
    obs[9] = me.outage
    obs[10] = unit(info.calls_arrived / channels)
    obs[11] = unit(info.calls_received / channels)
    obs[12] = math.sin(day)
    obs[13] = math.cos(day)
    obs[14] = unit(me.near_load / near)
    obs[15] = unit(me.near_queue / near)


def observe_neighbours(me, obs, degree, params):
    """From number 16 on, four per neighbour as announced last, zeros where there is none."""
    for k in range(min(degree, SHOWN)):
        at = OWN + EACH * k
        obs[at] = 1.0
        obs[at + 1] = me.heard_load[k]
        obs[at + 2] = me.heard_queue[k]
        obs[at + 3] = unit(me.heard_power[k] / (POWER_UNIT * params.channels))
