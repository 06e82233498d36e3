"""Claims of a phase: how many items a worker takes at once."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from seer_env.runtime.sharing import MOST_ITEMS
from seer_env.runtime.transition import grains
from seer_env.runtime.worker import size_of


@njit
def sizes_of(total, least, most, threads):
    """Sizes of the claims of a phase, in the order in which they are made."""
    sizes = np.zeros(total, np.int64)
    first, n = 0, 0
    while first < total:
        sizes[n] = size_of(total - first, grains(least, most), threads)
        first, n = first + sizes[n], n + 1
    return sizes[:n]


@pytest.mark.parametrize("total", [1, 7, 1000, 100_000])
@pytest.mark.parametrize(("least", "most"), [(0, 0), (1, 1), (3, 50), (10**9, 10**9)])
@pytest.mark.parametrize("threads", [1, 2, 8])
def test_claims_cover_a_phase_and_shrink_between_their_bounds(total, least, most, threads):
    sizes = sizes_of(total, least, most, threads)
    assert sizes.sum() == total
    assert (np.diff(sizes) <= 0).all()
    assert sizes.max() <= max(1, min(most, MOST_ITEMS))
    assert sizes[:-1].min(initial=MOST_ITEMS) >= max(1, min(least, MOST_ITEMS))


def test_the_last_claims_are_the_least_and_the_first_a_share_of_what_is_left():
    sizes = sizes_of(800, 2, 10**9, 2)
    assert sizes[0] == 800 // 8
    assert sizes[-2] == 2
