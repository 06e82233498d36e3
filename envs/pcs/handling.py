"""What events do to a cell; scalar functions that the handlers of `Pcs` call."""

from __future__ import annotations

import math

from seer_env.envs.pcs.constants import LEVELS, LOWEST_THRESHOLD, OF_LATE, Kind
from seer_env.envs.pcs.radio import draw_gain, set_power

__all__ = [
    "announce", "arrive", "begin_step", "complete", "hear", "leave", "next_arrival", "receive", "recheck",
    "set_controls",
]  # fmt: skip


# -- the step's start ----------------------------------------------------------------------------------


def set_controls(me, action, params):
    """An action of three numbers: power level, guard channels and admission threshold."""
    if params.discrete:
        level, guard, threshold = action[0] / (LEVELS - 1), action[1], action[2] / (LEVELS - 1)
    else:
        level, threshold = 0.5 * (action[0] + 1.0), 0.5 * (action[2] + 1.0)
        guard = 0.5 * (action[1] + 1.0) * params.max_guard
    me.cap = params.low_cap * math.exp(level * math.log(params.high_cap / params.low_cap))
    me.guard = math.floor(guard + 0.5)
    me.threshold = LOWEST_THRESHOLD + (1.0 - LOWEST_THRESHOLD) * threshold


def begin_step(me, sim):
    """Note the counts of the step's start."""
    settle(me, sim.now)
    me.area_before, me.energy_before = me.area, me.energy
    me.arrived_before, me.completed_before, me.blocked_before = me.arrived, me.completed, me.blocked
    me.left_before, me.received_before = me.left, me.received
    me.dropped_before, me.outages_before = me.dropped, me.outages
    for k in range(sim.tables.offsets[sim.me + 1] - sim.tables.offsets[sim.me]):
        me.sent[k] = 0


def announce(me, sim):
    """Tell every neighbour the load, the queue and the power of this cell."""
    tables, channels = sim.tables, sim.params.channels
    for edge in range(tables.offsets[sim.me], tables.offsets[sim.me + 1]):
        sim.emit(
            tables.neighbours[edge], sim.params.link_delay, Kind.ANNOUNCE,
            tables.slots[edge], me.busy / channels, me.pending / channels, me.transmitted,
        )  # fmt: skip


def hear(me, announced):
    """A neighbour's announcement takes the place of its last one."""
    k = int(announced[0])
    me.near_load += announced[1] - me.heard_load[k]
    me.near_queue += announced[2] - me.heard_queue[k]
    me.near_power += announced[3] - me.heard_power[k]
    me.heard_load[k], me.heard_queue[k], me.heard_power[k] = announced[1], announced[2], announced[3]


# -- calls ---------------------------------------------------------------------------------------------


def next_arrival(sim, period):
    """Schedule the next new call of this cell, or a look at the load of the next period.

    The rate is constant within a period of `load_interval`. The exponential has no memory, so an arrival
    that would fall behind the period's end is drawn anew there.
    """
    params, tables = sim.params, sim.tables
    clock = params.start + period * params.load_interval
    half_hour = int(clock / params.day * 48.0) % tables.profile.shape[0]
    place = int(period * params.load_interval / params.tour * tables.weights.shape[0])
    rate = tables.profile[half_hour] * tables.weights[place % tables.weights.shape[0], sim.me]
    gap = sim.exponential(params.interarrival / rate)
    rest = (period + 1) * params.load_interval - sim.now
    if params.constant or gap < rest:
        sim.emit(sim.me, gap, Kind.ARRIVAL, period, 1.0)
    else:
        sim.emit(sim.me, max(rest, 0.0), Kind.ARRIVAL, period + 1, 0.0)


def admits(me, degree, params):
    """Whether a new call may have a channel: beyond the guard channels, below the load threshold."""
    near = (me.busy / params.channels + me.near_load) / (1 + degree)
    return me.busy < params.channels - me.guard and near <= me.threshold


def connect(me, end, sim):
    """Give a call that ends at `end` a channel and power, and schedule what it does next."""
    params, tables = sim.params, sim.tables
    settle(me, sim.now)
    channel = me.in_use[me.busy]
    me.busy += 1
    me.end[channel], me.bound[channel] = end, -1
    me.gain[channel], me.power[channel] = draw_gain(sim), 0.0
    set_power(me, channel, params)
    first = tables.offsets[sim.me]
    degree = tables.offsets[sim.me + 1] - first
    if params.mobility and degree > 0:
        stay = sim.exponential(params.residence)
        if (sim.now + stay) + params.link_delay < end:  # the call lives to see its next cell
            me.pending += 1
            me.bound[channel] = sim.integers(degree)
            sim.emit(sim.me, stay, Kind.HANDOFF_LEAVE, channel, end)
            return
    sim.emit(sim.me, max(end - sim.now, 0.0), Kind.COMPLETION, channel, end)


def release(me, channel, now):
    """Take the channel from its call."""
    settle(me, now)
    me.busy -= 1
    last, place = me.in_use[me.busy], me.place[channel]
    me.in_use[place], me.place[last] = last, place
    me.in_use[me.busy], me.place[channel] = channel, me.busy
    if me.bound[channel] >= 0:
        me.pending -= 1
    me.transmitted = max(me.transmitted - me.power[channel], 0.0)
    me.end[channel], me.power[channel], me.bound[channel] = 0.0, 0.0, -1


def complete(me, channel, end, now):
    """The call on `channel` ends, if fading has not ended it before."""
    if me.end[channel] == end:
        release(me, channel, now)
        me.completed += 1


def leave(me, channel, end, sim):
    """The mobile moves on: its call leaves, unless fading has ended it, and asks for a channel there."""
    if me.end[channel] != end:
        return
    k = me.bound[channel]
    release(me, channel, sim.now)
    me.left += 1
    me.sent[k] += 1
    target = sim.tables.neighbours[sim.tables.offsets[sim.me] + k]
    sim.emit(target, sim.params.link_delay, Kind.HANDOFF_RECEIVE, end)


def arrive(me, sim):
    """A new call: admitted or blocked."""
    me.arrived += 1
    degree = sim.tables.offsets[sim.me + 1] - sim.tables.offsets[sim.me]
    admitted = admits(me, degree, sim.params)
    me.blocking += OF_LATE * ((0.0 if admitted else 1.0) - me.blocking)
    if admitted:
        connect(me, sim.now + sim.exponential(sim.params.duration), sim)
    else:
        me.blocked += 1


def receive(me, end, sim):
    """A call comes in by handoff: any free channel will do, without one it is dropped."""
    me.received += 1
    free = me.busy < sim.params.channels
    me.dropping += OF_LATE * ((0.0 if free else 1.0) - me.dropping)
    if free:
        connect(me, end, sim)
    else:
        me.dropped += 1


def recheck(me, sim):
    """Fading has changed: allocate power anew. A call that needs more than the cap is lost.

    From the channel taken last to the first, so that a release moves only calls that were visited.
    """
    for place in range(me.busy - 1, -1, -1):
        channel = me.in_use[place]
        me.gain[channel] = draw_gain(sim)
        lost = set_power(me, channel, sim.params) > me.cap
        me.outage += OF_LATE * ((1.0 if lost else 0.0) - me.outage)
        if lost:
            me.outages += 1
            release(me, channel, sim.now)


def settle(me, now):
    """Bring the integrals of calls and power over time up to date, before either changes."""
    passed = now - me.since
    me.area += me.busy * passed
    me.energy += me.transmitted * passed
    me.since = now
