"""Channel gains and power control; scalar functions that the handlers call.

A cell transmits with the power of its calls together. The interference that a call meets is

    noise + leakage * (transmitted - own power) + coupling * (sum of what neighbours announced)

and its signal-to-interference ratio is `gain * power / interference`. Power control gives it the least
power that reaches the ratio `sir`, as far as `min_power` and the cap of the cell's power level allow. So
a power that helps one call is interference to all others, here and next door.
"""

from __future__ import annotations

import math

__all__ = ["draw_gain", "interference", "set_power"]

TWO_PI = 2.0 * math.pi


def draw_gain(sim):
    """Power gain of a new channel state, mean 1: the sum of `complexity` paths of random phases.

    Clarke's model of scattering (1968): with one path there is no fading, with many the gain is
    exponential (Rayleigh fading). The paths are the work of an event.
    """
    params = sim.params
    if not params.fading:
        return 1.0
    across, along = 0.0, 0.0
    for _ in range(params.complexity):
        phase = TWO_PI * sim.random()
        across += math.cos(phase)
        along += math.sin(phase)
    return (across * across + along * along) / params.complexity


def interference(me, own, params):
    """What a call of power `own` (W) meets, W."""
    return params.noise + params.leakage * (me.transmitted - own) + params.coupling * me.near_power


def set_power(me, channel, params):
    """Give the call on `channel` the power it needs, within its limits; returns what it needs, W."""
    before = me.power[channel]
    needed = params.sir * interference(me, before, params) / max(me.gain[channel], 1e-12)
    me.power[channel] = min(max(needed, params.min_power), me.cap)
    me.transmitted += me.power[channel] - before
    return needed
