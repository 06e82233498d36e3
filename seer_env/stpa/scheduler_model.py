"""A discrete-event model of the `seer` scheduler on any number of cores.

It knows what `runtime/PROTOCOL.md` says of a step: phases of items, claims of a grain, a transition that one
worker makes alone, workers that spin, block and are woken, a pool that is entered at the first shared phase.
Cores go to ready workers in turn, for a slice of time while others wait. It knows nothing of caches but one
figure: how much dearer an item becomes when others run beside it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from seer_env.runtime.sharing import MOST_ITEMS, SHARE_NS
from seer_env.runtime.transition import GRAIN_NS

__all__ = ["COUNTS", "Costs", "step_ns"]


class Costs(NamedTuple):
    """Nanoseconds of a machine's elementary operations; `calibrate` measures them.

    Attributes:
        claim: a claim of a word that no other core has written. contended: what it costs more if one has.
        wake: what waking others costs the waker. latency: until a woken worker runs, on average.
        launch, launch_each: until the pool's second worker runs, and each further one's delay.
        transition: closing a shared phase, settling, and publishing the next.
        spin: how long an idle worker spins before it blocks.
        time_slice: how long a worker keeps a core while others are ready for it.
        inflation: share by which items are dearer on two busy cores; `2 (1 - 1/k)` times as much on k.
    """

    claim: float
    contended: float
    wake: float
    latency: float
    launch: float
    launch_each: float
    transition: float
    spin: float
    time_slice: float
    inflation: float


#: Rows of what `step_ns` counts by worker.
COUNTS = ("busy_ns", "items", "lost_claims")
BUSY, ITEMS, LOST = range(3)
#: What a worker does; from SPINNING on it holds a core.
OUT, ASLEEP, WAKING, READY, SPINNING, WORKING, MOVING = range(7)
WORKER = np.dtype(
    [
        ("state", "i8"),
        ("resumes", "i8"),  # what it goes on with when it gets a core
        ("left", "f8"),  # ns until it has done, or is woken
        ("rest", "f8"),  # ns of its slice
        ("since", "f8"),  # ready since
        ("held", "i8"),  # items of its claim
    ]
)
STEP = np.dtype(
    [
        ("now", "f8"),
        ("phase", "i8"),
        ("total", "i8"),  # items of the open phase; 0 between phases
        ("next", "i8"),  # first item that nobody has claimed
        ("done", "i8"),
        ("claimed_at", "f8"),
        ("claimed_by", "i8"),
        ("waiting", "i8"),  # workers ready for a core
        ("ended", "i8"),
    ]
)


@njit
def step_ns(items, cost, workers, cores, costs, rng, counts):
    """Simulate a step in which every phase large enough is shared; its nanoseconds.

    Args:
        items, cost: int64 and float64 `[P]`, of each phase, and nanoseconds of an item of it.
        workers, cores: how many, at least 2 and 1.
        costs: `Costs`.
        rng: numpy Generator, of the latencies.
        counts: float64 `[len(COUNTS), workers]`; what each worker did is added.
    """
    pool, steps = np.zeros(workers, WORKER), np.zeros(1, STEP)
    step = steps[0]
    step.claimed_at, step.claimed_by = -1e18, -1
    pool[0].state, pool[0].left = MOVING, costs.transition
    while True:
        give_cores(pool, step, cores, costs)
        elapse(pool, step)
        for w in range(workers):
            worker = pool[w]
            if worker.state == WAKING and worker.left <= 0.0:
                worker.state, worker.resumes, worker.since = READY, SPINNING, step.now
            elif worker.state >= SPINNING:
                if worker.left <= 0.0:
                    advance(w, pool, step, items, cost, cores, costs, rng, counts)
                elif step.waiting > 0 and worker.rest <= 0.0:
                    worker.resumes, worker.state, worker.since = worker.state, READY, step.now
        if step.ended:
            return step.now + farewell(pool, costs)


@njit
def give_cores(pool, step, cores, costs):
    """Free cores take those who have waited longest."""
    running = 0
    for worker in pool:
        running += worker.state >= SPINNING
    while running < cores:
        first = -1
        for w in range(len(pool)):
            if pool[w].state == READY and (first < 0 or pool[w].since < pool[first].since):
                first = w
        if first < 0:
            break
        pool[first].state, pool[first].rest = pool[first].resumes, costs.time_slice
        if pool[first].state == SPINNING:
            pool[first].left = 0.0 if step.next < step.total else costs.spin
        running += 1
    step.waiting = 0
    for worker in pool:
        step.waiting += worker.state == READY


@njit
def elapse(pool, step):
    """Let time pass until something happens."""
    ahead = 1e18
    for worker in pool:
        if worker.state >= SPINNING and step.waiting > 0:
            ahead = min(ahead, worker.rest)
        if worker.state >= SPINNING or worker.state == WAKING:
            ahead = min(ahead, worker.left)
    ahead = max(ahead, 0.0)
    step.now += ahead
    for worker in pool:
        if worker.state >= SPINNING or worker.state == WAKING:
            worker.left -= ahead
            worker.rest -= ahead


@njit
def advance(w, pool, step, items, cost, cores, costs, rng, counts):
    """A worker has done what it did: it goes on."""
    worker = pool[w]
    if worker.state == WORKING:
        step.done += worker.held
        if step.done == step.total:
            step.phase += 1
            step.total = step.next = 0
            worker.state, worker.left = MOVING, costs.transition
            return
    elif worker.state == MOVING:
        if move(w, pool, step, items, cost, costs, rng, counts):
            return
    elif step.next >= step.total:  # has spun for long enough
        worker.state = ASLEEP
        return
    if step.next < step.total:
        claim(w, pool, step, cost, cores, costs, counts)
    else:
        worker.state, worker.left = SPINNING, costs.spin


@njit
def move(w, pool, step, items, cost, costs, rng, counts):
    """The transition to the next shared phase; True while there is none that this worker can claim of."""
    alone = 0.0
    while step.phase < len(items) and items[step.phase] * cost[step.phase] <= SHARE_NS:
        alone += items[step.phase] * cost[step.phase]  # too small to share: done at once
        counts[ITEMS, w] += items[step.phase]
        step.phase += 1
    if alone > 0.0:
        pool[w].left = alone
        return True
    if step.phase == len(items):
        step.ended = 1
        return True
    step.total, step.next, step.done = items[step.phase], 0, 0
    woken = False
    for other in range(len(pool)):
        if pool[other].state == OUT:
            pool[other].state, pool[other].left = WAKING, costs.launch + costs.launch_each * (other - 1)
        elif pool[other].state == ASLEEP:
            pool[other].state, pool[other].left = WAKING, costs.latency * rng.exponential()
            woken = True
        elif pool[other].state == SPINNING:
            pool[other].left = 0.0
    if woken:
        pool[w].state, pool[w].left = SPINNING, costs.wake
    return woken


@njit
def claim(w, pool, step, cost, cores, costs, counts):
    """Claim a grain of the open phase, and work on it."""
    busy = 1
    for worker in pool:
        busy += worker.state == WORKING
    item_ns = cost[step.phase]
    grain = max(int(GRAIN_NS / item_ns), step.total // (8 * len(pool)))
    grain = min(max(1, min(grain, MOST_ITEMS)), step.total - step.next)
    fought = step.claimed_by != w and step.now - step.claimed_at < costs.contended
    step.claimed_at, step.claimed_by = step.now, w
    work = grain * item_ns * (1.0 + 2.0 * costs.inflation * (1.0 - 1.0 / min(busy, cores)))
    step.next += grain
    pool[w].state, pool[w].held = WORKING, grain
    pool[w].left = work + costs.claim + (costs.contended if fought else 0.0)
    counts[BUSY, w] += work
    counts[ITEMS, w] += grain
    counts[LOST, w] += fought


@njit
def farewell(pool, costs):
    """How long the pool takes to be left: workers that block must be woken for it."""
    blocked, entered = False, False
    for w in range(1, len(pool)):
        blocked |= pool[w].state == ASLEEP or pool[w].state == WAKING or pool[w].state == READY
        entered |= pool[w].state != OUT
    return (costs.wake + costs.latency if blocked else 0.0) + (costs.contended if entered else 0.0)
