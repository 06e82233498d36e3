"""Between visits, alone: GVT, what follows from it, and how far the next visits may run ahead.

Samadi, "Distributed simulation, algorithms and performance analysis", UCLA 1985, defines GVT. Here no
message is on its way when it is computed: all are in inboxes, since the visits are over.
"""

from __future__ import annotations

import math

import numpy as np
from numba import int64

from seer_env.runtime.atomics import load, store
from seer_env.runtime.layout import STRIDE
from seer_env.runtime.leq import earlier, free_slot, kernel, remove_root
from seer_env.runtime.phases import EXECUTE, SETTLE
from seer_env.runtime.recording import count_round
from seer_env.runtime.sharing import moving_average
from seer_env.runtime.time_warp.binding import bind, clear_loads, imbalance
from seer_env.runtime.time_warp.history import (
    commit,
    commit_all,
    drop_cancelled,
    forget,
    hand_on,
    run_handler,
    show,
    undo,
)
from seer_env.runtime.time_warp.layout import (
    ARRIVED,
    VISITED,
    entities_of,
    partitions_of,
    visiting_of,
    warp_of,
)
from seer_env.runtime.time_warp.messages import following, inboxes_of
from seer_env.runtime.time_warp.visit import earliest, find_least, work_off, work_off_inbox
from seer_env.runtime.transition import AT_BOUNDARY, AT_EXECUTED, AT_SETTLE, AT_SETTLED, AT_WINDOW, share
from seer_env.runtime.waiting import clock_ns
from seer_env.runtime.window import leq_of, pool_of, sync_of

#: Bounds of the events of a window, and of those between GVT and horizon per partition.
MOST_SPREAD, LEAST_AHEAD, MOST_AHEAD = 1024.0, 32.0, 1024.0
#: Events of a window at most, even where a longer one cannot go wrong: what is uncommitted fits the cache.
MOST_IN_WINDOW = 2048.0
#: How much farther than the horizon a visit goes while others are on their way to it.
REACH = 3.0
#: Executions between two saved rows at most, and bytes of a row that is always saved: copying costs little.
MOST_INTERVAL, SMALL_ROW = 8, 256
#: Bytes of a row that are copied per nanosecond.
COPY_SPEED = 16.0
#: In a long step: rounds of visits between looks at how even the load is, and the imbalance put right.
ROUNDS_PER_BINDING, IMBALANCE = 64, 1.15
#: Events executed in key order before a cautious step looks at the clock.
EVENTS_PER_LOOK = 64


# -- GVT -----------------------------------------------------------------------------------------------


@kernel
def find_gvt(control):
    """GVT: the least key of an event that is not executed, or of a message."""
    warp = warp_of(control)
    partitions = partitions_of(warp)
    warp.gvt_time, warp.gvt_seq = np.inf, int64(-1)
    gvt_entity = int64(-1)
    for p in range(control.threads):
        part = partitions[p]
        if part.least_entity >= 0 and earlier(part.least_time, part.least_seq, warp.gvt_time, warp.gvt_seq):
            warp.gvt_time, warp.gvt_seq, gvt_entity = part.least_time, part.least_seq, part.least_entity
    for p in range(control.threads):
        message = load(inboxes_of(warp), p * STRIDE)
        while message >= 0:
            event = pool_of(control)[message >> 1]
            if earlier(event.time, event.seq, warp.gvt_time, warp.gvt_seq):
                warp.gvt_time, warp.gvt_seq, gvt_entity = event.time, event.seq, int64(-1)
            message = following(control, message)
    return gvt_entity


@kernel
def start_gvt(control):
    """GVT before the first visit of a step: a bound by time alone."""
    warp = warp_of(control)
    warp.gvt_time, warp.gvt_seq = np.inf, int64(-1)
    for p in range(control.threads):
        warp.gvt_time = min(warp.gvt_time, earliest(warp, partitions_of(warp)[p]))
        message = load(inboxes_of(warp), p * STRIDE)
        while message >= 0:
            warp.gvt_time = min(warp.gvt_time, pool_of(control)[message >> 1].time)
            message = following(control, message)


@kernel
def execute_for_good(control, worker, worker_address, i):
    """Execute the event at GVT, which nothing can undo: a rule that it breaks is broken."""
    warp = warp_of(control)
    pool, queue = pool_of(control), leq_of(control)[i]
    entity = entities_of(warp)[i]
    part = partitions_of(warp)[entity.partition]
    commit(control, worker, part)
    forget(control, worker, part, i)  # nothing coasts over this event
    slot = queue.root
    remove_root(pool, queue)
    drop_cancelled(pool, worker, sync_of(control), part, queue)
    run_handler(control, worker, worker_address, i, slot, control.emission_limit)
    if worker.stopped:
        return
    hand_on(control, part, worker.collected, i)
    free_slot(pool, worker, sync_of(control), slot)
    worker.events += 1
    entity.stuck = 0
    show(warp, part, i, queue, False)
    work_off(control, worker, worker_address, part)
    find_least(control, part)


# -- rebinding -----------------------------------------------------------------------------------------


@kernel
def rebind(control, worker, worker_address):
    """Bind entities by their load; what lies beyond GVT is undone before, so that nothing is on its way."""
    warp = warp_of(control)
    partitions, entities = partitions_of(warp), entities_of(warp)
    for p in range(control.threads):
        part = partitions[p]
        for i in range(part.first, part.last):
            if entities[i].newest >= 0:
                undo(control, worker, worker_address, part, i, warp.gvt_time, warp.gvt_seq)
                show(warp, part, i, leq_of(control)[i], entities[i].stuck != 0)
    open_messages = True
    while open_messages:
        open_messages = False
        for p in range(control.threads):
            if load(inboxes_of(warp), p * STRIDE) >= 0 or partitions[p].head >= 0:
                open_messages = True
                work_off_inbox(control, worker, worker_address, partitions[p])
    for p in range(control.threads):
        commit_all(control, worker, partitions[p])
    bind(control)
    warp.bindings += 1


# -- how far to run ahead ------------------------------------------------------------------------------


@kernel
def last_round(control):
    """Of the visits that have just ended: executions, those undone, those undone by their own partition,
    rollbacks, and nanoseconds."""
    warp = warp_of(control)
    executed, undone, by_own = -warp.executed, -warp.undone, -warp.undone_by_own
    stragglers, worked = -warp.stragglers, -warp.worked
    for p in range(control.threads):
        part = partitions_of(warp)[p]
        executed += part.executed
        undone += part.undone
        by_own += part.undone_by_own
        stragglers += part.stragglers
        worked += part.worked
    warp.executed += executed
    warp.undone += undone
    warp.undone_by_own += by_own
    warp.stragglers += stragglers
    warp.worked += worked
    return float(executed), float(undone), float(by_own), float(stragglers), float(worked)


@kernel
def adapt(control, gvt_before):
    """Learn from a round of visits how dense events are, what they cost and how much of them is undone."""
    warp = warp_of(control)
    done, lost, lost_by_own, stragglers, worked = last_round(control)
    warp.expected = done
    if done > 0.0:
        warp.event_cost = moving_average(warp.event_cost, worked, done)
        warp.between = 0.75 * warp.between + 0.25 * done / (1.0 + stragglers)
    if warp.adaptive:
        warp.interval = best_interval(warp)
    advance = min(warp.gvt_time, control.end) - gvt_before
    if advance > 0.0 and done > lost:
        warp.density += 0.25 * ((done - lost) / advance - warp.density)
    if warp.fixed or done == 0.0:
        return
    if lost_by_own > 0.04 * done:
        warp.spread = max(1.0, 0.5 * warp.spread)
    elif lost_by_own < 0.01 * done:
        warp.spread = min(MOST_SPREAD, 1.25 * warp.spread)
    threads = float(control.threads)
    if lost - lost_by_own > 0.2 * done:
        warp.ahead = max(LEAST_AHEAD * threads, 0.7 * warp.ahead)
    elif lost - lost_by_own < 0.1 * done:
        warp.ahead = min(MOST_AHEAD * threads, 1.2 * warp.ahead)


@kernel
def best_interval(warp):
    """Executions between two saved rows that cost least (as Lin, Preiss, Loucks and Lazowska choose it).

    With a row of cost s saved before every k-th execution of cost c, and a rollback in every a-th, which
    coasts over (k - 1) / 2 on average, an execution costs s / k + c (k - 1) / (2 a) more: least at
    k = sqrt(2 a s / c).
    """
    if warp.row_bytes <= SMALL_ROW:
        return int64(1)
    saving = warp.row_bytes / COPY_SPEED
    best = math.sqrt(2.0 * warp.between * saving / warp.event_cost)
    return max(int64(1), min(int64(best), int64(MOST_INTERVAL)))


@kernel
def limit_optimism(control):
    """Set the horizon, the window and the quota of the next visits, none of which has begun."""
    warp = warp_of(control)
    warp.window = control.lookahead
    warp.horizon = control.end
    if warp.density > 0.0:
        warp.window = min(max(warp.window, warp.spread / warp.density), MOST_IN_WINDOW / warp.density)
        warp.horizon = min(control.end, warp.gvt_time + max(warp.ahead / warp.density, warp.window))
    warp.horizon = max(warp.horizon, np.nextafter(warp.gvt_time, np.inf))
    warp.reach = min(control.end, warp.gvt_time + REACH * (warp.horizon - warp.gvt_time))
    store(visiting_of(warp), VISITED, int64(0))
    store(visiting_of(warp), ARRIVED, int64(0))
    if not warp.fixed:
        warp.quota = int64(2.0 * warp.ahead / control.threads) + 64


# -- the stages of the window --------------------------------------------------------------------------


def advancing(perform):
    """The `advance` of the scheduler (`transition.transitions`), whose `perform` makes the visits."""

    @kernel
    def advance_warp(control, worker, worker_address):
        """Do what a stage must do alone and what is too small to share; True when a phase was published."""
        warp = warp_of(control)
        if control.stage == AT_SETTLE:
            start_gvt(control)
            control.stage = AT_WINDOW
            if warp.cautious:
                for p in range(control.threads):
                    find_least(control, partitions_of(warp)[p])
            return False
        if control.stage == AT_SETTLED:
            control.stage = AT_BOUNDARY
            return False
        if control.stage == AT_EXECUTED:
            after_visits(control, worker, worker_address)
            control.stage = AT_WINDOW
            return False
        if warp.gvt_time >= control.end:
            control.stage, kind = AT_SETTLED, SETTLE
        elif warp.cautious:
            execute_in_order(control, worker, worker_address)
            return False
        else:
            limit_optimism(control)
            control.lbts, control.window = warp.gvt_time, warp.horizon
            count_round(control, worker, int64(-1))
            control.stage, kind = AT_EXECUTED, EXECUTE
        each = warp.expected * warp.event_cost / control.threads
        if control.threads == 1 or each * control.threads <= control.share_ns:
            control.direct = 1
            perform(control, worker, worker_address, kind, int64(0), control.threads)
            return False
        control.shared_rounds += 1 if kind == EXECUTE else 0
        share(control, kind, control.threads, max(each, 1.0), int64(1))
        return True

    return advance_warp


@kernel
def after_visits(control, worker, worker_address):
    """GVT, and what follows from it."""
    warp = warp_of(control)
    before = warp.gvt_time
    i = find_gvt(control)
    adapt(control, before)
    if i >= 0 and warp.gvt_time < control.end and entities_of(warp)[i].stuck:
        execute_for_good(control, worker, worker_address, i)
        if worker.rule == 0:
            find_gvt(control)
        return
    warp.visits += 1
    if control.threads > 1 and warp.visits >= ROUNDS_PER_BINDING:
        if imbalance(control) > IMBALANCE:
            rebind(control, worker, worker_address)
        else:
            clear_loads(control)


@kernel
def execute_in_order(control, worker, worker_address):
    """Event by event in key order, nothing ahead: what only the order of all events can decide."""
    warp = warp_of(control)
    for _ in range(EVENTS_PER_LOOK):
        for p in range(control.threads):
            part = partitions_of(warp)[p]
            work_off_inbox(control, worker, worker_address, part)
            find_least(control, part)
        i = find_gvt(control)
        if worker.rule != 0 or warp.gvt_time >= control.end:
            return
        control.lbts = control.window = warp.gvt_time
        count_round(control, worker, int64(1))
        execute_for_good(control, worker, worker_address, i)
        if worker.rule != 0 or clock_ns() > control.deadline:
            return
