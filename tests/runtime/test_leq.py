"""The compiled event queue against `heapq`, the inbox, and the slots that hold events."""

from __future__ import annotations

import heapq

import numpy as np
import pytest
from numba import int32, int64, njit

from seer_env.runtime.layout import BUMP, CHUNK, CLAIMS, FREE_CHUNKS, FREE_SLOTS, LEQ, WORKER, aligned_zeros
from seer_env.runtime.leq import HEADER, drain_inbox, free_slot, insert, new_slot, push_inbox, remove_root

SLOTS = 1024


@njit
def play(pool, leq, operations, times, seqs, removed):
    """Insert event `k` in slot `k` where `operations[k]`, else remove the root; returns removals."""
    n = 0
    queue = leq[0]
    for k in range(len(operations)):
        if operations[k]:
            pool[k].time, pool[k].seq = times[k], seqs[k]
            insert(pool, queue, int32(k), times[k], seqs[k])
        elif queue.root >= 0:
            removed[n] = queue.root
            n += 1
            remove_root(pool, queue)
    while queue.root >= 0:
        removed[n] = queue.root
        n += 1
        remove_root(pool, queue)
    return n


@njit
def push_all(pool, leq, lines, dirty, targets, times, seqs):
    for k in range(len(targets)):
        pool[k].time, pool[k].seq = times[k], seqs[k]
        push_inbox(pool, lines, dirty, int64(targets[k]), int32(k))


@njit
def drain_all(pool, leq, lines, i, removed):
    n = 0
    drain_inbox(pool, leq[i], lines, i)
    while leq[i].root >= 0:
        removed[n] = leq[i].root
        n += 1
        remove_root(pool, leq[i])
    return n


@njit
def take_slots(worker, count, slots):
    for k in range(count):
        slots[k] = new_slot(worker)


@njit
def give_slots(pool, worker, sync, slots):
    for slot in slots:
        free_slot(pool, worker, sync, slot)


def empty_queues(n):
    leq = aligned_zeros(n, LEQ)
    leq["root"], leq["child"], leq["time"], leq["inbox"] = -1, -1, np.inf, -1
    return leq


def heapq_order(operations, times, seqs):
    heap, order = [], []
    for k, inserting in enumerate(operations):
        if inserting:
            heapq.heappush(heap, (times[k], seqs[k], k))
        elif heap:
            order.append(heapq.heappop(heap)[2])
    return order + [heapq.heappop(heap)[2] for _ in range(len(heap))]


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7, 1.0])
@pytest.mark.parametrize("distinct", [1, 5, 10**9], ids=["one time", "few times", "many times"])
def test_events_leave_a_queue_as_they_leave_heapq(share, distinct):
    rng = np.random.default_rng([int(10 * share), distinct])
    for n in (1, 2, 3, 10, 100, 600):
        operations = rng.random(n) < share
        times = rng.integers(0, distinct, n) / 8.0
        seqs = rng.permutation(n).astype(np.int64)
        removed = np.zeros(n, np.int64)
        count = play(np.zeros(n, HEADER), empty_queues(1), operations, times, seqs, removed)
        assert removed[:count].tolist() == heapq_order(operations, times, seqs)


@pytest.mark.parametrize("order", ["rising", "falling"])
def test_sorted_insertions_leave_sorted(order):
    n = 500
    times = np.arange(float(n)) if order == "rising" else np.arange(float(n))[::-1].copy()
    removed = np.zeros(n, np.int64)
    seqs, operations = np.zeros(n, np.int64), np.ones(n, bool)
    assert play(np.zeros(n, HEADER), empty_queues(1), operations, times, seqs, removed) == n
    assert removed.tolist() == (list(range(n)) if order == "rising" else list(range(n))[::-1])


def test_an_empty_queues_next_time_is_never():
    leq = empty_queues(1)
    play(np.zeros(1, HEADER), leq, np.ones(1, bool), np.ones(1), np.ones(1, np.int64), np.zeros(1, np.int64))
    assert (leq[0]["root"], leq[0]["time"]) == (-1, np.inf)


@pytest.fixture
def pushed():
    """300 events pushed on the inboxes of 130 entities: (pool, leq, lines, dirty, targets, times, seqs)."""
    rng = np.random.default_rng(4)
    leq, n = empty_queues(130), 300
    targets, times = rng.integers(0, 130, n), rng.integers(0, 4, n) / 2.0
    pool, lines, dirty = np.zeros(n, HEADER), leq.view(np.int64), aligned_zeros(3, np.int64)
    seqs = rng.permutation(n).astype(np.int64)
    push_all(pool, leq, lines, dirty, targets, times, seqs)
    return pool, leq, lines, dirty, targets, times, seqs


def test_pushing_marks_exactly_the_targets_dirty(pushed):
    _, _, _, dirty, targets, _, _ = pushed
    bits = np.unpackbits(dirty.view(np.uint8), bitorder="little")
    np.testing.assert_array_equal(np.flatnonzero(bits), np.unique(targets))


def test_a_drained_inbox_leaves_in_key_order(pushed):
    pool, leq, lines, _, targets, times, seqs = pushed
    for i in range(130):
        mine, removed = np.flatnonzero(targets == i), np.zeros(300, np.int64)
        count = drain_all(pool, leq, lines, i, removed)
        assert removed[:count].tolist() == mine[np.lexsort((seqs[mine], times[mine]))].tolist()
        assert leq[i]["inbox"] == -1


def workers_over(slots, lines=1, count=1):
    """Workers without a slot, over a pool of `slots` events of `lines` cache lines: (pool, workers, sync)."""
    pool, sync, workers = (
        aligned_zeros(slots * lines, HEADER),
        aligned_zeros(CLAIMS, np.int64),
        aligned_zeros(count, WORKER),
    )
    workers["pool"], workers["sync"] = pool.ctypes.data, sync.ctypes.data
    workers["lines"], workers["slots"] = lines, len(pool)
    return pool, workers, sync


def taken(worker, count):
    slots = np.zeros(count, np.int32)
    take_slots(worker, count, slots)
    return slots


@pytest.mark.parametrize("lines", [1, 2, 9])
def test_a_pool_gives_each_of_its_slots_once_and_then_none(lines):
    _, workers, _ = workers_over(SLOTS, lines)
    slots = taken(workers[0], SLOTS + 3)
    np.testing.assert_array_equal(np.sort(slots[:SLOTS]), np.arange(SLOTS) * lines)
    assert (slots[SLOTS:] == -1).all()


def test_two_workers_never_hold_the_same_slot():
    _, workers, _ = workers_over(SLOTS, count=2)
    held = np.concatenate([taken(workers[w], 5) for _ in range(40) for w in (0, 1)])
    assert len(np.unique(held)) == len(held)


def test_the_slot_given_back_last_is_taken_first():
    pool, workers, sync = workers_over(SLOTS)
    slots = taken(workers[0], 10)
    give_slots(pool, workers[0], sync, slots)
    np.testing.assert_array_equal(taken(workers[0], 10), slots[::-1])


def test_a_slot_given_back_is_marked_as_holding_no_event():
    pool, workers, sync = workers_over(SLOTS)
    slots = taken(workers[0], 10)
    pool["target"][slots] = 5
    give_slots(pool, workers[0], sync, slots[:4])
    np.testing.assert_array_equal(pool["target"][slots], [-1] * 4 + [5] * 6)


def test_a_worker_with_too_many_free_slots_passes_a_chunk_to_the_others():
    pool, workers, sync = workers_over(SLOTS, count=2)
    slots = taken(workers[0], SLOTS)
    give_slots(pool, workers[0], sync, slots[: FREE_SLOTS + 1])
    assert workers[0]["n_free"] == FREE_SLOTS - CHUNK + 1
    got = taken(workers[1], CHUNK + 1)
    np.testing.assert_array_equal(np.sort(got[:CHUNK]), np.sort(slots[FREE_SLOTS - CHUNK : FREE_SLOTS]))
    assert got[CHUNK] == -1


@pytest.mark.parametrize("lines", [1, 2])
def test_every_slot_given_back_can_be_taken_by_another_worker_or_is_kept(lines):
    pool, workers, sync = workers_over(SLOTS, lines, count=2)
    slots = taken(workers[0], SLOTS)
    give_slots(pool, workers[0], sync, slots)
    kept = int(workers[0]["n_free"])
    got = taken(workers[1], SLOTS)
    assert (got >= 0).sum() == SLOTS - kept
    rest = taken(workers[0], kept + 1)
    assert rest[kept] == -1
    np.testing.assert_array_equal(
        np.sort(np.concatenate([got[got >= 0], rest[:kept]])), np.arange(SLOTS) * lines
    )


def test_the_tag_of_the_shared_stack_changes_with_every_chunk():
    pool, workers, sync = workers_over(SLOTS)
    slots = taken(workers[0], SLOTS)
    tags = []
    for start in range(0, SLOTS, CHUNK):
        give_slots(pool, workers[0], sync, slots[start : start + CHUNK])
        tags.append(int(sync[FREE_CHUNKS]) >> 32)
    assert tags == sorted(tags)
    assert tags[-1] == (SLOTS - FREE_SLOTS) // CHUNK


def test_unused_memory_is_taken_in_chunks():
    _, workers, sync = workers_over(SLOTS, lines=2)
    taken(workers[0], 1)
    assert sync[BUMP] == 2 * CHUNK
