"""What events do to an aircraft; scalar functions that the handlers of `Aircraft` call."""

from __future__ import annotations

from seer_env.envs.aircraft.conflict import INFINITY, collides, predicted
from seer_env.envs.aircraft.kinematics import clamped, wrapped

__all__ = ["advise", "begin_step", "hear", "set_targets"]

REPORT, RESOLVE, SENSE = 2, 3, 4  # members of Aircraft.Kind


def set_targets(me, action, params):
    """An action of three numbers in [-1, 1]: change of heading (left positive), speed and climb."""
    a, b, c = action[0], action[1], action[2]
    if params.discrete:
        a, b, c = 0.5 * a - 1.0, 0.5 * b - 1.0, 0.5 * c - 1.0
    me.target_heading = wrapped(me.heading + a * params.heading_step)
    me.target_speed = clamped(me.speed + b * params.speed_step, params.min_speed, params.max_speed)
    me.target_climb = clamped(me.climb + c * params.climb_step, -params.max_climb, params.max_climb)
    me.effort = (a * a + b * b + c * c) / 3.0


def begin_step(me, sim):
    """First tick of a step: leave if collided, let reports age, tell or sense positions."""
    me.to_go_before = me.to_go
    for k in range(sim.params.neighbours):
        if me.near_id[k] >= 0:
            me.near_age[k] += 1
            if me.near_age[k] >= sim.params.expiry:
                me.near_id[k] = -1
    exchange(me, sim)


def exchange(me, sim):
    """Send my position to the neighbours in range, or schedule the sensing of theirs."""
    params = sim.params
    ids = sim.within(params.range)
    stride = 1 + me.crowd // params.receivers
    turn = me.reports % stride
    crowd, sent = 0, 0
    for q in range(len(ids)):
        j = ids[q]
        other = sim.view(j)
        if other.active == 1 and abs(other.z - me.z) < params.reach:
            if collides(me, other, params):
                me.active = 0
                return  # who has collided tells nobody any more
            if crowd % stride == turn and sent < params.receivers:
                sent += 1
                if params.communication:
                    sim.emit(
                        j, params.link_delay, REPORT, sim.me, me.x, me.y, me.z,
                        me.vx, me.vy, me.climb, me.turn, me.turn_time, me.level,
                    )  # fmt: skip
                else:
                    sim.emit(
                        sim.me, params.link_delay, SENSE, j, other.x, other.y, other.z,
                        other.vx, other.vy, other.climb, other.turn, other.turn_time, other.level,
                    )  # fmt: skip
            crowd += 1
    me.crowd = crowd
    me.reports += 1


def hear(me, report, sim):
    """A position: predict the closest approach, remember the neighbour if urgent, resolve a loss."""
    if me.active == 0:
        return
    params = sim.params
    own = sim.view(sim.me)
    t_in, ratio = predicted(me, own, report, params, sim.tables)
    urgency = t_in if t_in < INFINITY else params.horizon * (1.0 + ratio)
    remember(me, report, urgency, ratio, params)
    dx, dy, dz = report[1] - own.x, report[2] - own.y, report[3] - own.z
    if dx * dx + dy * dy < params.separation_h * params.separation_h and abs(dz) < params.separation_v:
        separate(me, int(report[0]), dz, sim)


def remember(me, report, urgency, ratio, params):
    """Keep the report in the neighbour's slot, a free one, or that of the least urgent, if less urgent."""
    sender, slot, worst = int(report[0]), -1, urgency
    for k in range(params.neighbours):
        if me.near_id[k] == sender:
            slot = k
            break
        value = INFINITY if me.near_id[k] < 0 else me.near_urgency[k]
        if value > worst:
            slot, worst = k, value
    if slot < 0:
        return
    me.near_id[slot], me.near_age[slot] = sender, 0
    me.near_x[slot], me.near_y[slot], me.near_z[slot] = report[1], report[2], report[3]
    me.near_vx[slot], me.near_vy[slot], me.near_vz[slot] = report[4], report[5], report[6]
    me.near_urgency[slot], me.near_ratio[slot] = urgency, ratio


def separate(me, other, dz, sim):
    """Loss of separation: the higher climbs, the lower descends; at equal height the lower index climbs.

    With communication the lower index decides for the pair and tells the other.
    """
    params = sim.params
    above = dz < 0.0 or (dz == 0.0 and sim.me < other)
    sense = 1.0 if above else -1.0
    if not params.communication:
        advise(me, sense, sim.now, params)
    elif sim.me < other:
        advise(me, sense, sim.now, params)
        sim.emit(other, params.link_delay, RESOLVE, -me.advisory)


def advise(me, sense, now, params):
    """Take up a resolution advisory; one in force is prolonged or kept, never reversed."""
    if now >= me.advisory_end:
        me.advisory = sense
    if me.advisory == sense:
        me.advisory_end = now + params.advisory_time
