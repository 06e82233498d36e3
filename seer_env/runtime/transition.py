"""The transition from one phase of a step to the next, run by one worker at a time.

A step goes through stages. Each does what little must be done alone and names the phase that
follows. A phase too small to share is executed at once by the worker that is here, the others sleep
on; a larger one is published to all.
"""

from __future__ import annotations

import numpy as np
from numba import carray, int64

from seer_env.runtime.atomics import add, array_at, exchange, load, pointer, store
from seer_env.runtime.layout import CLAIMS, DONE, GRAIN, KIND, OPEN, PHASE, SLEEPERS, STRIDE, TOTAL
from seer_env.runtime.leq import CAPACITY, kernel, kernel_for
from seer_env.runtime.phases import ACT, COUNT_CELLS, EXECUTE, NOTHING, OBSERVE, PUBLISH, RESUME, STOP
from seer_env.runtime.recording import record
from seer_env.runtime.sharing import (
    MOST_ITEMS,
    learn,
    learn_from_shared,
    remember,
    totals,
    wall_of,
    worth_sharing,
)
from seer_env.runtime.waiting import clock_ns, wake_all
from seer_env.runtime.window import sync_of, workers_of

#: Stages: what the transition does next.
(AT_ACTIONS, AT_SETTLE, AT_SETTLED, AT_WINDOW, AT_EXECUTED, AT_BOUNDARY, AT_COUNTED, AT_OUTPUTS, AT_END) = (
    range(9)
)
#: Why a call returned.
RUNNING, FINISHED, BREACHED = 0, 1, 2

#: A claim should last about this long: far above the cost of claiming, far below a step.
GRAIN_NS = 4_000.0
#: A claim should not last longer than this: between two claims a worker looks at the clock, and
#: Ctrl-C waits for it.
PAUSE_NS = 20_000_000.0
#: Rough costs per entity of counting and of publishing, nanoseconds.
COUNT_NS, PUBLISH_NS = 4.0, 8.0


@kernel
def publish(control, kind, total, grain):
    """Open a phase. Release of everything written before it; wakes who sleeps."""
    sync = sync_of(control)
    phase = load(sync, PHASE) + 1
    # First of all: who reads a new description below finds that its own phase is over.
    store(sync, OPEN, phase)
    store(sync, KIND, kind)
    store(sync, TOTAL, total)
    store(sync, GRAIN, grain)
    store(sync, DONE, int64(0))
    for part in range(control.threads):
        store(sync, CLAIMS + part * STRIDE, phase << 32 | total * part // control.threads)
    exchange(sync, PHASE, phase)
    if add(sync, SLEEPERS, int64(0)) > 0:
        wake_all(sync, PHASE)


def offering(scheduler, perform):
    """The `offer` of a scheduler, whose `perform` does items of a phase as `phases.perform` does."""

    @kernel_for(scheduler)
    def offer(control, worker, worker_address, kind, total, cost):
        """Execute a phase at once if it is too small to share, else publish it; True if published.

        `cost` is expected of one item, in nanoseconds.
        """
        if total == 0:
            return False
        if not worth_sharing(control, kind, total, cost):
            control.direct = 1
            started, events = clock_ns(), worker.events
            perform(control, worker, worker_address, kind, int64(0), total)
            ended, events = clock_ns(), worker.events - events
            if worker.spans != 0 and kind != EXECUTE:  # of which `count_round` writes
                record(worker, kind, int64(0), control.rounds, started, ended, int64(0), total, events)
            elapsed = float(ended - started)
            learn(control, kind, elapsed, total, events)
            units = events if kind == EXECUTE else total
            wall = wall_of(control, kind, started)
            remember(control, control.direct_ns, control.direct_units, kind, total, wall, units)
            return False
        least, most = int64(GRAIN_NS / cost), int64(PAUSE_NS / cost)
        share(control, kind, total, cost, grains(min(least, most), most))
        return True

    return offer


@kernel
def grains(least, most):
    """The word `GRAIN`: the least and the most items of a claim."""
    return (min(max(int64(1), most), MOST_ITEMS) << 32) | min(max(int64(1), least), MOST_ITEMS)


@kernel
def share(control, kind, total, cost, grain):
    """Publish a phase, and remember from where on to learn what it costs."""
    control.direct = 1 if control.threads == 1 else 0
    control.events_before, control.measured_before = totals(control)
    control.shared_kind, control.shared_total = kind, total
    control.shared_cost = control.event_cost if kind == EXECUTE else cost
    control.phase_started = clock_ns()
    publish(control, kind, total, grain)


@kernel
def stopped_by_breach(control):
    """Whether any worker met a breach, or all together emitted too much."""
    workers = workers_of(control)
    emitted = int64(0)
    for w in range(control.threads):
        if workers[w].rule != 0:
            return True
        emitted += workers[w].emitted
    if emitted > control.emission_limit:
        worker = workers[0]
        worker.rule, worker.breach_entity, worker.breach_kind = CAPACITY, worker.me, worker.kind
        worker.breach_time = worker.now
        return True
    return False


@kernel
def sum_histograms(control):
    """Turn per-part cell counts into first ranks: by cell, then part, then entity index."""
    starts = array_at(control.starts, np.int64)
    counts = carray(pointer(control.histogram), (control.parts, control.n_cells), np.int32)
    rank = int64(0)
    for cell in range(control.n_cells):
        starts[cell] = rank
        for part in range(control.parts):
            count = counts[part, cell]
            counts[part, cell] = rank
            rank += count
    starts[control.n_cells] = rank


@kernel
def finish(control, status):
    """End the step."""
    control.status = status
    control.stage = AT_END
    control.events, _ = totals(control)
    control.ended_at = clock_ns()
    publish(control, int64(STOP), int64(0), int64(1))


@kernel
def output_rows(control):
    """Rows of the output phase: agents, or with a grid all ranks, so that neighbours run together."""
    if control.n_agents == 0:
        return int64(0)
    return control.n_entities if control.count_cells != 0 else control.n_agents


@kernel
def next_phase(control, worker):
    """Do what a stage must do alone; returns the phase that follows: kind, items, cost of one."""
    stage, entities = control.stage, float(control.n_entities)
    if stage == AT_ACTIONS:
        control.stage = AT_SETTLE
        return ACT if control.act != 0 else NOTHING, control.n_agents, control.action_cost
    if stage == AT_BOUNDARY:
        control.drained_at, control.clock = clock_ns(), control.end
        worker.drained_at = control.drained_at
        control.stage = AT_COUNTED
        if control.count_cells != 0:
            return COUNT_CELLS, control.parts, COUNT_NS * entities / control.parts
    elif stage == AT_COUNTED:
        control.stage = AT_OUTPUTS
        if control.count_cells != 0:
            sum_histograms(control)
        if control.publish != 0:
            return PUBLISH, control.parts, PUBLISH_NS * entities / control.parts
    elif stage == AT_OUTPUTS:
        control.stage = AT_END
        return OBSERVE, output_rows(control), control.output_cost
    return NOTHING, int64(0), 0.0


def transitions(scheduler, offer, advance):
    """The `transition` of a scheduler: its `offering`, and what it does between actions and boundary.

    `advance(control, worker, worker_address)` does what its stage must do alone, and what is too small to
    share; it returns True if it has published a phase.
    """

    @kernel_for(scheduler)
    def transition(control, worker, worker_address):
        """Go through the stages until a phase is published."""
        learn_from_shared(control)
        while True:
            if stopped_by_breach(control):
                finish(control, BREACHED)
                return
            if control.stage == AT_END:
                finish(control, FINISHED)
                return
            if control.stage == AT_WINDOW and clock_ns() > control.deadline:
                publish(control, int64(RESUME), int64(1), int64(1))
                return
            if AT_SETTLE <= control.stage <= AT_EXECUTED:
                if advance(control, worker, worker_address):
                    return
            else:
                kind, total, cost = next_phase(control, worker)
                if kind != NOTHING and offer(control, worker, worker_address, kind, total, cost):
                    return

    return transition
