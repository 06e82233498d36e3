"""The worker of Time Warp: phases as in `runtime/worker.py`, with a partition each in those of the window."""

from __future__ import annotations

import numpy as np
from numba import int64

from seer_env.runtime.atomics import add, array_at, call3, compare_and_swap, load, record_at
from seer_env.runtime.layout import CONTROL, OPEN, STRIDE
from seer_env.runtime.leq import kernel
from seer_env.runtime.phases import ACT, EXECUTE, SETTLE, perform_boundary
from seer_env.runtime.time_warp.binding import prepare
from seer_env.runtime.time_warp.gvt import advancing
from seer_env.runtime.time_warp.layout import (
    VISITED,
    entities_of,
    executions_of,
    partitions_of,
    visiting_of,
    warp_of,
)
from seer_env.runtime.time_warp.messages import push
from seer_env.runtime.time_warp.visit import settle, visit
from seer_env.runtime.transition import offering, transitions
from seer_env.runtime.window import pool_of, sync_of, workers_of
from seer_env.runtime.worker import WORKER_BYTES, begin, claim, working


@kernel
def claim_partition(control, worker, phase, kind, total, grain):
    """Claim a partition in a phase of the window, the worker's own if it can be had; or as `claim`."""
    if kind != EXECUTE and kind != SETTLE:
        return claim(control, worker, phase, kind, total, grain)
    if load(sync_of(control), OPEN) != phase:  # the description may be the next phase's
        return int64(0), int64(0)
    taken = array_at(warp_of(control).taken, np.int64)
    for k in range(total):
        p = (worker.index + k) % total
        last = load(taken, p * STRIDE)
        if last < phase:
            if compare_and_swap(taken, p * STRIDE, last, phase) == last:
                if kind == EXECUTE:
                    add(visiting_of(warp_of(control)), VISITED, int64(1))
                return p, p + 1
            worker.lost_claims += 1
    return int64(0), int64(0)


@kernel
def push_collected(control, slot):
    """Send what actions have emitted, linked from `slot`, to inboxes."""
    warp = warp_of(control)
    entities, executions, pool = entities_of(warp), executions_of(warp), pool_of(control)
    while slot >= 0:
        older = int64(pool[slot].sibling)
        executions[slot].executed = 0
        push(control, int64(entities[pool[slot].target].partition), slot * 2)
        slot = older


@kernel
def perform_warp(control, worker, worker_address, kind, first, last):
    """Do the items `first..last-1` of a phase."""
    if kind == EXECUTE:
        for p in range(first, last):
            visit(control, worker, worker_address, partitions_of(warp_of(control))[p])
    elif kind == SETTLE:
        for p in range(first, last):
            settle(control, worker, worker_address, partitions_of(warp_of(control))[p])
    elif kind == ACT:
        worker.collected, worker.emission_limit = int64(-1), control.emission_limit
        call3(control.act, first, last, worker_address)
        push_collected(control, worker.collected)
    else:
        perform_boundary(control, worker_address, kind, first, last)


transition = transitions("warp", offering("warp", perform_warp), advancing(perform_warp))
work = working("warp", claim_partition, perform_warp, transition)


def warp_main(index, control_address):
    """C entry point of worker `index`; -1 begins a step as worker 0."""
    control = record_at(control_address, CONTROL)
    me = max(index, int64(0))
    worker_address = control.workers + me * WORKER_BYTES
    if index < 0:
        prepare(control)
        begin(control)
    work(control, workers_of(control)[me], worker_address)
