"""Memory layout of Time Warp: what is kept beside the queue lines, the events, and per partition.

A partition is the set of entities bound to one worker: a range of indices. Its entities' next times lie
side by side in blocks of their own, so that finding its earliest is a scan of vectors.
"""

from __future__ import annotations

import numpy as np
from numba import int64

from seer_env.runtime.atomics import FANOUT, array_at, record_at
from seer_env.runtime.layout import ALIGNMENT, STRIDE
from seer_env.runtime.leq import kernel

#: Beside the queue line of an entity.
ENTITY = np.dtype(
    [
        ("newest", "i4"),  # slot of its latest execution that may be undone, or -1
        ("partition", "i4"),
        ("unsaved", "i4"),  # executions since its row was last saved
        ("listed", "i4"),  # 1: in its partition's list of entities that have executions
        ("stuck", "i4"),  # 1: its first event broke a rule; it waits until GVT is there or something changes
        ("load", "i4"),  # since loads were last cleared: its share of the work, in units that `timed` tells
    ],
    align=True,
)

#: Beside an event: what its execution must remember.
EXECUTION = np.dtype(
    [
        ("stream", "u8"),  # of its entity before the execution, as the next one
        ("emitted", "i4"),
        ("executed", "i4"),  # `EXECUTED`, `COMMITTED`, or 0
        ("previous", "i4"),  # slot of the execution before it of the same entity, or -1
        ("saved", "i4"),  # number of the saved row of its entity before the execution, or -1
        ("sent", "i4"),  # slot of the last event that it emitted, or -1
        # slot of the event emitted before this one by the same execution, or -1. The link of the
        # cancellation once this event is being cancelled: the execution's emissions are forgotten then.
        ("chain", "i4"),
    ],
    align=True,
)

#: Executed and not undone; that, and before GVT, kept for coasting only.
EXECUTED, COMMITTED = 1, 2

#: One per partition, written by who holds it: the claimant of its visit, or the transition.
PARTITION = np.dtype(
    [
        ("index", "i8"),
        ("first", "i8"),  # entities first..last-1
        ("last", "i8"),
        ("shift", "i8"),  # entity i's next time is at i + shift; a multiple of 64 x 64 where i = first
        ("listed", "i8"),  # entities in its list, which starts at `first`
        ("head", "i8"),  # messages that wait for this worker: first and last, or -1
        ("tail", "i8"),
        ("free_rows", "i8"),  # numbers of free saved rows in its stack
        ("executed", "i8"),  # counts of this step
        ("undone", "i8"),
        ("undone_by_own", "i8"),  # of these, by messages of its own entities
        ("stragglers", "i8"),
        ("cancelled", "i8"),
        ("dead", "i8"),  # cancelled events in its heaps
        ("stuck", "i8"),  # 1: an entity of it may be stuck
        ("worked", "i8"),  # nanoseconds of its visits in this step
        ("saved", "i8"),  # rows saved
        ("least_time", "f8"),  # least key of its unexecuted events when its last visit ended
        ("least_seq", "i8"),
        ("least_entity", "i8"),
        ("unused", "i8", (12,)),
    ],
    align=True,
)
assert PARTITION.itemsize % ALIGNMENT == 0

#: What the transition writes, alone.
WARP = np.dtype(
    [
        *[
            (name, "i8")
            for name in ("entities", "executions", "partitions", "inboxes", "taken", "visiting", "listed")
        ],
        *[(name, "i8") for name in ("next_time", "block_min", "rows", "free_rows", "row_bytes")],
        ("rows_each", "i8"),  # saved rows of a partition
        ("interval", "i8"),  # a row is saved before every so many executions of its entity
        ("adaptive", "i8"),  # 1: the interval is chosen anew at each GVT
        ("cautious", "i8"),  # 1: event by event in key order
        ("gvt_time", "f8"),
        ("gvt_seq", "i8"),
        ("horizon", "f8"),  # a visit goes up to here, and on to `reach` while others are on their way
        ("reach", "f8"),  # nothing is executed from here on until GVT has moved
        ("window", "f8"),  # a worker's entities advance together by at most this much
        ("most_emissions", "i8"),  # of an execution that may be undone; who emits more waits for GVT
        ("quota", "i8"),  # events of a visit, about
        ("density", "f8"),  # events per unit of time
        ("spread", "f8"),  # events of a window, wanted
        ("ahead", "f8"),  # events between GVT and horizon, wanted
        ("expected", "f8"),  # events of the next visits together
        ("event_cost", "f8"),  # nanoseconds of a visit per execution, moving average
        ("fixed", "i8"),  # 1: spread, ahead and quota stay as they are (tests)
        ("visits", "i8"),  # rounds of visits since the last binding
        ("loaded", "i8"),  # events since loads were last cleared, as of the last step
        ("timed", "i8"),  # 1: loads are times, 0: committed events
        ("bindings", "i8"),  # counts, since the engine was made
        ("executed", "i8"),  # sums over partitions at the last GVT
        ("undone", "i8"),
        ("undone_by_own", "i8"),
        ("worked", "i8"),
        ("stragglers", "i8"),
        ("between", "f8"),  # executions between two rollbacks, moving average
    ],
    align=True,
)

#: Words that visits of a phase share, each alone on two cache lines: the number of partitions whose visit has
#: begun, and of those whose visit has reached the horizon.
VISITED, ARRIVED, VISITING_WORDS = 0, STRIDE, 2 * STRIDE

#: Positions of a partition start at a multiple of this.
REGION = FANOUT * FANOUT
PARTITION_BYTES = PARTITION.itemsize


@kernel
def warp_of(control):
    """The scheduler's own record."""
    return record_at(control.own, WARP)


@kernel
def entities_of(warp):
    """A record per entity."""
    return array_at(warp.entities, ENTITY)


@kernel
def executions_of(warp):
    """A record per slot of the pool."""
    return array_at(warp.executions, EXECUTION)


@kernel
def visiting_of(warp):
    """Words that visits of a phase share."""
    return array_at(warp.visiting, np.int64)


@kernel
def partitions_of(warp):
    """A record per partition."""
    return array_at(warp.partitions, PARTITION)


@kernel
def times_of(warp):
    """float64 per position: time of the first event of its entity, inf while that one is stuck."""
    return array_at(warp.next_time, np.float64)


@kernel
def minima_of(warp):
    """float64 per block of 64 positions: not above the least of its times."""
    return array_at(warp.block_min, np.float64)


@kernel
def first_block(part):
    """Index of a partition's first block, a multiple of 64."""
    return (part.first + part.shift) >> 6


@kernel
def blocks_in(part):
    """Number of a partition's blocks."""
    return (part.last - part.first + int64(FANOUT - 1)) >> 6
