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
    raw = np.empty(size + ALIGNMENT, np.uint8)  # numpy asks for huge pages here, but not in zeros
    raw[:] = 0
    offset = -raw.ctypes.data % ALIGNMENT
    return raw[offset : offset + size].view(dtype).reshape(shape)


def _addresses(*names: str) -> list[tuple[str, str]]:
    return [(name, "i8") for name in names]


#: Length given to arrays made from addresses: they are not bounds-checked.
UNBOUNDED = 1 << 32

#: A time, in nanoseconds, that no clock shows.
DISTANT = (1 << 63) - 1

FREE_SLOTS = 128
#: Slots that move between a worker and the shared pool at once: half of its stack.
CHUNK = 64

#: Emissions whose target's line is on its way; a power of two.
OUTBOX = 16

#: What one worker needs to execute handlers: `sim` is its address. Written by its worker alone.
WORKER = np.dtype(
    [
        *_addresses("pool", "leq", "next_time", "block_min", "super_min", "dirty", "sync", "control"),
        *_addresses(
            "action_event", "found", "near", "n_entities", "n_kinds", "lines", "slots", "emission_limit"
        ),
        ("lookahead", "f8"),
        ("direct", "i8"),  # 1: no other worker runs, emissions go straight into the target's heap
        ("collect", "i8"),  # 1: emissions are linked from `collected`, and the scheduler hands them on
        ("collected", "i8"),  # slot of the newest collected emission, linked by `sibling`, or -1
        ("notify", "i8"),  # 1: the executor does not recompute its entity's next time afterwards
        ("now", "f8"),
        ("micro", "i8"),
        ("seq", "i8"),
        ("me", "i8"),
        ("kind", "i8"),
        ("emitted", "i8"),  # in this step, as the next ones
        # what statistics are made of, adjacent (`stats.WORKER_COUNTS`)
        ("events", "i8"),  # executed
        ("undone", "i8"),  # executed and taken back
        ("claims", "i8"),
        ("lost_claims", "i8"),
        ("busy", "i8"),  # nanoseconds spent on claims and in transitions
        ("busy_outputs", "i8"),  # of these, behind the window
        ("alone", "i8"),  # of `busy`, in transitions
        ("drained_at", "i8"),  # when the window was drained as far as this worker has seen, or DISTANT
        ("n_free", "i8"),
        ("chunk_next", "i8"),
        ("chunk_end", "i8"),
        # the first breach in key order that this worker met
        ("rule", "i8"),
        ("breach_time", "f8"),
        ("breach_seq", "i8"),
        ("breach_entity", "i8"),
        ("breach_kind", "i8"),
        ("breach_target", "i8"),
        ("breach_delay", "f8"),
        ("breach_emitted_kind", "i8"),
        ("stopped", "i8"),  # 1: the executing handler broke a rule
        ("sent", "i8"),  # emissions put into the outbox since it was last emptied
        ("far", "i8"),  # as in CONTROL, and the phase has enough items to ask ahead
        ("measured", "f8"),  # nanoseconds of claims, each counted as at most a few times what was expected
        ("index", "i8"),  # among the workers
        # where this worker records its spans (`recording.SPAN`) or 0, how many fit, and how many there were
        *_addresses("spans", "span_room", "n_spans"),
        ("unused", "i8", (10,)),
        ("free", "i4", (FREE_SLOTS,)),
        ("outbox_target", "i4", (OUTBOX,)),
        ("outbox_slot", "i4", (OUTBOX,)),
    ],
    align=True,
)
assert WORKER.itemsize % ALIGNMENT == 0, WORKER.itemsize

#: Three kinds of phase and whole steps, by the logarithm of their items: see `experience.likeness`.
JUDGED = 4
LIKENESSES = JUDGED * 24

#: What all workers share and only the transition, run by one worker at a time, writes. Published
#: by the release store of the phase word.
CONTROL = np.dtype(
    [
        *_addresses("state", "state_stride", "pool", "leq", "next_time", "block_min", "super_min"),
        *_addresses("dirty", "touched", "blocks", "ready", "sync", "workers", "handlers"),
        *_addresses("act", "count_cells", "publish", "observe"),  # addresses of range functions, or 0
        *_addresses("n_entities", "n_agents", "n_blocks", "n_supers", "parts"),
        *_addresses("params", "tables", "public", "starts", "order", "rank", "x", "y", "z"),
        *_addresses("cell", "histogram", "n_cells", "actions", "live"),
        *_addresses("observations", "rewards", "terminated", "info"),
        ("lookahead", "f8"),
        ("clock", "f8"),  # time of the boundary that handlers and outputs see
        ("end", "f8"),  # end of the step window
        ("lbts", "f8"),  # begin of the safe window
        ("window", "f8"),  # its end
        ("zero", "i8"),  # 1: the window is one timestamp, and only events of `micro` execute
        ("micro", "i8"),
        ("stage", "i8"),
        ("status", "i8"),
        ("alone", "i8"),  # 1: the pool is not running; a phase worth sharing ends the call
        ("direct", "i8"),
        ("far", "i8"),  # 1: the world outgrows the core's cache, memory is worth asking for early
        ("n_blocks_ready", "i8"),
        # what statistics are made of, adjacent (`stats.STEP_COUNTS`)
        ("rounds", "i8"),
        ("shared_rounds", "i8"),
        ("events", "i8"),
        ("drained_at", "i8"),  # DISTANT before
        ("ended_at", "i8"),
        ("begun_at", "i8"),
        ("threads", "i8"),
        ("events_before", "i8"),
        ("measured_before", "f8"),
        ("shared_kind", "i8"),  # the phase that was published last, until it has been learned from
        ("shared_total", "i8"),
        ("shared_cost", "f8"),  # expected nanoseconds of one event of it, or of one item
        ("phase_started", "i8"),
        ("settling", "i8"),  # items of the shared EXECUTE that is being settled, or 0
        ("executed_from", "i8"),  # when that one was published
        ("executed_events", "i8"),  # what it executed
        # wall time of phases like this one (`experience.likeness`), alone and shared, and the events or items
        # they did in it, both fading: what decides where sharing may not pay
        ("direct_ns", "f8", (LIKENESSES,)),
        ("direct_units", "f8", (LIKENESSES,)),
        ("shared_ns", "f8", (LIKENESSES,)),
        ("shared_units", "f8", (LIKENESSES,)),
        # what `experience` knows of those alike: its last answer, how many were done since that changed, the
        # stretch for which it was given, and the run of their row that was last counted
        ("sooner", "i8", (LIKENESSES,)),
        ("kept", "i8", (LIKENESSES,)),
        ("judged", "i8", (LIKENESSES,)),
        ("measured", "i8", (LIKENESSES,)),
        # and of a row, a kind of phase or whole steps: those decided in this stretch, the stretch's number,
        # the part of the round of tries, those decided in it, and how many make it long enough
        ("since", "i8", (JUDGED,)),
        ("stretch", "i8", (JUDGED,)),
        ("part", "i8", (JUDGED,)),
        ("turns", "i8", (JUDGED,)),
        ("patience", "i8", (JUDGED,)),
        # its run of those done the same way: which way, how many, the run's number, and whether it counts yet
        ("last_shared", "i8", (JUDGED,)),
        ("streak", "i8", (JUDGED,)),
        ("run", "i8", (JUDGED,)),
        ("settled", "i8", (JUDGED,)),
        # phases decided in this step, those of them done another way than was sooner, stretches since a kind
        # of phase began to try, and steps for which all phases are shared
        ("choices", "i8"),
        ("tries", "i8"),
        ("waited", "i8"),
        ("forced", "i8"),
        ("solo", "i8"),  # 1: worker 0 does this step without the others (`sharing.judge_step`)
        ("pooled", "i8"),  # 1: this step has woken them
        ("left_at", "i8"),  # when the call returned that ended the last step; 0: on one thread, or unknown
        ("deadline", "i8"),
        ("spins", "i8"),  # pauses of a waiting worker before it sleeps
        ("event_cost", "f8"),  # nanoseconds, moving averages; they decide what is worth sharing
        ("events_per_entity", "f8"),  # in a round, moving average
        ("action_cost", "f8"),
        ("output_cost", "f8"),
        ("settle_cost", "f8"),
        ("emission_limit", "i8"),
        ("share_ns", "f8"),  # `sharing.SHARE_NS`, `CLEARLY_NS`: words, so that tests can share everything
        ("clearly_ns", "f8"),
        ("cells_i", "i8", (3,)),
        ("cells_f", "f8", (9,)),
        ("own", "i8"),  # address of what a scheduler keeps that does not use the LEQs, or 0
        # where rounds are recorded (`recording.ROUND`) or 0, how many fit, and how many there were
        *_addresses("round_records", "round_room", "n_rounds"),
        ("queued_for", "i8"),  # workers whose queues there hold the pending events; 0: to be built
    ],
    align=True,
)

#: Indices of the words of `sync` (int64), each alone on two cache lines; `CLAIMS` is the first of a word per
#: worker. See PROTOCOL.md.
STRIDE = ALIGNMENT // 8
PHASE, OPEN, KIND, TOTAL, GRAIN, DONE, SLEEPERS, PAUSED, BUMP, FREE_CHUNKS, CLAIMS = range(
    0, 11 * STRIDE, STRIDE
)
