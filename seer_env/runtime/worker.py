"""Workers: claims of a phase, its execution, and the transition to the next phase.

A step is a chain of phases (`Stage`). A phase has `total` items; workers claim ranges of them, and
the worker that completes the last item performs the transition. Completion is counted by work
done, not by workers arrived: one live worker is enough for progress. PROTOCOL.md holds the words,
the transitions and the proof.
"""

from __future__ import annotations

import numpy as np
from numba import carray, int64

from seer_env.runtime.atomics import (
    FANOUT,
    add,
    call3,
    compare_and_swap,
    exchange,
    load,
    minimum_with,
    pointer,
    prefetch,
    store,
)
from seer_env.runtime.layout import (
    BUMP,
    CLAIM,
    CONTROL,
    DONE,
    GRAIN,
    KIND,
    MICRO_SHIFT,
    PAUSED,
    PHASE,
    SLEEPERS,
    TOTAL,
    WORKER,
)
from seer_env.runtime.leq import (
    CAPACITY,
    HEADER,
    empty_outbox,
    free_slot,
    inlined,
    kernel,
    lower,
    prefetch_events,
    remove_root,
)
from seer_env.runtime.waiting import LONGEST_SLEEP_MS, SPINS, block_while_equal, clock_ns, pause, wake_all
from seer_env.runtime.window import (
    UNBOUNDED,
    block_min_of,
    blocks_of,
    leq_of,
    next_time_of,
    open_window,
    pool_of,
    ready_of,
    refresh_blocks,
    refresh_supers,
    settle_block,
    super_min_of,
    sync_of,
    touched_of,
    unsettled_blocks,
    workers_of,
)

#: Kinds of phase. STOP has no items: it ends the call.
ACT, SETTLE, EXECUTE, COUNT_CELLS, PUBLISH, OBSERVE, RESUME, STOP = range(1, 9)
#: What the transition does next.
AT_ACTIONS, AT_SETTLE, AT_SETTLED, AT_WINDOW, AT_EXECUTED, AT_BOUNDARY, AT_COUNTED, AT_OUTPUTS, AT_END = (
    range(9)
)
#: Why a call returned.
RUNNING, FINISHED, BREACHED = 0, 1, 2

#: A phase is shared when its work is worth more than this: a sleeping worker costs a wake-up of
#: several microseconds, and every line it touches moves between cores.
SHARE_NS = 12_000.0
#: A claim should last about this long: far above the cost of claiming, far below a step.
GRAIN_NS = 4_000.0
#: Between two looks at the clock, at most: what Ctrl-C waits for.
PAUSE_NS = 20_000_000.0
#: Rounds that one worker executes between two looks at the clock.
ROUNDS_PER_LOOK = 64
#: Items between asking for memory and using it: the queue line first, then what it points to.
LINE_AHEAD, EVENT_AHEAD = 6, 3
#: Queue lines and events that a core's own cache holds besides the model's state.
NEAR = 4096
HEADER_BYTES, WORKER_BYTES = HEADER.itemsize, WORKER.itemsize


# -- executing items ---------------------------------------------------------------------------------


@inlined
def execute_entity(control, worker, worker_address, i):
    """Execute entity i's events of the safe window in key order, those it emits to itself too."""
    leq = leq_of(control)
    pool = pool_of(control)
    handlers = carray(pointer(control.handlers), (UNBOUNDED,), np.int64)
    sync = sync_of(control)
    queue = leq[i]
    limit, zero, micro = control.window, control.zero, control.micro
    me = control.state + i * control.state_stride
    worker.me = i
    worker.stopped = 0
    while queue.time < limit and queue.root >= 0:
        if zero and queue.seq >> MICRO_SHIFT != micro:
            break
        slot = queue.root
        event = pool[slot]
        worker.now, worker.seq, worker.kind = queue.time, queue.seq, int64(event.kind)
        worker.micro = queue.seq >> MICRO_SHIFT
        remove_root(pool, queue)
        call3(handlers[event.kind], me, control.pool + int64(slot) * HEADER_BYTES, worker_address)
        worker.events += 1
        free_slot(pool, worker, sync, slot)
        if worker.stopped:
            break


@kernel
def perform(control, worker, worker_address, kind, first, last):
    """Do the items `first..last-1` of a phase."""
    leq = leq_of(control)
    ready = ready_of(control)
    pool = pool_of(control)
    blocks = blocks_of(control)
    next_time = next_time_of(control)
    states = carray(pointer(control.state), (UNBOUNDED,), np.uint8)
    worker.direct, worker.far = control.direct, control.far
    if kind == EXECUTE:
        for q in range(first, last):
            if worker.far != 0 and q + LINE_AHEAD < last:
                prefetch(leq, ready[q + LINE_AHEAD])
                prefetch(states, ready[q + EVENT_AHEAD] * control.state_stride)
                prefetch_events(pool, leq, ready[q + EVENT_AHEAD])
            i = int64(ready[q])
            execute_entity(control, worker, worker_address, i)
            next_time[i] = leq[i].time
        empty_outbox(worker)
    elif kind == SETTLE:
        for q in range(first, last):
            settle_block(control, int64(blocks[q]))
    elif kind == ACT:
        worker.notify = 1
        call3(control.act, first, last, worker_address)
        worker.notify = 0
        empty_outbox(worker)
    elif kind == COUNT_CELLS:
        call3(control.count_cells, first, last, worker_address)
    elif kind == PUBLISH:
        call3(control.publish, first, last, worker_address)
    elif kind == OBSERVE:
        call3(control.observe, first, last, worker_address)


# -- the transition ------------------------------------------------------------------------------------


@kernel
def publish(control, kind, total, grain):
    """Open a phase. Release of everything written before it; wakes who sleeps."""
    sync = sync_of(control)
    phase = load(sync, PHASE) + 1
    store(sync, KIND, kind)
    store(sync, TOTAL, total)
    store(sync, GRAIN, grain)
    store(sync, DONE, int64(0))
    store(sync, CLAIM, phase << 32)
    exchange(sync, PHASE, phase)
    if add(sync, SLEEPERS, int64(0)) > 0:
        wake_all(sync, PHASE)


@kernel
def offer(control, worker, worker_address, kind, total, cost):
    """Execute a phase at once if it is too small to share, else publish it; True if published."""
    work = total * cost
    if total == 0:
        return False
    if work <= SHARE_NS or (control.threads == 1 and work <= PAUSE_NS and kind != EXECUTE):
        control.direct = 1
        perform(control, worker, worker_address, kind, int64(0), total)
        return False
    control.direct = 1 if control.threads == 1 else 0
    grain = max(int64(GRAIN_NS / cost), total // (8 * control.threads))
    grain = max(int64(1), min(grain, int64(PAUSE_NS / cost)))
    control.events_before, control.busy_before = totals(control)
    publish(control, kind, total, grain)
    return True


@kernel
def stopped_by_breach(control):
    """Whether any worker met a breach, or all together emitted too much."""
    workers = workers_of(control)
    emitted = int64(0)
    for w in range(control.threads):
        if workers[w].rule != 0:
            return True
        emitted += workers[w].emitted
    if emitted > control.emission_limit:
        worker = workers[0]
        worker.rule, worker.breach_entity, worker.breach_kind = CAPACITY, worker.me, worker.kind
        worker.breach_time = worker.now
        return True
    return False


@kernel
def totals(control):
    """Events executed in this step, and nanoseconds spent on claims, by all workers."""
    workers = workers_of(control)
    events, busy = int64(0), int64(0)
    for w in range(control.threads):
        events += workers[w].events
        busy += workers[w].busy
    return events, busy


@kernel
def learn_cost(average, elapsed, items):
    """Moving average of an item's cost in nanoseconds of one worker's time."""
    if items == 0:
        return average
    return 0.75 * average + 0.25 * max(1.0, elapsed / items)


@inlined
def execute_alone(control, worker, worker_address):
    """A round of one entity: the common one where there is no lookahead.

    The entity leaves the minimum tree before it executes and returns afterwards, so that the vector
    scans of leaving overlap with the handler instead of waiting for its stores.
    """
    i = int64(ready_of(control)[0])
    next_time, block_min, super_min = next_time_of(control), block_min_of(control), super_min_of(control)
    block, parent = i >> 6, i >> 12
    rest = minimum_with(next_time, block * FANOUT, i & 63, np.inf)
    super_min[parent] = minimum_with(block_min, parent * FANOUT, block & 63, rest)
    block_min[block], next_time[i] = rest, np.inf
    worker.direct, worker.far = 1, 0
    execute_entity(control, worker, worker_address, i)
    lower(next_time, block_min, super_min, i, leq_of(control)[i].time)


@kernel
def next_round(control, worker, worker_address):
    """Rounds too small to share, one after the other; True when a phase was published.

    Returns False when the window is drained, or it is time to look up (`control.status` tells).
    """
    started, events = clock_ns(), worker.events
    for _ in range(ROUNDS_PER_LOOK):
        n = open_window(control)
        if n == 0:
            control.stage = AT_BOUNDARY
            break
        control.rounds += 1
        if n == 1:
            execute_alone(control, worker, worker_address)
            if worker.rule != 0:
                control.stage = AT_EXECUTED
                break
            continue
        control.stage = AT_EXECUTED
        if offer(control, worker, worker_address, EXECUTE, n, control.event_cost):
            control.shared_rounds += 1
            return True
        control.stage = AT_WINDOW
        refresh_blocks(control, control.n_blocks_ready)
        if worker.rule != 0:
            control.stage = AT_EXECUTED
            break
    control.event_cost = learn_cost(control.event_cost, clock_ns() - started, worker.events - events)
    return False


@kernel
def after_execute(control):
    """Bookkeeping of a shared round, and of a breach in any."""
    touched = touched_of(control)
    blocks = blocks_of(control)
    if stopped_by_breach(control):
        return False
    events, busy = totals(control)
    events_here, busy_here = events - control.events_before, busy - control.busy_before
    control.event_cost = learn_cost(control.event_cost, float(busy_here), events_here)
    if control.direct:
        refresh_blocks(control, control.n_blocks_ready)
        control.stage = AT_WINDOW
    else:
        for q in range(control.n_blocks_ready):
            touched[blocks[q]] = 1
        control.stage = AT_SETTLE
    return True


@kernel
def sum_histograms(control):
    """Turn per-part cell counts into first ranks: by cell, then part, then entity index."""
    starts = carray(pointer(control.starts), (control.n_cells + 1,), np.int64)
    counts = carray(pointer(control.histogram), (control.parts, control.n_cells), np.int32)
    rank = int64(0)
    for cell in range(control.n_cells):
        starts[cell] = rank
        for part in range(control.parts):
            count = counts[part, cell]
            counts[part, cell] = rank
            rank += count
    starts[control.n_cells] = rank


@kernel
def finish(control, status):
    """End the step."""
    control.status = status
    control.stage = AT_END
    control.events, _ = totals(control)
    control.ended_at = clock_ns()
    publish(control, STOP, int64(0), int64(1))


@kernel
def transition(control, worker, worker_address):
    """Go through the stages of a step until a phase is published. Run by one worker at a time."""
    while True:
        stage = control.stage
        if stage == AT_ACTIONS:
            control.stage = AT_SETTLE
            if control.act != 0 and offer(
                control, worker, worker_address, ACT, control.n_agents, control.action_cost
            ):
                return
        elif stage == AT_SETTLE:
            if stopped_by_breach(control):
                finish(control, BREACHED)
                return
            n = unsettled_blocks(control)
            control.n_blocks_ready = n
            control.stage = AT_SETTLED
            if offer(control, worker, worker_address, SETTLE, n, 300.0):
                return
        elif stage == AT_SETTLED:
            refresh_supers(control, control.n_blocks_ready)
            control.stage = AT_WINDOW
        elif stage == AT_WINDOW:
            if clock_ns() > control.deadline:
                publish(control, RESUME, int64(1), int64(1))
                return
            if next_round(control, worker, worker_address):
                return
        elif stage == AT_EXECUTED:
            if not after_execute(control):
                finish(control, BREACHED)
                return
        elif stage == AT_BOUNDARY:
            control.drained_at = clock_ns()
            control.clock = control.end
            control.stage = AT_COUNTED
            if control.count_cells != 0 and offer(
                control,
                worker,
                worker_address,
                COUNT_CELLS,
                control.parts,
                4.0 * control.n_entities / control.parts,
            ):
                return
        elif stage == AT_COUNTED:
            if control.count_cells != 0:
                sum_histograms(control)
            control.stage = AT_OUTPUTS
            if control.publish != 0 and offer(
                control,
                worker,
                worker_address,
                PUBLISH,
                control.parts,
                8.0 * control.n_entities / control.parts,
            ):
                return
        elif stage == AT_OUTPUTS:
            control.stage = AT_END
            if offer(control, worker, worker_address, OBSERVE, output_rows(control), control.output_cost):
                return
        else:
            finish(control, BREACHED if stopped_by_breach(control) else FINISHED)
            return


@kernel
def output_rows(control):
    """Rows of the output phase: agents, or with a grid all ranks, so that neighbours run together."""
    if control.n_agents == 0:
        return int64(0)
    return control.n_entities if control.count_cells != 0 else control.n_agents


# -- the worker's loop ---------------------------------------------------------------------------------


@kernel
def claim(sync, phase, total, grain):
    """Claim a range of the phase's items: its first item, or -1 if none is left or it is over."""
    word = load(sync, CLAIM)
    while word >> 32 == phase:
        first = word & 0xFFFFFFFF
        if first >= total:
            return int64(-1)
        seen = compare_and_swap(sync, CLAIM, word, word + grain)
        if seen == word:
            return first
        word = seen
    return int64(-1)


@kernel
def wait_for_phase(sync, phase):
    """Wait until another phase than `phase` is published; False when the call was paused."""
    spins = 0
    while load(sync, PHASE) == phase:
        if load(sync, PAUSED) != 0:
            return False
        pause()
        spins += 1
        if spins > SPINS:
            add(sync, SLEEPERS, int64(1))
            # Read again after announcing the sleep: partner of `publish` and of `leave_early`.
            if add(sync, PHASE, int64(0)) == phase and add(sync, PAUSED, int64(0)) == 0:
                block_while_equal(sync, PHASE, phase, int64(min(LONGEST_SLEEP_MS, spins - SPINS)))
            add(sync, SLEEPERS, int64(-1))
    return True


@kernel
def leave_early(sync):
    """Ask all workers to return after their current claim, and wake those who sleep."""
    exchange(sync, PAUSED, int64(1))
    if add(sync, SLEEPERS, int64(0)) > 0:
        wake_all(sync, PHASE)


@kernel
def work(control, worker, worker_address):
    """Claim, perform, and at the last item of a phase perform the transition; until STOP or pause."""
    sync = sync_of(control)
    phase = load(sync, PHASE)
    while True:
        kind, total, grain = load(sync, KIND), load(sync, TOTAL), load(sync, GRAIN)
        if kind == STOP and load(sync, PHASE) == phase:
            return
        first = claim(sync, phase, total, grain)
        if first < 0:
            if not wait_for_phase(sync, phase):
                return
            phase = load(sync, PHASE)
            continue
        items = min(grain, total - first)
        started = clock_ns()
        perform(control, worker, worker_address, kind, first, first + items)
        now = clock_ns()
        worker.busy += now - started
        if add(sync, DONE, items) + items == total:
            transition(control, worker, worker_address)
            if control.alone:
                return
            phase = load(sync, PHASE)
        if now > control.deadline:
            leave_early(sync)
            return


@kernel
def begin(control):
    """Clear the counts of the last step."""
    workers = workers_of(control)
    control.rounds, control.shared_rounds = 0, 0
    used = load(sync_of(control), BUMP) // workers[0].lines
    control.far = 1 if control.n_entities + used > NEAR else 0
    for w in range(control.threads):
        worker = workers[w]
        worker.events, worker.emitted, worker.busy, worker.lost_claims = 0, 0, 0, 0
        worker.rule, worker.stopped, worker.sent = 0, 0, 0


def worker_main(index, control_address):
    """C entry point of worker `index`; -1 begins a step as worker 0."""
    control = carray(pointer(control_address), (1,), CONTROL)[0]
    me = max(index, int64(0))
    worker_address = control.workers + me * WORKER_BYTES
    if index < 0:
        begin(control)
        store(sync_of(control), PHASE, int64(0))
        publish(control, RESUME, int64(1), int64(1))
    work(control, workers_of(control)[me], worker_address)
