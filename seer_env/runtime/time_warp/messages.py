"""Messages between partitions: events, and cancellations of events that should not have been sent.

The event in slot s is message 2s, its cancellation 2s + 1: so cancelling needs no memory. A message to
an entity of another partition goes through that partition's inbox, a Treiber stack, and from there, in
the order of pushing, into the line of messages that wait for its worker; one to the worker's own
entities goes into that line at once. So a cancellation never overtakes its event.
"""

from __future__ import annotations

import numpy as np
from numba import int32, int64

from seer_env.runtime.atomics import array_at, compare_and_swap, exchange, load
from seer_env.runtime.layout import STRIDE
from seer_env.runtime.leq import kernel
from seer_env.runtime.time_warp.layout import entities_of, executions_of, warp_of
from seer_env.runtime.window import pool_of


@kernel
def inboxes_of(warp):
    """A word per partition: the newest message of its inbox, or -1."""
    return array_at(warp.inboxes, np.int64)


@kernel
def following(control, message):
    """The message that this one is linked to, or -1."""
    slot = message >> 1
    if message & 1:
        return int64(executions_of(warp_of(control))[slot].chain)
    return int64(pool_of(control)[slot].sibling)


@kernel
def link(control, message, other):
    """Link a message to another one."""
    slot = message >> 1
    if message & 1:
        executions_of(warp_of(control))[slot].chain = int32(other)
    else:
        pool_of(control)[slot].sibling = int32(other)


@kernel
def push(control, index, message):
    """Push a message on a partition's inbox."""
    inboxes = inboxes_of(warp_of(control))
    head = load(inboxes, index * STRIDE)
    while True:
        link(control, message, head)
        seen = compare_and_swap(inboxes, index * STRIDE, head, message)
        if seen == head:
            return
        head = seen


@kernel
def append(control, part, message):
    """Have a message wait for the worker of its own partition."""
    link(control, message, int64(-1))
    if part.head < 0:
        part.head = message
    else:
        link(control, part.tail, message)
    part.tail = message


@kernel
def send(control, part, message):
    """Send a message from a partition to the one that its target is bound to."""
    target = pool_of(control)[message >> 1].target
    index = int64(entities_of(warp_of(control))[target].partition)
    if index == part.index:
        append(control, part, message)
    else:
        push(control, index, message)


@kernel
def empty_inbox(control, part):
    """Take what is in a partition's inbox behind the messages that wait, in the order of pushing."""
    inboxes = inboxes_of(warp_of(control))
    if load(inboxes, part.index * STRIDE) < 0:
        return
    newest = exchange(inboxes, part.index * STRIDE, int64(-1))
    first, message = int64(-1), newest
    while message >= 0:
        older = following(control, message)
        link(control, message, first)
        first, message = message, older
    if part.head < 0:
        part.head = first
    else:
        link(control, part.tail, first)
    part.tail = newest
