"""Workers: claims of a phase, its execution, and the transition to the next phase.

A step is a chain of phases. A phase has `total` items; workers claim ranges of them, and the worker
that completes the last item performs the transition. Completion is counted by work done, not by
workers arrived: one live worker is enough for progress. PROTOCOL.md holds the words, the transitions
and the proof.
"""

from __future__ import annotations

from numba import int64

from seer_env.runtime.atomics import add, compare_and_swap, exchange, load, record_at, store
from seer_env.runtime.layout import (
    BUMP,
    CLAIMS,
    CONTROL,
    DISTANT,
    DONE,
    GRAIN,
    KIND,
    OPEN,
    PAUSED,
    PHASE,
    SLEEPERS,
    STRIDE,
    TOTAL,
    WORKER,
)
from seer_env.runtime.leq import kernel, kernel_for
from seer_env.runtime.phases import EXECUTE, RESUME, STOP, perform
from seer_env.runtime.recording import record, record_transition
from seer_env.runtime.rounds import transition
from seer_env.runtime.sharing import judge_step
from seer_env.runtime.transition import publish
from seer_env.runtime.waiting import LONGEST_SLEEP_MS, block_while_equal, clock_ns, pause, wake_all
from seer_env.runtime.window import sync_of, workers_of

#: Queue lines and events that a core's own cache holds besides the model's state.
NEAR = 4096
#: A claim counts as at most this many times what it was expected to cost.
CREDIBLE = 4.0
WORKER_BYTES = WORKER.itemsize


@kernel
def size_of(left, grain):
    """Items of a claim when `left` of a part are unclaimed: fewer and fewer, so that workers end together.

    Polychronopoulos and Kuck, "Guided self-scheduling", IEEE Transactions on Computers 1987.
    """
    most, least = grain >> 32, grain & 0xFFFFFFFF
    return min(left, max(least, min(most, left // 4)))


@kernel
def claim(control, worker, phase, kind, total, grain):
    """Claim a range of the phase's items, first to last - 1; an empty one if none is left or it is over.

    Each worker begins with a part of its own, whose rows and queues are in its core's cache since the last
    round, and goes on with those of others.
    """
    sync, parts = sync_of(control), control.threads
    if load(sync, OPEN) != phase:  # the description may be the next phase's
        return int64(0), int64(0)
    for k in range(parts):
        part = (worker.index + k) % parts
        at, end = CLAIMS + part * STRIDE, total * (part + 1) // parts
        word = load(sync, at)
        while word >> 32 == phase and word & 0xFFFFFFFF < end:
            first = word & 0xFFFFFFFF
            items = size_of(end - first, grain)
            seen = compare_and_swap(sync, at, word, word + items)
            if seen == word:
                return first, first + items
            word = seen
            worker.lost_claims += 1
    return int64(0), int64(0)


@kernel
def wait_for_phase(sync, phase, most):
    """Wait until another phase than `phase` is published, spinning `most` times before it sleeps.

    Returns False when the call was paused.
    """
    spins = int64(0)
    while load(sync, PHASE) == phase:
        if load(sync, PAUSED) != 0:
            return False
        pause()
        spins += 1
        if spins > most:
            add(sync, SLEEPERS, int64(1))
            # Read again after announcing the sleep: partner of `publish` and of `leave_early`.
            if add(sync, PHASE, int64(0)) == phase and add(sync, PAUSED, int64(0)) == 0:
                block_while_equal(sync, PHASE, phase, min(int64(LONGEST_SLEEP_MS), spins - most))
            add(sync, SLEEPERS, int64(-1))
    return True


@kernel
def leave_early(sync):
    """Ask all workers to return after their current claim, and wake those who sleep."""
    exchange(sync, PAUSED, int64(1))
    if add(sync, SLEEPERS, int64(0)) > 0:
        wake_all(sync, PHASE)


@kernel
def count_time(worker, started, ended):
    """Count time that a worker has spent working, and which part of it lies behind the window."""
    worker.busy += ended - started
    worker.busy_outputs += max(int64(0), ended - max(started, worker.drained_at))


def working(scheduler, claim, perform, transition):
    """The `work` of a scheduler."""

    @kernel_for(scheduler)
    def work(control, worker, worker_address):
        """Claim, perform, and at the last item of a phase perform the transition; until STOP or pause."""
        # In one piece: each way out of the loop ends the step, the wait or the claim.
        sync = sync_of(control)
        phase = load(sync, PHASE)
        while True:
            kind, total, grain = load(sync, KIND), load(sync, TOTAL), load(sync, GRAIN)
            if kind == STOP and load(sync, PHASE) == phase:
                return
            first, last = claim(control, worker, phase, kind, total, grain)
            if first == last:
                if not wait_for_phase(sync, phase, control.spins):
                    return
                phase = load(sync, PHASE)
                continue
            items = last - first
            worker.claims += 1
            worker.drained_at = control.drained_at
            started, events = clock_ns(), worker.events
            perform(control, worker, worker_address, kind, first, last)
            now = clock_ns()
            count_time(worker, started, now)
            if worker.spans != 0:
                done = worker.events - events
                record(worker, kind, phase, control.rounds, started, now, first, items, done)
            # A core that was taken away in mid-claim must not make the phase look worth sharing.
            units = worker.events - events if kind == EXECUTE else items
            worker.measured += min(float(now - started), CREDIBLE * units * control.shared_cost)
            if add(sync, DONE, items) + items == total:
                transition(control, worker, worker_address)
                ended = clock_ns()
                count_time(worker, now, ended)
                worker.alone += ended - now
                if worker.spans != 0:
                    record_transition(worker, now, ended)
                if control.alone:
                    return
                phase = load(sync, PHASE)
            if now > control.deadline:
                leave_early(sync)
                return

    return work


@kernel
def begin(control):
    """Begin a step: clear the counts of the last one, and open a first phase without work."""
    workers = workers_of(control)
    judge_step(control)
    control.begun_at = clock_ns()
    control.rounds, control.shared_rounds, control.shared_kind = 0, 0, 0
    control.settling, control.drained_at, control.n_rounds = 0, DISTANT, 0
    used = load(sync_of(control), BUMP) // workers[0].lines
    control.far = 1 if control.n_entities + used > NEAR else 0
    for w in range(control.threads):
        worker = workers[w]
        worker.events, worker.emitted, worker.undone = 0, 0, 0
        worker.claims, worker.lost_claims = 0, 0
        worker.busy, worker.busy_outputs, worker.alone, worker.measured = 0, 0, 0, 0.0
        worker.rule, worker.stopped, worker.sent, worker.n_spans = 0, 0, 0, 0
    store(sync_of(control), PHASE, int64(0))
    publish(control, int64(RESUME), int64(1), int64(1))


work = working("seer", claim, perform, transition)


def worker_main(index, control_address):
    """C entry point of worker `index`; -1 begins a step as worker 0."""
    control = record_at(control_address, CONTROL)
    me = max(index, int64(0))
    worker_address = control.workers + me * WORKER_BYTES
    if index < 0:
        begin(control)
    work(control, workers_of(control)[me], worker_address)
