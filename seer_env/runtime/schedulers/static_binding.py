"""The `ross-t` scheduler: entities bound to workers, a private queue each, conservative safe windows.

What ROSS does on threads (Carothers, Bauer and Pearce, "ROSS: a high-performance, low-memory, modular
Time Warp system", JPDC 2002, in its conservative mode). `static_binding.md` holds the protocol.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import int64, types

from seer_env.runtime.atomics import array_at, call3, compare_and_swap, load, prefetch, record_at, store
from seer_env.runtime.compile import c_function, package_fingerprint
from seer_env.runtime.layout import ALIGNMENT, CONTROL, MICRO_SHIFT, OPEN, STRIDE, aligned_zeros
from seer_env.runtime.leq import HEADER, free_slot, kernel
from seer_env.runtime.memory import Memory
from seer_env.runtime.phases import ACT, EXECUTE, MOST_EVENTS, perform_boundary
from seer_env.runtime.schedulers.binding_queues import (
    BINDING,
    ENTRY,
    PART,
    ROOT,
    SPARE,
    bind,
    drain,
    drain_all,
    first_of_four,
    heap_of,
    parts_of,
    pop,
    post,
    push,
    replace_root,
)
from seer_env.runtime.schedulers.compiled import CompiledEngine
from seer_env.runtime.schedulers.windows import learn_window, windows
from seer_env.runtime.sharing import totals
from seer_env.runtime.shims import compile_model
from seer_env.runtime.transition import AT_EXECUTED, AT_SETTLE, AT_WINDOW, offering, share, transitions
from seer_env.runtime.waiting import clock_ns
from seer_env.runtime.window import leq_of, pool_of, sync_of, workers_of
from seer_env.runtime.worker import WORKER_BYTES, begin, claim, working

HEADER_BYTES = HEADER.itemsize
#: Words per part that workers share: the last phase in which it was taken, and whether its own worker is
#: in the call. Each is alone on two cache lines.
TAKEN, PRESENT, PART_WORDS = 0, STRIDE, 2 * STRIDE


@kernel
def binding_of(control):
    """What this scheduler keeps."""
    return record_at(control.own, BINDING)


# -- a part's events -----------------------------------------------------------------------------------


@kernel
def hand_on(control, binding, worker, sender):
    """Give collected emissions to the parts they belong to, or mail them where others run."""
    parts, pool = parts_of(binding), pool_of(control)
    home = array_at(binding.home, np.int32)
    slot = worker.collected
    while slot >= 0:
        following = int64(pool[slot].sibling)
        receiver = int64(home[pool[slot].target])
        if control.direct:
            push(parts[receiver], pool, slot)
        else:
            post(parts[sender], pool, binding.parity, control.threads, receiver, slot)
        slot = following


@kernel
def replace_event(control, binding, worker, p):
    """The root of part p has been executed: put what it emitted in its place, and elsewhere."""
    parts, pool = parts_of(binding), pool_of(control)
    part = parts[p]
    home = array_at(binding.home, np.int32)
    slot, replaced = worker.collected, False
    while slot >= 0:
        event = pool[slot]
        following = int64(event.sibling)
        receiver = int64(home[event.target])
        if receiver != p:
            if control.direct:
                push(parts[receiver], pool, slot)
            else:
                post(part, pool, binding.parity, control.threads, receiver, slot)
        elif replaced:
            push(part, pool, slot)
        else:
            replace_root(part, pool, event.time, slot, int64(event.target))
            replaced = True
        slot = following
    if not replaced:
        pop(part, pool)


@kernel
def run_part(control, binding, worker, worker_address, p):
    """Execute the events of part p in the safe window, in key order."""
    part = parts_of(binding)[p]
    heap, pool, sync = heap_of(part), pool_of(control), sync_of(control)
    leq, states = leq_of(control), array_at(control.state, np.uint8)
    handlers = array_at(control.handlers, np.int64)
    limit, zero, micro = control.window, control.zero, control.micro
    worker.collect, worker.stopped = 1, 0
    looked = worker.events
    while part.size > 0 and heap[ROOT].time < limit:
        slot = int64(heap[ROOT].slot)
        event = pool[slot]
        if zero and event.seq >> MICRO_SHIFT != micro:
            break
        i, kind = int64(event.target), int64(event.kind)
        worker.me, worker.now, worker.seq, worker.kind = i, event.time, event.seq, kind
        worker.micro, worker.collected = event.seq >> MICRO_SHIFT, -1
        if control.far and part.size > ROOT + 1:
            following = heap[first_of_four(pool, heap, int64(ROOT + 1))]  # most likely the next root
            prefetch(pool, following.slot)
            prefetch(leq, following.target)
            prefetch(states, following.target * control.state_stride)
        state = control.state + i * control.state_stride
        call3(handlers[kind], state, control.pool + slot * HEADER_BYTES, worker_address)
        worker.events += 1
        replace_event(control, binding, worker, p)
        free_slot(pool, worker, sync, slot)
        if worker.stopped:
            break  # what is left has later keys: no breach among it would be the first
        if worker.events - looked >= MOST_EVENTS:
            looked = worker.events
            if clock_ns() > (binding.until if control.direct else control.deadline):
                break  # what is left waits for the next window, which is as safe
    worker.collect = 0


@kernel
def perform(control, worker, worker_address, kind, first, last):
    """Do items of a phase: parts, agents that act, or what lies behind the window."""
    binding = binding_of(control)
    if kind == EXECUTE:
        for p in range(first, last):
            parts_of(binding)[p].mail_time = np.inf
            drain(control, binding, p, 1 - binding.parity)
            run_part(control, binding, worker, worker_address, p)
    elif kind == ACT:
        worker.collect, worker.collected = 1, -1
        call3(control.act, first, last, worker_address)
        worker.collect = 0
        hand_on(control, binding, worker, worker.index)
    else:
        perform_boundary(control, worker_address, kind, first, last)


# -- windows -------------------------------------------------------------------------------------------


@kernel
def open_window(control, binding):
    """Open the next safe window, as `window.open_window` does; False when the step is drained."""
    parts, pool = parts_of(binding), pool_of(control)
    earliest = np.inf
    for p in range(control.threads):
        part = parts[p]
        earliest = min(earliest, part.mail_time)
        if part.size > 0:
            earliest = min(earliest, heap_of(part)[ROOT].time)
    if earliest >= control.end:
        return False
    control.lbts = earliest
    control.zero, control.window = 0, min(earliest + control.lookahead, control.end)
    if control.window > earliest:
        return True
    control.zero, control.window = 1, np.nextafter(earliest, np.inf)
    control.micro = int64(1) << 62
    for p in range(control.threads):
        part = parts[p]
        if part.mail_time == earliest:
            control.micro = min(control.micro, part.mail_micro)
        if part.size > 0 and heap_of(part)[ROOT].time == earliest:
            control.micro = min(control.micro, pool[heap_of(part)[ROOT].slot].seq >> MICRO_SHIFT)
    return True


@kernel
def publish_window(control, binding, expected):
    """Have all workers execute the window that is open."""
    binding.parity = 1 - binding.parity
    control.stage = AT_EXECUTED
    share(control, EXECUTE, control.threads, expected * control.event_cost, int64(1))


@kernel
def run_window(control, binding, worker, worker_address):
    """Execute a window too small to share: all parts in turn."""
    drain_all(control, binding)
    for p in range(control.threads):
        run_part(control, binding, worker, worker_address, p)


@kernel
def look(control, binding, events):
    """Nothing here depends on how dense events are."""


next_windows = windows("ross", open_window, publish_window, run_window, look)


@kernel
def advance(control, worker, worker_address):
    """What this scheduler does alone between the actions and the boundary (`transition.transitions`)."""
    binding = binding_of(control)
    if control.stage == AT_WINDOW:
        return next_windows(control, binding, worker, worker_address)
    if control.stage == AT_EXECUTED:
        events = totals(control)[0] - control.events_before
        elapsed = float(clock_ns() - control.phase_started)
        walls = control.shared_ns, control.shared_units
        learn_window(control, binding, walls, elapsed, events)
    control.stage = AT_WINDOW
    return False


# -- workers -------------------------------------------------------------------------------------------


@kernel
def take(words, worker, p, phase):
    """Take part p in a phase, unless somebody has."""
    seen = load(words, p * PART_WORDS + TAKEN)
    if seen >= phase:
        return False
    taken = compare_and_swap(words, p * PART_WORDS + TAKEN, seen, phase) == seen
    worker.lost_claims += int64(not taken)
    return taken


@kernel
def claim_part(control, worker, phase, kind, total, grain):
    """Claim one's own part, or one whose worker is not in the call; other phases as `worker.claim`."""
    if kind != EXECUTE:
        return claim(control, worker, phase, kind, total, grain)
    if load(sync_of(control), OPEN) != phase:
        return int64(0), int64(0)  # it is over, and `kind` may be that of the next
    words = array_at(binding_of(control).words, np.int64)
    if take(words, worker, worker.index, phase):
        return worker.index, worker.index + 1
    for p in range(total):
        if load(words, p * PART_WORDS + PRESENT) == 0 and take(words, worker, p, phase):
            return p, p + 1
    return int64(0), int64(0)


work = working("ross", claim_part, perform, transitions("ross", offering("ross", perform), advance))


@kernel
def prepare(control):
    """Before a step begins: queues for its workers, and no part taken."""
    binding = binding_of(control)
    words = array_at(binding.words, np.int64)
    for p in range(control.threads):
        store(words, p * PART_WORDS + TAKEN, int64(0))
    if control.stage < AT_SETTLE and control.queued_for != control.threads:
        bind(control, binding)


def static_binding_main(index, control_address):
    """C entry point of worker `index`; -1 begins a step as worker 0 (`worker.worker_main`)."""
    control = record_at(control_address, CONTROL)
    me = max(index, int64(0))
    worker_address = control.workers + me * WORKER_BYTES
    if index < 0:
        prepare(control)
        begin(control)
    words = array_at(binding_of(control).words, np.int64)
    store(words, me * PART_WORDS + PRESENT, int64(1))
    work(control, workers_of(control)[me], worker_address)
    store(words, me * PART_WORDS + PRESENT, int64(0))


@lru_cache(maxsize=1)
def _worker():
    """The compiled worker, kept for the life of the process."""
    return c_function(static_binding_main, types.void(types.int64, types.int64), package_fingerprint())


# -- the engine ----------------------------------------------------------------------------------------


class BindingMemory(Memory):
    """The arrays of a world whose entities are bound to workers."""

    def __init__(self, model, compiled, threads: int, round_robin: bool):
        self.binding, self.bound_parts = aligned_zeros(1, BINDING), aligned_zeros(threads, PART)
        self.home = aligned_zeros(model.n_entities, np.int32)
        self.part_words = aligned_zeros(threads * PART_WORDS, np.int64)
        self.mail = aligned_zeros((threads, -(-2 * threads // STRIDE) * STRIDE), np.int64)
        self.bound_parts["mail"] = self.mail.ctypes.data + np.arange(threads) * self.mail.strides[0]
        binding = self.binding[0]
        binding["parts"], binding["home"] = self.bound_parts.ctypes.data, self.home.ctypes.data
        binding["words"], binding["round_robin"] = self.part_words.ctypes.data, round_robin
        super().__init__(model, compiled, threads)
        self.control["own"] = self.binding.ctypes.data

    def new_pool(self, slots: int) -> None:
        """A pool and, in each part, room for all its events."""
        room = (slots + SPARE) * ENTRY.itemsize + 2 * ALIGNMENT
        self.heaps = np.empty((self.threads, -(-room // ALIGNMENT) * ALIGNMENT), np.uint8)  # mostly untouched
        super().new_pool(slots)

    def point_pool(self) -> None:
        """Have the engine use this pool and these heaps."""
        start = -(-self.heaps.ctypes.data // ALIGNMENT) * ALIGNMENT
        self.bound_parts["heap"] = start + np.arange(self.threads) * self.heaps.strides[0]
        super().point_pool()


class StaticBindingEngine(CompiledEngine):
    """Entities are bound to workers in blocks of neighbours, or, as `ross-t:round-robin`, in turn."""

    def _worker_function(self) -> int:
        return int(_worker().address)

    def _new_memory(self) -> Memory:
        round_robin = self.scheduler == "ross-t:round-robin"
        return BindingMemory(self.model, compile_model(self.model), self.threads, round_robin)
