"""Memory layout: the dtypes that the engine shares with handlers, and the packing of event keys.

An event's key is `(time, seq)`. `seq` packs, from the most significant bit down,

    micro-step (10 bits) | emitting entity (23 bits) | that entity's own emission counter (30 bits)

Every entity executes its events in key order, so its counter, and hence every key, is the same
under every scheduler and thread count: no word that threads race for takes part in the order.
"""

from __future__ import annotations

import numpy as np

CACHE_LINE = 64
#: Two lines: the adjacent-line prefetcher makes neighbours of a line share its fate.
ALIGNMENT = 128

COUNTER_BITS, EMITTER_BITS, MICRO_BITS = 30, 23, 10
EMITTER_SHIFT = COUNTER_BITS
MICRO_SHIFT = COUNTER_BITS + EMITTER_BITS
MAX_EMISSIONS = 1 << COUNTER_BITS
MAX_ENTITIES = 1 << EMITTER_BITS
MAX_MICRO = (1 << MICRO_BITS) - 1

#: Payload words that fit the first cache line of an event record.
FIRST_PAYLOAD = 4


def event_dtype(payload: int) -> np.dtype:
    """Dtype of an event record with at least `payload` float64 words: a multiple of a cache line.

    `child` and `sibling` are the links of the pairing heap (`leq.py`); in an inbox or a free
    chunk `sibling` is the link of that list.
    """
    extra = max(0, payload - FIRST_PAYLOAD)
    words = FIRST_PAYLOAD + -(-extra // 8) * 8
    return np.dtype(
        [
            ("time", "f8"),
            ("seq", "i8"),
            ("kind", "i4"),
            ("target", "i4"),
            ("child", "i4"),
            ("sibling", "i4"),
            ("payload", "f8", (words,)),
        ],
        align=True,
    )


#: The queue of one entity: one cache line. `inbox` is the only word other workers write (leq.py).
LEQ = np.dtype(
    [
        ("inbox", "i8"),  # slot of the newest unsorted event, or -1: head of a Treiber stack
        ("time", "f8"),  # key of the heap's root; inf when the heap is empty
        ("seq", "i8"),
        ("root", "i4"),  # slot of the heap's root, or -1
        ("child", "i4"),  # the root's first child: kept here, so an insertion touches no other event
        ("emitted", "i8"),  # this entity's emission counter
        ("stream", "u8"),  # state of its random stream (rng.py)
        ("gamma", "u8"),  # increment of its random stream
        ("unused", "i8"),
    ],
    align=True,
)
assert LEQ.itemsize == CACHE_LINE

#: An event as it is stored outside the engine: boundaries, files, digests.
def pending_dtype(payload: int) -> np.dtype:
    """Dtype of one pending event in a `Boundary`, in key order."""
    words = event_dtype(payload)["payload"].shape[0]
    return np.dtype(
        [("time", "f8"), ("seq", "i8"), ("kind", "i4"), ("target", "i4"), ("payload", "f8", (words,))]
    )


def pack_seq(micro: int, emitter: int, counter: int) -> int:
    """`seq` of an event emitted in micro-step `micro` by `emitter` as its `counter`-th emission."""
    return (micro << MICRO_SHIFT) | (emitter << EMITTER_SHIFT) | counter


def unpack_seq(seq: int) -> tuple[int, int, int]:
    """The inverse of `pack_seq`: `(micro, emitter, counter)`."""
    return seq >> MICRO_SHIFT, (seq >> EMITTER_SHIFT) & (MAX_ENTITIES - 1), seq & (MAX_EMISSIONS - 1)


def aligned_zeros(shape: int | tuple[int, ...], dtype) -> np.ndarray:
    """`numpy.zeros` that starts on a 128-byte boundary (numpy's own allocator promises 16)."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    raw = np.zeros(size + ALIGNMENT, np.uint8)
    offset = -raw.ctypes.data % ALIGNMENT
    return raw[offset : offset + size].view(dtype).reshape(shape)
