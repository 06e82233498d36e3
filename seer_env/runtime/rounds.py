"""Rounds of the `serial` and `seer` schedulers: one safe window after the other, until all is drained."""

from __future__ import annotations

from numba import int64

from seer_env.runtime.leq import kernel
from seer_env.runtime.phases import EXECUTE, MOST_EVENTS, SETTLE, execute_alone, perform
from seer_env.runtime.recording import count_round
from seer_env.runtime.sharing import moving_average, remember
from seer_env.runtime.transition import (
    AT_BOUNDARY,
    AT_EXECUTED,
    AT_SETTLE,
    AT_SETTLED,
    AT_WINDOW,
    offering,
    transitions,
)
from seer_env.runtime.waiting import clock_ns
from seer_env.runtime.window import (
    blocks_of,
    open_window,
    refresh_blocks,
    refresh_supers,
    touched_of,
    unsettled_blocks,
)

#: Rounds that one worker executes before it learns what an event costs, and the time after which it
#: does so earlier.
ROUNDS_PER_LOOK, LOOK_NS = 64, 500_000

# Kinds are passed on as int64: a literal would have everything behind it compiled once for each.
offer = offering("seer", perform)


@kernel
def advance(control, worker, worker_address):
    """Do what a stage must do alone and what is too small to share; True when a phase was published."""
    stage = control.stage
    if stage == AT_SETTLE:
        control.n_blocks_ready = unsettled_blocks(control)
        control.stage = AT_SETTLED
        n = control.n_blocks_ready
        return offer(control, worker, worker_address, int64(SETTLE), n, control.settle_cost)
    if stage == AT_SETTLED:
        refresh_supers(control, control.n_blocks_ready)
        if control.settling != 0:
            elapsed = float(clock_ns() - control.executed_from)
            walls = control.shared_ns, control.shared_units
            remember(control, *walls, int64(EXECUTE), control.settling, elapsed, control.executed_events)
            control.settling = 0
        control.stage = AT_WINDOW
    elif stage == AT_EXECUTED:
        control.stage = after_execute(control)
    else:
        return next_round(control, worker, worker_address)
    return False


@kernel
def next_round(control, worker, worker_address):
    """Rounds too small to share, one after the other; True when a phase was published.

    Returns False when the window is drained or a rule broken (`control.stage` tells), or it is time
    to look at the clock.
    """
    started, events = clock_ns(), worker.events
    looked = events
    for _ in range(ROUNDS_PER_LOOK):
        n = open_window(control)
        if n == 0:
            control.stage = AT_BOUNDARY
            break
        count_round(control, worker, n)
        if n == 1:
            execute_alone(control, worker, worker_address)
            if worker.events - looked >= MOST_EVENTS:
                looked = worker.events
                if clock_ns() - started > LOOK_NS:
                    break
        else:
            control.stage = AT_EXECUTED
            cost = control.event_cost * control.events_per_entity
            if offer(control, worker, worker_address, int64(EXECUTE), n, cost):
                control.shared_rounds += 1 - control.direct
                return True
            control.stage = AT_WINDOW
            refresh_blocks(control, control.n_blocks_ready)
            if clock_ns() - started > LOOK_NS:
                break
        if worker.rule != 0:
            control.stage = AT_EXECUTED
            break
    elapsed = float(clock_ns() - started)
    control.event_cost = moving_average(control.event_cost, elapsed, worker.events - events)
    return False


@kernel
def after_execute(control):
    """Have the tree of minima follow an executed phase."""
    if control.direct:
        refresh_blocks(control, control.n_blocks_ready)
        return AT_WINDOW
    control.settling, control.executed_from = control.shared_total, control.phase_started
    touched, blocks = touched_of(control), blocks_of(control)
    for q in range(control.n_blocks_ready):
        touched[blocks[q]] = 1
    return AT_SETTLE


transition = transitions("seer", offer, advance)
