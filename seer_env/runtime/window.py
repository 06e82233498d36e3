"""Safe windows: the minimum tree over next timestamps, and the list of what a window holds (PEL).

Three levels of 64: entities, blocks of entities, super-blocks of blocks. One level of a node is a
vector scan, so finding the earliest timestamp and the entities below a limit costs a handful of
scans, however sparse the window.
"""

from __future__ import annotations

import numpy as np
from numba import int32, int64

from seer_env.runtime.atomics import FANOUT, array_at, load, lowest_bit, mask_below, minimum_of_block, store
from seer_env.runtime.layout import MICRO_SHIFT, WORKER
from seer_env.runtime.leq import HEADER, LEQ, drain_inbox, inlined, kernel


@kernel
def pool_of(control):
    """Event headers, `[slots]`."""
    return array_at(control.pool, HEADER)


@kernel
def leq_of(control):
    """One queue line per entity."""
    return array_at(control.leq, LEQ)


@kernel
def lines_of(control):
    """The queue lines as int64 words."""
    return array_at(control.leq, np.int64)


@kernel
def next_time_of(control):
    """float64 per entity, padded with inf to whole blocks."""
    return array_at(control.next_time, np.float64)


@kernel
def block_min_of(control):
    """float64 per block, padded with inf to whole super-blocks."""
    return array_at(control.block_min, np.float64)


@kernel
def super_min_of(control):
    """float64 per super-block, padded with inf to a multiple of 64."""
    return array_at(control.super_min, np.float64)


@kernel
def dirty_of(control):
    """int64 per block: a bit per entity whose inbox or heap changed."""
    return array_at(control.dirty, np.int64)


@kernel
def touched_of(control):
    """int64 per block: 1 if an entity of it executed in a shared phase."""
    return array_at(control.touched, np.int64)


@kernel
def blocks_of(control):
    """int32: blocks to settle, or that hold ready entities, in index order."""
    return array_at(control.blocks, np.int32)


@kernel
def ready_of(control):
    """int32: the PEL, ready entities in index order."""
    return array_at(control.ready, np.int32)


@kernel
def sync_of(control):
    """The words that workers share (layout.py)."""
    return array_at(control.sync, np.int64)


@kernel
def workers_of(control):
    """The worker records."""
    return array_at(control.workers, WORKER)


@kernel
def settle_block(control, block):
    """Drain the inboxes of a block and recompute its minimum."""
    dirty = dirty_of(control)
    leq = leq_of(control)
    pool = pool_of(control)
    lines = lines_of(control)
    next_time = next_time_of(control)
    block_min = block_min_of(control)
    bits = load(dirty, block)
    store(dirty, block, int64(0))
    while bits != 0:
        i = block * FANOUT + lowest_bit(bits)
        bits &= bits - 1
        queue = leq[i]
        drain_inbox(pool, queue, lines, i)
        next_time[i] = queue.time
    block_min[block] = minimum_of_block(next_time, block * FANOUT)


@kernel
def unsettled_blocks(control):
    """List the blocks that an executed phase changed; returns how many."""
    touched = touched_of(control)
    dirty = dirty_of(control)
    blocks = blocks_of(control)
    n = int64(0)
    for block in range(control.n_blocks):
        if touched[block] != 0 or load(dirty, block) != 0:
            touched[block] = 0
            blocks[n] = block
            n += 1
    return n


@kernel
def refresh_blocks(control, n):
    """Recompute the minima of the first `n` listed blocks and of their super-blocks."""
    blocks = blocks_of(control)
    block_min = block_min_of(control)
    next_time = next_time_of(control)
    super_min = super_min_of(control)
    last = int64(-1)
    for q in range(n):
        block = int64(blocks[q])
        block_min[block] = minimum_of_block(next_time, block * FANOUT)
    for q in range(n):
        parent = int64(blocks[q]) >> 6
        if parent != last:
            super_min[parent] = minimum_of_block(block_min, parent * FANOUT)
            last = parent


@kernel
def refresh_supers(control, n):
    """Recompute the super-blocks of the first `n` listed blocks (listed in index order)."""
    blocks = blocks_of(control)
    super_min = super_min_of(control)
    block_min = block_min_of(control)
    last = int64(-1)
    for q in range(n):
        parent = int64(blocks[q]) >> 6
        if parent != last:
            super_min[parent] = minimum_of_block(block_min, parent * FANOUT)
            last = parent


@inlined
def lower_bound(control):
    """LBTS: the smallest pending timestamp."""
    super_min = super_min_of(control)
    smallest = np.inf
    for start in range(0, control.n_supers, FANOUT):
        smallest = min(smallest, minimum_of_block(super_min, start))
    return smallest


@inlined
def list_ready(control, limit):
    """Fill the PEL with the entities whose next event lies below `limit`; returns how many."""
    super_min = super_min_of(control)
    block_min = block_min_of(control)
    blocks = blocks_of(control)
    next_time = next_time_of(control)
    ready = ready_of(control)
    n, listed = int64(0), int64(0)
    for start in range(0, control.n_supers, FANOUT):
        supers = mask_below(super_min, start, limit)
        while supers != 0:
            parent = (start + lowest_bit(supers)) * FANOUT
            supers &= supers - 1
            children = mask_below(block_min, parent, limit)
            while children != 0:
                block = parent + lowest_bit(children)
                children &= children - 1
                blocks[listed] = int32(block)
                listed += 1
                entities = mask_below(next_time, block * FANOUT, limit)
                while entities != 0:
                    ready[n] = int32(block * FANOUT + lowest_bit(entities))
                    entities &= entities - 1
                    n += 1
    control.n_blocks_ready = listed
    return n


@inlined
def keep_first_micro(control, n):
    """Of `n` entities ready at one timestamp keep those in the earliest micro-step."""
    leq = leq_of(control)
    ready = ready_of(control)
    first = leq[ready[0]].seq >> MICRO_SHIFT
    for q in range(1, n):
        first = min(first, leq[ready[q]].seq >> MICRO_SHIFT)
    kept = int64(0)
    for q in range(n):
        i = ready[q]
        if leq[i].seq >> MICRO_SHIFT == first:
            ready[kept] = i
            kept += 1
    control.micro = first
    return kept


@inlined
def open_window(control):
    """Open the next safe window and fill the PEL; returns how many are ready, 0 when drained.

    With a lookahead the window is [LBTS, LBTS + lookahead). Without one, or where the lookahead is
    lost in the rounding of the clock, it is one micro-step of the timestamp LBTS.
    """
    earliest = lower_bound(control)
    if earliest >= control.end:
        return int64(0)
    limit = earliest + control.lookahead
    control.zero = 0
    if limit > control.end:
        limit = control.end
    if limit <= earliest:
        control.zero = 1
        limit = np.nextafter(earliest, np.inf)
    control.lbts, control.window = earliest, limit
    n = list_ready(control, limit)
    if control.zero:
        n = keep_first_micro(control, n)
    return n
