"""Claims of a phase: which items a worker takes, and how many at once."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from seer_env.envs.phold import Phold
from seer_env.runtime.engine import make_engine
from seer_env.runtime.layout import PHASE
from seer_env.runtime.phases import EXECUTE
from seer_env.runtime.sharing import MOST_ITEMS
from seer_env.runtime.transition import grains, publish
from seer_env.runtime.worker import claim, size_of


@njit
def sizes_of(total, least, most):
    """Sizes of the claims of a part, in the order in which they are made."""
    sizes = np.zeros(total, np.int64)
    first, n = 0, 0
    while first < total:
        sizes[n] = size_of(total - first, grains(least, most))
        first, n = first + sizes[n], n + 1
    return sizes[:n]


@pytest.mark.parametrize("total", [1, 7, 1000, 100_000])
@pytest.mark.parametrize(("least", "most"), [(0, 0), (1, 1), (3, 50), (10**9, 10**9)])
def test_claims_cover_a_part_and_shrink_between_their_bounds(total, least, most):
    sizes = sizes_of(total, least, most)
    assert sizes.sum() == total
    assert (np.diff(sizes) <= 0).all()
    assert sizes.max() <= max(1, min(most, MOST_ITEMS))
    assert sizes[:-1].min(initial=MOST_ITEMS) >= max(1, min(least, MOST_ITEMS))


def test_the_last_claims_are_the_least_and_the_first_a_share_of_what_is_left():
    sizes = sizes_of(400, 2, 10**9)
    assert sizes[0] == 400 // 4
    assert sizes[-2] == 2


@njit
def open_phase(control, total):
    publish(control, np.int64(EXECUTE), np.int64(total), grains(2, 10**9))


@njit
def claim_as(control, worker, phase, total):
    return claim(control, worker, phase, np.int64(EXECUTE), np.int64(total), grains(2, 10**9))


class PublishedPhase:
    """A phase of so many items that is open to the workers of an engine which does not run."""

    def __init__(self, total: int, threads: int):
        self.total, self._engine = total, make_engine(Phold(256), "seer", threads)
        memory = self._engine._memory
        self._control, self._workers = memory.control[0], memory.workers
        self._control["threads"] = threads
        open_phase(self._control, total)
        self.number = int(memory.sync[PHASE])

    def claim(self, worker: int, late: int = 0) -> range:
        """The items that a worker claims which has seen a phase so many numbers earlier."""
        return range(*claim_as(self._control, self._workers[worker], self.number - late, self.total))


@pytest.mark.parametrize("total", [4, 9, 1000])
def test_workers_begin_with_parts_of_their_own(total):
    phase = PublishedPhase(total, threads=4)
    for worker in range(4):
        own = range(total * worker // 4, total * (worker + 1) // 4)
        items = phase.claim(worker)
        assert len(items) > 0
        assert set(items) <= set(own)


@pytest.mark.parametrize("total", [1, 3, 8, 1000])
@pytest.mark.parametrize("who", [[0], [3], [2, 1]])
def test_whoever_comes_claims_every_item_once(total, who):
    phase = PublishedPhase(total, threads=4)
    claimed, turn = [], 0
    while items := phase.claim(who[turn % len(who)]):
        claimed.extend(items)
        turn += 1
    assert sorted(claimed) == list(range(total))
    assert not any(phase.claim(worker) for worker in range(4))


def test_a_worker_that_has_seen_an_earlier_phase_claims_nothing():
    phase = PublishedPhase(100, threads=2)
    assert not phase.claim(0, late=1)
    assert len(phase.claim(0)) > 0
