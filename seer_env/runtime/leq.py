"""The local event queue (LEQ): a pairing heap with an inbox, and the slots that hold events.

Fredman, Sedgewick, Sleator and Tarjan, "The pairing heap", Algorithmica 1986. The heap's links lie
inside the event records; the root's key and first child lie in the entity's queue line, so that an
insertion touches that line and the new record alone. The inbox is a Treiber stack (Treiber 1986):
its order depends on timing, the heap's does not.
"""

from __future__ import annotations

import numpy as np
from numba import int32, int64, njit

from seer_env.runtime.atomics import add, array_at, bit_or, compare_and_swap, load, prefetch
from seer_env.runtime.layout import (
    BUMP,
    CHUNK,
    COUNTER_BITS,
    FREE_CHUNKS,
    FREE_SLOTS,
    LEQ,
    MAX_EMISSIONS,
    MAX_MICRO,
    MICRO_SHIFT,
    OUTBOX,
    event_dtype,
)

HEADER = event_dtype(0)
RULES = (
    "",
    "lookahead",
    "timestamp",
    "target",
    "kind",
    "capacity",
    "cascade",
    "emissions",
    "slots",
    "exception",
)
LOOKAHEAD, TIMESTAMP, TARGET, BAD_KIND, CAPACITY, CASCADE, EMISSIONS, SLOTS, EXCEPTION = range(1, 10)

kernel = njit(nogil=True, error_model="numpy")
#: For the few lines that every event runs through: a call would cost more than they do.
inlined = njit(nogil=True, error_model="numpy", forceinline=True)


def kernel_for(scheduler):
    """`kernel` for a function made once per scheduler: their machine code shares no name."""

    def decorate(function):
        function.__qualname__ = f"{function.__name__}_{scheduler}"
        return kernel(function)

    return decorate


LINE_WORDS = LEQ.itemsize // 8  # the inbox is word 0 of an entity's line
SLOT_WORDS = HEADER.itemsize // 4
CHILD_WORD = 6  # of a record's int32 words


@inlined
def earlier(time_a, seq_a, time_b, seq_b):
    """Whether key a comes before key b."""
    return time_a < time_b or (time_a == time_b and seq_a < seq_b)


@inlined
def meld(pool, a, b):
    """Join two heaps; returns the root."""
    if earlier(pool[b].time, pool[b].seq, pool[a].time, pool[a].seq):
        a, b = b, a
    pool[b].sibling = pool[a].child
    pool[a].child = b
    return a


@inlined
def insert(pool, queue, slot, time, seq):
    """Insert an event into a heap; the caller owns the entity."""
    if queue.root < 0:
        queue.root, queue.child = slot, int32(-1)
        queue.time, queue.seq = time, seq
    elif earlier(time, seq, queue.time, queue.seq):
        old = queue.root
        pool[old].child, pool[old].sibling = queue.child, int32(-1)
        queue.root, queue.child = slot, old
        queue.time, queue.seq = time, seq
    else:
        pool[slot].child, pool[slot].sibling = int32(-1), queue.child
        queue.child = slot


@inlined
def remove_root(pool, queue):
    """Take the root off a heap: the two passes of the paper over its children."""
    child = queue.child
    if child < 0:
        queue.root, queue.time = int32(-1), np.inf
        return
    pairs = int32(-1)
    while child >= 0:
        a = child
        b = pool[a].sibling
        if b < 0:
            pool[a].sibling = pairs
            pairs = a
            break
        child = pool[b].sibling
        joined = meld(pool, a, b)
        pool[joined].sibling = pairs
        pairs = joined
    root = pairs
    pairs = pool[root].sibling
    while pairs >= 0:
        following = pool[pairs].sibling
        root = meld(pool, root, pairs)
        pairs = following
    queue.root, queue.child = root, pool[root].child
    queue.time, queue.seq = pool[root].time, pool[root].seq


@kernel
def drain_inbox(pool, queue, lines, i):
    """Move entity i's inbox into its heap. No worker pushes in this phase (PROTOCOL.md)."""
    slot = int32(load(lines, i * LINE_WORDS))
    queue.inbox = -1
    while slot >= 0:
        following = pool[slot].sibling
        insert(pool, queue, slot, pool[slot].time, pool[slot].seq)
        slot = following


@kernel
def push_inbox(pool, lines, dirty, target, slot):
    """Push an event on the inbox of any entity; the first one marks the entity dirty."""
    word = target * LINE_WORDS
    head = load(lines, word)
    while True:
        pool[slot].sibling = int32(head)
        seen = compare_and_swap(lines, word, head, int64(slot))
        if seen == head:
            break
        head = seen
    if head < 0:
        bit_or(dirty, target >> 6, int64(1) << (target & 63))


@inlined
def lower(next_time, block_min, super_min, i, time):
    """Let the minimum tree know of an earlier event of entity i. Only while one worker runs."""
    if time < next_time[i]:
        next_time[i] = time
        block = i >> 6
        if time < block_min[block]:
            block_min[block] = time
            if time < super_min[block >> 6]:
                super_min[block >> 6] = time


# -- slots -------------------------------------------------------------------------------------------


@kernel
def take_chunk(pool_words, sync):
    """Pop a chunk off the shared stack of free chunks: its first slot, or -1.

    The head word is `tag << 32 | slot + 1`; the tag grows with every change, so a head that was
    popped and pushed again in between is not mistaken for the one that was read.
    """
    head = load(sync, FREE_CHUNKS)
    while head & 0xFFFFFFFF:
        slot = (head & 0xFFFFFFFF) - 1
        following = int64(load(pool_words, slot * SLOT_WORDS + CHILD_WORD)) + 1
        seen = compare_and_swap(sync, FREE_CHUNKS, head, (((head >> 32) + 1) << 32) | following)
        if seen == head:
            return slot
        head = seen
    return int64(-1)


@kernel
def give_chunk(pool, worker, sync):
    """Push half of a worker's free slots on the shared stack."""
    free = worker.free
    first = free[FREE_SLOTS - CHUNK]
    for k in range(FREE_SLOTS - CHUNK, FREE_SLOTS - 1):
        pool[free[k]].sibling = free[k + 1]
    pool[free[FREE_SLOTS - 1]].sibling = int32(-1)
    worker.n_free = FREE_SLOTS - CHUNK
    head = load(sync, FREE_CHUNKS)
    while True:
        pool[first].child = int32((head & 0xFFFFFFFF) - 1)
        seen = compare_and_swap(sync, FREE_CHUNKS, head, (((head >> 32) + 1) << 32) | (int64(first) + 1))
        if seen == head:
            return
        head = seen


@inlined
def free_slot(pool, worker, sync, slot):
    """Give an executed event's slot back; `target = -1` marks it for whoever lists the pool."""
    pool[slot].target = -1
    if worker.n_free == FREE_SLOTS:
        give_chunk(pool, worker, sync)
    worker.free[worker.n_free] = slot
    worker.n_free += 1


@inlined
def new_slot(worker):
    """A free slot, most recently used first; -1 when the pool is exhausted."""
    if worker.n_free > 0:
        worker.n_free -= 1
        return worker.free[worker.n_free]
    return refill(worker)


@kernel
def refill(worker):
    """A slot from a chunk that another worker gave, or from memory never used."""
    if worker.chunk_next == worker.chunk_end:
        sync = array_at(worker.sync, np.int64)
        pool = array_at(worker.pool, HEADER)
        slot = take_chunk(array_at(worker.pool, np.int32), sync)
        if slot >= 0:
            kept = int32(slot)
            while pool[slot].sibling >= 0:
                slot = int64(pool[slot].sibling)
                worker.free[worker.n_free] = int32(slot)
                worker.n_free += 1
            return kept
        size = CHUNK * worker.lines
        start = add(sync, BUMP, size)
        if start + size > worker.slots:
            return int32(-1)
        worker.chunk_next, worker.chunk_end = start, start + size
    slot = worker.chunk_next
    worker.chunk_next += worker.lines
    return int32(slot)


# -- emission ----------------------------------------------------------------------------------------


@kernel
def record_breach(worker, rule, target, delay, kind):
    """Stop the executing entity; keep the breach if it is the first in key order."""
    worker.stopped = 1
    if worker.rule != 0 and not earlier(worker.now, worker.seq, worker.breach_time, worker.breach_seq):
        return
    worker.rule, worker.breach_entity, worker.breach_kind = rule, worker.me, worker.kind
    worker.breach_time, worker.breach_seq = worker.now, worker.seq
    worker.breach_target, worker.breach_delay, worker.breach_emitted_kind = target, delay, kind


@inlined
def broken_rule(worker, target, delay, time, kind):
    """Which rule an emission breaks, checked in the order that `python.py` checks them; 0 if none."""
    if not (delay >= 0.0 and time < np.inf):
        return TIMESTAMP
    if not 0 <= target < worker.n_entities:
        return TARGET
    if not 0 <= kind < worker.n_kinds:
        return BAD_KIND
    if target != worker.me and delay < worker.lookahead:
        return LOOKAHEAD
    if time == worker.now and worker.micro >= MAX_MICRO:
        return CASCADE
    leq = array_at(worker.leq, LEQ)
    if leq[worker.me].emitted >= MAX_EMISSIONS - 1:
        return EMISSIONS
    if worker.emitted >= worker.emission_limit:
        return CAPACITY
    return 0


@inlined
def open_event(worker, target, delay, kind):
    """Check an emission and write its record but for the payload; -1 if it is a breach."""
    if worker.stopped:
        return int32(-1)
    time = worker.now + delay
    rule = broken_rule(worker, target, delay, time, kind)
    if rule:
        record_breach(worker, rule, target, delay, kind)
        return int32(-1)
    pool = array_at(worker.pool, HEADER)
    slot = new_slot(worker)
    if slot < 0:
        record_breach(worker, SLOTS, target, delay, kind)
        return slot
    queue = array_at(worker.leq, LEQ)[worker.me]
    counter = queue.emitted
    queue.emitted = counter + 1
    worker.emitted += 1
    micro = worker.micro + 1 if time == worker.now else int64(0)
    event = pool[slot]
    event.time = time
    event.seq = (micro << MICRO_SHIFT) | (worker.me << COUNTER_BITS) | counter
    event.kind, event.target = int32(kind), int32(target)
    return slot


@inlined
def send_event(worker, target, slot):
    """Queue a written record: at once on oneself, through the outbox on another entity.

    An event to another entity never falls into the current window, so it may arrive late in it:
    it waits in the outbox until its target's line has come from far memory. Where the scheduler keeps
    queues of its own, emissions are collected for it.
    """
    if worker.collect:
        array_at(worker.pool, HEADER)[slot].sibling = int32(worker.collected)
        worker.collected = int64(slot)
        return
    leq = array_at(worker.leq, LEQ)
    if target == worker.me:
        pool = array_at(worker.pool, HEADER)
        insert(pool, leq[target], slot, pool[slot].time, pool[slot].seq)
        if worker.notify:
            notify(worker, target, pool[slot].time)
        return
    if worker.far == 0:
        deliver(worker, target, slot)
        return
    prefetch(leq, target)
    if worker.direct:
        prefetch(array_at(worker.next_time, np.float64), target)
    at = worker.sent & (OUTBOX - 1)
    if worker.sent >= OUTBOX:
        deliver(worker, int64(worker.outbox_target[at]), worker.outbox_slot[at])
    worker.outbox_target[at], worker.outbox_slot[at] = int32(target), slot
    worker.sent += 1


@inlined
def deliver(worker, target, slot):
    """Hand an event to its target: into the heap if no other worker runs, else into the inbox."""
    pool = array_at(worker.pool, HEADER)
    if worker.direct:
        leq = array_at(worker.leq, LEQ)
        time = pool[slot].time
        insert(pool, leq[target], slot, time, pool[slot].seq)
        if leq[target].root == slot:
            notify(worker, target, time)
        return
    lines = array_at(worker.leq, np.int64)
    dirty = array_at(worker.dirty, np.int64)
    push_inbox(pool, lines, dirty, target, slot)


@kernel
def empty_outbox(worker):
    """Deliver what waits; before the worker's claim counts as done."""
    for k in range(max(int64(0), worker.sent - OUTBOX), worker.sent):
        at = k & (OUTBOX - 1)
        deliver(worker, int64(worker.outbox_target[at]), worker.outbox_slot[at])
    worker.sent = 0


@inlined
def notify(worker, i, time):
    """Let the minimum tree know of a new event of entity i, now or at the next settlement."""
    if worker.direct:
        next_time = array_at(worker.next_time, np.float64)
        block_min = array_at(worker.block_min, np.float64)
        super_min = array_at(worker.super_min, np.float64)
        lower(next_time, block_min, super_min, i, time)
    else:
        dirty = array_at(worker.dirty, np.int64)
        bit_or(dirty, i >> 6, int64(1) << (i & 63))


@inlined
def prefetch_events(pool, leq, i):
    """Bring entity i's first event and the first that may follow it near."""
    queue = leq[i]
    if queue.root >= 0:
        prefetch(pool, queue.root)
        if queue.child >= 0:
            prefetch(pool, queue.child)
