"""Whether a phase is shared, and whether a step wakes the other workers at all.

A phase too small to share is done by one worker while the others sleep on. What it costs to share one
depends on how far apart the cores are, and whether somebody else has one of them, which may change at any
time: experience decides. So it does about whole steps: one in which anything is shared waits for all workers.
"""

from __future__ import annotations

from numba import int64

from seer_env.runtime.experience import (
    EXPLORE_NS,
    STEP,
    add_up,
    alone_ns,
    begin_stretches,
    chosen,
    likeness,
    row_of,
)
from seer_env.runtime.leq import kernel
from seer_env.runtime.phases import ACT, EXECUTE, NOTHING, OBSERVE, SETTLE
from seer_env.runtime.waiting import clock_ns
from seer_env.runtime.window import workers_of

#: A phase is shared when its work is worth more than this: a sleeping worker costs a wake-up of
#: several microseconds, and every line it touches moves between cores.
SHARE_NS = 12_000.0
#: And without asking experience when its work is worth more than this beyond the price of moving it.
CLEARLY_NS = 2_000_000.0
#: What it costs at most to move an item, or an event, to a core far away: some lines of 100 to 200 ns each.
MOVE_NS = 1000.0
#: A step does not count if more than one in so many of the phases that experience decided were tries.
MOST_TRIED = 16
#: The most items of a claim, whatever they are expected to cost: the first heavy ones are a surprise.
MOST_ITEMS = 256


@kernel
def worth_sharing(control, kind, total, cost):
    """Whether to publish a phase: by its work where that is clear, by experience where it is not.

    What it costs to share depends on how far apart the cores are, which may change at any time. So of
    phases of middling work some are done alone and some shared, and the next ones as is faster.
    """
    units = total * cost / control.event_cost if kind == EXECUTE else float(total)
    row, work = row_of(kind), total * cost
    usual = work if row < 0 else max(work, alone_ns(control, likeness(row, total), units))
    if usual <= control.share_ns and total <= MOST_ITEMS:
        return False
    if control.threads == 1:
        return True
    if max(0.0, work - units * MOVE_NS) > control.clearly_ns:
        return True
    if control.solo != 0:
        return False
    if row < 0:
        return True
    return chosen(control, row, likeness(row, total), int64(EXPLORE_NS / usual))


@kernel
def judge_step(control):
    """Before a step begins: learn what the last one took, and whether this one is to wake the other workers.

    A step that shares a phase waits at its end until every worker has come and gone, which takes milliseconds
    where another process has a core. No phase shows that, whole steps do. Those of much work are worth it
    anyhow, by what items cost now: by what either way has taken, one of them might never be tried again.
    """
    took, done = float(control.left_at - control.begun_at), control.events + control.n_agents
    known = control.left_at != 0 and control.alone != 0
    alone = control.solo != 0 or control.pooled == 0
    before, spoilt = control.solo, MOST_TRIED * control.tries > control.choices
    control.left_at, control.solo, control.pooled = 0, 0, 0
    begin_stretches(control)
    if not known:
        control.streak[STEP], control.settled[STEP] = 0, 0
        return
    k = likeness(STEP, done)
    if work_of_step(control) > control.clearly_ns:
        return
    if took <= control.share_ns or spoilt:
        control.solo = before
        return
    if alone:
        add_up(control, control.direct_ns, control.direct_units, STEP, k, took, done)
    else:
        add_up(control, control.shared_ns, control.shared_units, STEP, k, took, done)
    usual = alone_ns(control, k, done)
    if not chosen(control, STEP, k, int64(EXPLORE_NS / (usual if usual > 0.0 else took))):
        control.solo = 1
    if control.solo != before:
        control.streak[:STEP], control.settled[:STEP] = 0, 0


@kernel
def work_of_step(control):
    """What the last step's events, actions and outputs are expected to take one worker, nanoseconds."""
    each = control.action_cost + control.output_cost
    return control.events * control.event_cost + control.n_agents * each


@kernel
def wall_of(control, kind, started):
    """What a phase that has just ended took; for outputs, the last phase, what the whole step took.

    Rows that another core wrote in the last step are fetched when this one writes them, from its first
    phase on: that too is the price of sharing them.
    """
    return float(clock_ns() - (control.begun_at if kind == OBSERVE else started))


@kernel
def remember(control, ns, units, kind, total, elapsed, done):
    """Add a phase of `total` items, which did `done` events or items, to what is known of phases like it."""
    row = row_of(kind)
    if done > 0 and control.solo == 0 and row >= 0:
        add_up(control, ns, units, row, likeness(row, total), elapsed, done)


@kernel
def moving_average(average, elapsed, items):
    """Of an item's cost in nanoseconds of one worker's time.

    A measurement counts as at most eightfold the average: one that a preempted core has spoilt must
    not have small phases shared for many steps.
    """
    if items == 0:
        return average
    return 0.75 * average + 0.25 * min(max(1.0, elapsed / items), 8.0 * average)


@kernel
def learn(control, kind, elapsed, total, events):
    """Learn from a phase what one of its items costs; for a direct round `next_round` learns of events."""
    if kind == ACT:
        control.action_cost = moving_average(control.action_cost, elapsed, total)
    elif kind == OBSERVE:
        control.output_cost = moving_average(control.output_cost, elapsed, total)
    elif kind == SETTLE:
        control.settle_cost = moving_average(control.settle_cost, elapsed, total)
    elif kind == EXECUTE:
        control.events_per_entity = 0.75 * control.events_per_entity + 0.25 * events / total


@kernel
def learn_from_shared(control):
    """Learn from the phase that has just been completed by all workers."""
    kind, total = control.shared_kind, control.shared_total
    control.shared_kind = NOTHING
    if kind == NOTHING:
        return
    events, measured = totals(control)
    events, elapsed = events - control.events_before, measured - control.measured_before
    learn(control, kind, elapsed, total, events)
    if kind == EXECUTE:  # whose wall time ends when it is settled
        control.event_cost = moving_average(control.event_cost, elapsed, events)
        control.executed_events = events
    else:
        wall = wall_of(control, kind, control.phase_started)
        remember(control, control.shared_ns, control.shared_units, kind, total, wall, total)


@kernel
def totals(control):
    """Events executed in this step, and measured nanoseconds of claims, by all workers."""
    workers = workers_of(control)
    events, measured = int64(0), 0.0
    for w in range(control.threads):
        events += workers[w].events
        measured += workers[w].measured
    return events, measured
