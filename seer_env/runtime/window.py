"""Safe windows: the minimum tree over next timestamps, and the list of what a window holds (PEL).

Three levels of 64: entities, blocks of entities, super-blocks of blocks. One level of a node is a
vector scan, so finding the earliest timestamp and the entities below a limit costs a handful of
scans, however sparse the window.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import carray, int32, int64

from seer_env.runtime.atomics import FANOUT, load, lowest_bit, mask_below, minimum_of_block, pointer, store
from seer_env.runtime.layout import CONTROL, MICRO_SHIFT, SYNC_WORDS, WORKER
from seer_env.runtime.leq import HEADER, LEQ, LINE_WORDS, drain_inbox, kernel



class World(NamedTuple):
    """The shared arrays, by name; made once per call from the addresses in `CONTROL`."""

    pool: np.ndarray  # event headers
    leq: np.ndarray  # one queue line per entity
    lines: np.ndarray  # the same memory as int64 words
    next_time: np.ndarray  # float64, padded with inf to whole blocks
    block_min: np.ndarray
    super_min: np.ndarray
    dirty: np.ndarray  # int64 per block: entities whose inbox or heap changed
    touched: np.ndarray  # int64 per block: 1 if an entity of it executed in a shared phase
    blocks: np.ndarray  # int32: blocks to settle, or that hold ready entities
    ready: np.ndarray  # int32: the PEL, ready entities in index order
    sync: np.ndarray
    workers: np.ndarray
    handlers: np.ndarray


@kernel
def world_of(control):
    """The `World` that `control` points to."""
    n, threads = control.n_entities, control.threads
    blocks, supers = control.n_blocks, control.n_supers
    workers = carray(pointer(control.workers), (threads,), WORKER)
    return World(
        carray(pointer(control.pool), (workers[0].slots,), HEADER),
        carray(pointer(control.leq), (n,), LEQ),
        carray(pointer(control.leq), (n * LINE_WORDS,), np.int64),
        carray(pointer(control.next_time), (blocks * FANOUT,), np.float64),
        carray(pointer(control.block_min), (supers * FANOUT,), np.float64),
        carray(pointer(control.super_min), (supers + FANOUT,), np.float64),
        carray(pointer(control.dirty), (blocks,), np.int64),
        carray(pointer(control.touched), (blocks,), np.int64),
        carray(pointer(control.blocks), (blocks,), np.int32),
        carray(pointer(control.ready), (n,), np.int32),
        carray(pointer(control.sync), (SYNC_WORDS,), np.int64),
        workers,
        carray(pointer(control.handlers), (64,), np.int64),
    )


@kernel
def settle_block(world, block):
    """Drain the inboxes of a block and recompute its minimum."""
    bits = load(world.dirty, block)
    store(world.dirty, block, int64(0))
    while bits != 0:
        i = block * FANOUT + lowest_bit(bits)
        bits &= bits - 1
        queue = world.leq[i]
        drain_inbox(world.pool, queue, world.lines, i)
        world.next_time[i] = queue.time
    world.block_min[block] = minimum_of_block(world.next_time, block * FANOUT)


@kernel
def unsettled_blocks(world, control):
    """List the blocks that an executed phase changed; returns how many."""
    n = int64(0)
    for block in range(control.n_blocks):
        if world.touched[block] != 0 or load(world.dirty, block) != 0:
            world.touched[block] = 0
            world.blocks[n] = block
            n += 1
    return n


@kernel
def refresh_blocks(world, n):
    """Recompute the minima of the first `n` listed blocks and of their super-blocks."""
    last = int64(-1)
    for q in range(n):
        block = int64(world.blocks[q])
        world.block_min[block] = minimum_of_block(world.next_time, block * FANOUT)
    for q in range(n):
        parent = int64(world.blocks[q]) >> 6
        if parent != last:
            world.super_min[parent] = minimum_of_block(world.block_min, parent * FANOUT)
            last = parent


@kernel
def refresh_supers(world, n):
    """Recompute the super-blocks of the first `n` listed blocks (listed in index order)."""
    last = int64(-1)
    for q in range(n):
        parent = int64(world.blocks[q]) >> 6
        if parent != last:
            world.super_min[parent] = minimum_of_block(world.block_min, parent * FANOUT)
            last = parent


@kernel
def lower_bound(world, control):
    """LBTS: the smallest pending timestamp."""
    smallest = np.inf
    for start in range(0, control.n_supers, FANOUT):
        smallest = min(smallest, minimum_of_block(world.super_min, start))
    return smallest


@kernel
def list_ready(world, control, limit):
    """Fill the PEL with the entities whose next event lies below `limit`; returns how many."""
    n, blocks = int64(0), int64(0)
    for start in range(0, control.n_supers, FANOUT):
        supers = mask_below(world.super_min, start, limit)
        while supers != 0:
            parent = (start + lowest_bit(supers)) * FANOUT
            supers &= supers - 1
            children = mask_below(world.block_min, parent, limit)
            while children != 0:
                block = parent + lowest_bit(children)
                children &= children - 1
                world.blocks[blocks] = int32(block)
                blocks += 1
                entities = mask_below(world.next_time, block * FANOUT, limit)
                while entities != 0:
                    world.ready[n] = int32(block * FANOUT + lowest_bit(entities))
                    entities &= entities - 1
                    n += 1
    control.n_blocks_ready = blocks
    return n


@kernel
def keep_first_micro(world, control, n):
    """Of `n` entities ready at one timestamp keep those in the earliest micro-step."""
    first = world.leq[world.ready[0]].seq >> MICRO_SHIFT
    for q in range(1, n):
        first = min(first, world.leq[world.ready[q]].seq >> MICRO_SHIFT)
    kept = int64(0)
    for q in range(n):
        i = world.ready[q]
        if world.leq[i].seq >> MICRO_SHIFT == first:
            world.ready[kept] = i
            kept += 1
    control.micro = first
    return kept


@kernel
def open_window(world, control):
    """Open the next safe window and fill the PEL; returns how many are ready, 0 when drained.

    With a lookahead the window is [LBTS, LBTS + lookahead). Without one, or where the lookahead is
    lost in the rounding of the clock, it is one micro-step of the timestamp LBTS.
    """
    earliest = lower_bound(world, control)
    if earliest >= control.end:
        return int64(0)
    limit = earliest + control.lookahead
    control.zero = 0
    if limit > control.end:
        limit = control.end
    if limit <= earliest:
        control.zero = 1
        limit = np.nextafter(earliest, np.inf)
    control.window = limit
    n = list_ready(world, control, limit)
    if control.zero:
        n = keep_first_micro(world, control, n)
    return n
