"""Queues of static binding: a private heap per part of the entities, and mailboxes between parts.

The heap is an array with four children per entry (Johnson, "Priority queues with update and finding
minimum spanning trees", Information Processing Letters 1975), laid out so that the children of one
entry fill one cache line. A mailbox has one sender and one receiver, and needs no atomic operation:
`static_binding.md` says why.
"""

from __future__ import annotations

import numpy as np
from numba import int32, int64

from seer_env.runtime.atomics import array_at
from seer_env.runtime.layout import ALIGNMENT, BUMP, MICRO_SHIFT
from seer_env.runtime.leq import inlined, kernel
from seer_env.runtime.window import pool_of, sync_of, workers_of

ENTRY = np.dtype([("time", "f8"), ("slot", "i4"), ("target", "i4")], align=True)
#: Index of a heap's root: children of entry k are 4(k-2) to 4(k-2)+3, which one cache line holds.
ROOT = 3
#: Entries of a heap beyond one per event slot: those before the root, and the rest of the last group.
SPARE = 8

#: A part of the entities, and what it sends. Two cache lines, its performer's alone during a phase.
PART = np.dtype(
    [
        ("heap", "i8"),  # address of its entries
        ("size", "i8"),  # events in the heap
        ("mail", "i8"),  # address of the heads of what it sends, int64 [2, parts]: see `parity`
        ("mail_time", "f8"),  # earliest key in mail that it has sent and nobody has drained; inf if none
        ("mail_micro", "i8"),
        ("unused", "i8", (11,)),
    ],
    align=True,
)
assert PART.itemsize == ALIGNMENT

#: What static binding keeps, at `control.own`. Written by the transition.
BINDING = np.dtype(
    [
        ("parts", "i8"),  # address of the parts
        ("home", "i8"),  # address of the part of each entity, int32 [N]
        ("words", "i8"),  # address of words that workers share (static_binding.py)
        ("round_robin", "i8"),  # 1: entity i belongs to part i modulo parts; 0: to a block of neighbours
        ("parity", "i8"),  # which of the two sets of mailboxes is written next
        ("expected", "f8"),  # events of a window, moving average
        ("until", "i8"),  # when a window that one worker executes alone is cut short
    ],
    align=True,
)


@inlined
def parts_of(binding):
    """The parts, one per worker."""
    return array_at(binding.parts, PART)


@inlined
def heap_of(part):
    """A part's heap: entries from `ROOT` on."""
    return array_at(part.heap, ENTRY)


# -- the heap ------------------------------------------------------------------------------------------


@inlined
def precedes(pool, a, b):
    """Whether entry a comes before entry b; equal times are told apart in the events' records."""
    return a.time < b.time or (a.time == b.time and pool[a.slot].seq < pool[b.slot].seq)


@inlined
def place(heap, at, time, slot, target):
    """Write an entry."""
    entry = heap[at]
    entry.time, entry.slot, entry.target = time, int32(slot), int32(target)


@kernel
def push(part, pool, slot):
    """Insert an event."""
    heap = heap_of(part)
    hole = ROOT + part.size
    part.size += 1
    if hole & 3 == 0:  # the first of its group: entries behind the last read as later than all
        for k in range(hole + 1, hole + 4):
            place(heap, k, np.inf, int64(0), int64(0))
    place(heap, hole, pool[slot].time, slot, int64(pool[slot].target))
    event = pool[slot]
    while hole > ROOT:
        parent = (hole >> 2) + 2
        above = heap[parent]
        if not (event.time < above.time or (event.time == above.time and event.seq < pool[above.slot].seq)):
            break
        place(heap, hole, above.time, int64(above.slot), int64(above.target))
        hole = parent
    place(heap, hole, event.time, slot, int64(event.target))


@inlined
def first_of_four(pool, heap, child):
    """The earliest of a group of four entries. No branch depends on their order unless times are equal."""
    a, b, c, d = heap[child].time, heap[child + 1].time, heap[child + 2].time, heap[child + 3].time
    low, high = child + int64(b < a), child + 2 + int64(d < c)
    early, late = min(a, b), min(c, d)
    if (a == b or c == d or early == late) and min(early, late) < np.inf:
        low = child + int64(precedes(pool, heap[child + 1], heap[child]))
        high = child + 2 + int64(precedes(pool, heap[child + 3], heap[child + 2]))
        return high if precedes(pool, heap[high], heap[low]) else low
    return low + (high - low) * int64(late < early)


@kernel
def replace_root(part, pool, time, slot, target):
    """Take the root off and insert an entry, in one walk down."""
    heap = heap_of(part)
    hole, last = int64(ROOT), ROOT + part.size - 1
    while True:
        child = (hole - 2) << 2
        if child > last:
            break
        first = first_of_four(pool, heap, child)
        below = heap[first]
        if below.time > time or (below.time == time and pool[below.slot].seq > pool[slot].seq):
            break
        place(heap, hole, below.time, int64(below.slot), int64(below.target))
        hole = first
    place(heap, hole, time, slot, target)


@kernel
def pop(part, pool):
    """Take the root off."""
    heap = heap_of(part)
    part.size -= 1
    last = heap[ROOT + part.size]
    time, slot, target = last.time, int64(last.slot), int64(last.target)
    last.time = np.inf
    if part.size > 0:
        replace_root(part, pool, time, slot, target)


# -- mail ----------------------------------------------------------------------------------------------


@inlined
def post(sender, pool, parity, parts, receiver, slot):
    """Put an event into the mailbox of another part."""
    mail = array_at(sender.mail, np.int64)
    event = pool[slot]
    at = parity * parts + receiver
    event.sibling = int32(mail[at])
    mail[at] = slot
    micro = event.seq >> MICRO_SHIFT
    if event.time < sender.mail_time or (event.time == sender.mail_time and micro < sender.mail_micro):
        sender.mail_time, sender.mail_micro = event.time, micro


@kernel
def drain(control, binding, p, parity):
    """Move what all parts have sent to part p into its heap."""
    parts, pool = parts_of(binding), pool_of(control)
    at = parity * control.threads + p
    for sender in range(control.threads):
        mail = array_at(parts[sender].mail, np.int64)
        slot = mail[at]
        mail[at] = -1
        while slot >= 0:
            following = int64(pool[slot].sibling)
            push(parts[p], pool, slot)
            slot = following


@kernel
def drain_all(control, binding):
    """Empty all mailboxes that may hold something, while one worker runs."""
    parts = parts_of(binding)
    waiting = False
    for p in range(control.threads):
        waiting = waiting or parts[p].mail_time < np.inf
        parts[p].mail_time = np.inf
    if waiting:
        for p in range(control.threads):
            drain(control, binding, p, binding.parity)


# -- building them -------------------------------------------------------------------------------------


@kernel
def bind(control, binding):
    """Bind the entities to as many parts as there are workers, and fill the heaps from the pool."""
    parts, pool = parts_of(binding), pool_of(control)
    home = array_at(binding.home, np.int32)
    n, count = control.n_entities, control.threads
    for i in range(n):
        home[i] = i % count if binding.round_robin else i * count // n
    for p in range(count):
        part = parts[p]
        part.size, part.mail_time = 0, np.inf
        mail = array_at(part.mail, np.int64)
        for k in range(2 * count):
            mail[k] = -1
    worker = workers_of(control)[0]
    for slot in range(0, min(sync_of(control)[BUMP], worker.slots), worker.lines):
        if pool[slot].target >= 0:
            push(parts[int64(home[pool[slot].target])], pool, int64(slot))
    binding.parity = 0
    control.queued_for = count
