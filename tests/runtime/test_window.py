"""Vector scans, the smallest timestamp (LBTS) and the list of what is ready (PEL), against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from seer_env.runtime.atomics import FANOUT, lowest_bit, mask_below, minimum_of_block, minimum_with
from seer_env.runtime.layout import CONTROL, LEQ, MICRO_SHIFT, aligned_zeros
from seer_env.runtime.window import list_ready, lower_bound, open_window

SIZES = [1, 2, 63, 64, 65, 4095, 4096, 4097, 10_000]


@njit
def scan(values, start, limit):
    return mask_below(values, start, limit)


@njit
def minimum(values, start):
    return minimum_of_block(values, start)


@njit
def minimum_were(values, start, lane, value):
    return minimum_with(values, start, lane, value)


@njit
def first_bit(word):
    return lowest_bit(word)


@njit
def opened(control):
    return open_window(control)


@njit
def bound(control):
    return lower_bound(control)


@njit
def listed(control, limit):
    return list_ready(control, limit)


def blocks(rng):
    """Arrays of four blocks: dense, with infinities, all infinite but one, constant, with both zeros."""
    dense = rng.normal(size=4 * FANOUT)
    sparse = np.where(rng.random(4 * FANOUT) < 0.7, np.inf, dense)
    lonely = np.full(4 * FANOUT, np.inf)
    lonely[[63, 64, 4 * FANOUT - 1]] = [-1.0, 2.0, 3.0]
    zeros = np.where(np.arange(4 * FANOUT) % 2, 0.0, -0.0)
    return [dense, sparse, lonely, np.full(4 * FANOUT, np.inf), zeros, -sparse]


@pytest.mark.parametrize("start", [0, 64, 192, 1, 100])
def test_a_mask_has_the_bits_of_what_lies_below(start):
    for values in blocks(np.random.default_rng(0)):
        for limit in (-np.inf, -1.0, 0.0, 0.3, np.inf, values[start], np.nextafter(values[start], np.inf)):
            word = np.array([scan(values, start, limit)])
            found = np.unpackbits(word.view(np.uint8), bitorder="little").astype(bool)
            np.testing.assert_array_equal(found, values[start : start + 64] < limit)


@pytest.mark.parametrize("start", [0, 64, 192, 1, 100])
def test_the_minimum_of_a_block_is_numpys(start):
    for values in blocks(np.random.default_rng(1)):
        assert minimum(values, start) == values[start : start + 64].min()


@pytest.mark.parametrize("lane", [0, 1, 31, 62, 63])
@pytest.mark.parametrize("value", [np.inf, -np.inf, -7.0, 0.1])
def test_the_minimum_with_a_changed_value_is_numpys_and_changes_nothing(lane, value):
    for values in blocks(np.random.default_rng(2)):
        before, changed = values.copy(), values.copy()
        changed[64 + lane] = value
        assert minimum_were(values, 64, lane, value) == changed[64:128].min()
        np.testing.assert_array_equal(values, before)


@pytest.mark.parametrize("word", [1, 2, 0b1011000, 1 << 62, -(1 << 63), -1])
def test_the_first_bit_of_a_word_is_where_python_finds_it(word):
    unsigned = word % (1 << 64)
    assert first_bit(word) == (unsigned & -unsigned).bit_length() - 1


class Tree:
    """A minimum tree over next timestamps, in the arrays that the engine reads."""

    def __init__(self, times, seqs=None, lookahead=0.0, end=np.inf):
        n = len(times)
        n_blocks = -(-n // FANOUT)
        n_supers = -(-n_blocks // FANOUT)
        self.leq = aligned_zeros(n, LEQ)
        self.leq["time"], self.leq["seq"] = times, 0 if seqs is None else seqs
        self.next_time = self._level(times, n_blocks)
        self.block_min = self._level(self.next_time.reshape(-1, FANOUT).min(1), n_supers)
        supers = self.block_min.reshape(-1, FANOUT).min(1)
        self.super_min = self._level(supers, -(-n_supers // FANOUT))
        self.blocks, self.ready = aligned_zeros(n_blocks, np.int32), aligned_zeros(n, np.int32)
        control = aligned_zeros(1, CONTROL)[0]
        for name in ("leq", "next_time", "block_min", "super_min", "blocks", "ready"):
            control[name] = getattr(self, name).ctypes.data
        control["n_entities"], control["n_blocks"], control["n_supers"] = n, n_blocks, n_supers
        control["lookahead"], control["end"] = lookahead, end
        self.control = control

    @staticmethod
    def _level(values, n):
        level = aligned_zeros(n * FANOUT, np.float64)
        level[:] = np.inf
        level[: len(values)] = values
        return level


def random_times(n, seed):
    """Next timestamps of `n` entities, a third of them without an event, some equal."""
    rng = np.random.default_rng([n, seed])
    return np.where(rng.random(n) < 1 / 3, np.inf, rng.integers(0, max(2, n // 2), n) / 16.0)


@pytest.mark.parametrize("n", SIZES)
def test_the_lower_bound_is_the_smallest_timestamp(n):
    for seed in range(5):
        times = random_times(n, seed)
        assert bound(Tree(times).control) == times.min()


@pytest.mark.parametrize("n", SIZES)
def test_the_lower_bound_is_found_wherever_it_is(n):
    for place in {0, n // 2, n - 1, min(63, n - 1), min(64, n - 1), min(4095, n - 1)}:
        times = np.full(n, 5.0)
        times[place] = 4.0
        assert bound(Tree(times).control) == 4.0


@pytest.mark.parametrize("n", SIZES)
def test_nothing_pending_has_no_lower_bound(n):
    tree = Tree(np.full(n, np.inf), end=1e300)
    assert bound(tree.control) == np.inf
    assert opened(tree.control) == 0


@pytest.mark.parametrize("n", SIZES)
def test_ready_are_exactly_those_below_the_limit_in_index_order(n):
    for seed in range(5):
        times = random_times(n, seed)
        for limit in (0.0, times.min() + 0.01, n / 64, 1e300):
            tree = Tree(times)
            count = listed(tree.control, limit)
            expected = np.flatnonzero(times < limit)
            np.testing.assert_array_equal(tree.ready[:count], expected)
            count = int(tree.control["n_blocks_ready"])
            np.testing.assert_array_equal(tree.blocks[:count], np.unique(expected // FANOUT))


def test_a_window_is_a_lookahead_long():
    tree = Tree(np.array([3.0, 3.5, 3.25, 4.0]), lookahead=0.5, end=10.0)
    assert opened(tree.control) == 2
    np.testing.assert_array_equal(tree.ready[:2], [0, 2])
    assert (tree.control["window"], tree.control["zero"]) == (3.5, 0)


def test_a_window_ends_with_the_step():
    tree = Tree(np.array([3.0, 3.25, 3.125]), lookahead=0.5, end=3.25)
    assert opened(tree.control) == 2
    assert tree.control["window"] == 3.25


def test_no_window_opens_at_the_steps_end():
    assert opened(Tree(np.array([3.0, 4.0]), lookahead=0.5, end=3.0).control) == 0


@pytest.mark.parametrize(("lookahead", "at"), [(0.0, 3.0), (0.5, 2.0**60)])
def test_without_a_lookahead_or_when_rounding_loses_it_a_window_is_one_micro_step(lookahead, at):
    seqs = np.array([2, 1, 1, 0]) << MICRO_SHIFT
    tree = Tree(np.array([at, at, at, 2 * at]), seqs, lookahead, end=4 * at)
    assert opened(tree.control) == 2
    np.testing.assert_array_equal(tree.ready[:2], [1, 2])
    assert (tree.control["zero"], tree.control["micro"]) == (1, 1)
