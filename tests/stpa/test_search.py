"""The guarded search, driven by curves: no clock and no engine take part."""

from __future__ import annotations

import copy
import pickle
import random

import pytest

from seer_env.stpa.search import BLOCK_S, CLIMB_ROUNDS, TIE, UNSHARED_S, WARM_S, GuardedSearch

LADDER = (1, 2, 3, 4, 6, 8, 12, 16)


def amdahl(serial: float, shared: float, per_thread: float):
    """Seconds per step by threads: work that is not shared, work that is, and what each thread costs."""
    return {k: serial + shared / k + per_thread * (k - 1) for k in LADDER}


#: Curves that fall and rise again, in seconds.
CURVES = {
    "one is best": amdahl(1e-3, 1e-4, 1e-3),
    "two are best": amdahl(1e-3, 4e-3, 1.2e-3),
    "four are best": amdahl(5e-4, 8e-3, 5e-4),
    "eight are best": amdahl(2e-4, 3e-2, 5e-4),
    "all are best": amdahl(1e-4, 5e-2, 1e-6),
}


def drive(search: GuardedSearch, seconds) -> list[int]:
    """Run a search to its end on `seconds(threads)`; the counts it asked for."""
    asked = []
    while not search.finished:
        asked.append(search.threads)
        search.stepped(seconds(search.threads))
    return asked


@pytest.mark.parametrize("start", LADDER)
@pytest.mark.parametrize("name", list(CURVES))
def test_the_best_of_a_curve_is_found_from_any_start(name, start):
    curve = CURVES[name]
    search = GuardedSearch(LADDER, start)
    drive(search, curve.__getitem__)
    assert curve[search.choice] <= (1.0 + TIE) * min(curve.values())


@pytest.mark.parametrize("name", list(CURVES))
def test_it_is_found_under_noise_and_stalls(name):
    curve, noise = CURVES[name], random.Random(name)

    def seconds(threads: int) -> float:
        stall = 4e-3 if noise.random() < 0.02 else 0.0  # another process had the core
        return curve[threads] * noise.uniform(0.95, 1.05) + stall

    search = GuardedSearch(LADDER, 16)
    drive(search, seconds)
    assert curve[search.choice] <= 1.1 * min(curve.values())


def test_equal_candidates_go_to_the_fewest_threads():
    search = GuardedSearch(LADDER, 8)
    drive(search, lambda threads: 1e-3)
    assert search.choice == 1


@pytest.mark.parametrize(("favoured", "choice"), [(1.0, 1), (3.4, 3), (3.6, 4), (16.0, 16)])
def test_equal_candidates_go_to_what_is_favoured(favoured, choice):
    search = GuardedSearch(LADDER, choice, favoured=favoured)
    drive(search, lambda threads: 1e-3)
    assert search.choice == choice


@pytest.mark.parametrize("start", [6, 8, 12, 16])
def test_a_plateau_on_which_the_favoured_lies_does_not_hide_what_is_faster_with_fewer(start):
    search = GuardedSearch(LADDER, start, favoured=start)
    drive(search, {1: 8e-3, 2: 4e-3, 3: 3e-3, 4: 1e-3, **dict.fromkeys((6, 8, 12, 16), 2e-3)}.__getitem__)
    assert search.choice == 4


@pytest.mark.parametrize("favoured", LADDER)
@pytest.mark.parametrize("name", list(CURVES))
def test_what_is_favoured_has_to_be_as_fast_as_the_best(name, favoured):
    curve = CURVES[name]
    search = GuardedSearch(LADDER, favoured, favoured=favoured)
    drive(search, curve.__getitem__)
    assert curve[search.choice] <= (1.0 + TIE) * min(curve.values())


def test_a_gain_within_the_tie_does_not_count():
    search = GuardedSearch((1, 2), 2)
    drive(search, {1: 1e-3, 2: 1e-3 / (1.0 + 0.9 * TIE)}.__getitem__)
    assert search.choice == 1


@pytest.mark.parametrize(("one", "choice"), [(1e-3, 2), (0.96e-3, 2), (0.94e-3, 1), (1.5e-3, 2)])
def test_a_search_may_keep_its_start_unless_fewer_threads_are_clearly_faster(one, choice):
    search = GuardedSearch((1, 2), 2, keep=0.05)
    drive(search, {1: one, 2: 1e-3}.__getitem__)
    assert search.choice == choice


def test_a_search_that_may_keep_its_start_leaves_it_for_more_threads():
    search = GuardedSearch((1, 2), 1, keep=0.05)
    drive(search, {1: 1e-3, 2: 0.97e-3}.__getitem__)
    assert search.choice == 2


def test_a_start_that_may_be_kept_is_not_left_for_its_first_blocks():
    """The second core was away while its first ones ran."""
    times = iter([9e-3, 9e-3, *[1e-3] * 90])
    search = GuardedSearch((1, 2), 2, rounds=6, keep=0.05)
    drive(search, lambda threads: 1.2e-3 if threads == 1 else next(times))
    assert search.choice == 2


def test_a_gain_beyond_the_tie_counts():
    search = GuardedSearch((1, 2), 1)
    drive(search, {1: 1e-3, 2: 1e-3 / (1.0 + 2.0 * TIE)}.__getitem__)
    assert search.choice == 2


def test_one_thread_is_always_measured():
    search = GuardedSearch(LADDER, 16)
    drive(search, CURVES["all are best"].__getitem__)
    assert len(search.blocks[1]) >= CLIMB_ROUNDS


def test_rungs_beyond_a_worse_neighbour_are_not_tried():
    search = GuardedSearch(LADDER, 1)
    assert set(drive(search, CURVES["one is best"].__getitem__)) == {1, 2}


def test_candidates_take_turns_forth_and_back():
    search = GuardedSearch((1, 2), 1)
    asked = drive(search, lambda threads: BLOCK_S)  # every step is a block
    assert asked[:6] == [1, 2, 2, 1, 1, 2]


def test_steps_that_grow_do_not_favour_a_candidate():
    steps = 0

    def growing(threads: int) -> float:
        nonlocal steps
        steps += 1
        return (1.0 + 0.02 * steps) * (6e-3 if threads == 2 else 5.5e-3)

    search = GuardedSearch((1, 2), 2)
    drive(search, growing)
    assert search.choice == 1


def test_steps_too_short_to_share_end_the_search_at_one_thread():
    search = GuardedSearch(LADDER, 1)
    assert set(drive(search, lambda threads: 0.5 * UNSHARED_S)) == {1}
    assert search.choice == 1


def test_a_much_slower_candidate_is_left_after_few_blocks():
    search = GuardedSearch((1, 2), 1)
    drive(search, {1: 1e-3, 2: 2e-3}.__getitem__)
    assert len(search.blocks[2]) == CLIMB_ROUNDS


def test_bad_blocks_are_cut_short():
    search = GuardedSearch((1, 2), 1)
    asked = drive(search, {1: 1e-4, 2: 4e-4}.__getitem__)
    # Of each block: the steps that warm up, and three.
    assert asked.count(2) <= (WARM_S / 4e-4 + 3) * CLIMB_ROUNDS


def test_a_start_that_may_be_kept_is_measured_where_the_search_has_gone_elsewhere():
    """The other cores were away while its first blocks ran."""
    times = iter([*[2e-2] * 3, *[5e-3] * 90])
    search = GuardedSearch((1, 2, 4, 8), 8, rounds=8, keep=0.05)
    drive(search, lambda threads: 6.2e-3 if threads < 8 else next(times))
    assert search.choice == 8


def test_workers_that_have_slept_warm_up_before_their_block():
    search = GuardedSearch((1, 2), 1)
    asleep = True

    def seconds(threads: int) -> float:
        nonlocal asleep
        took = 1e-3 if threads == 1 else WARM_S if asleep else 5e-4
        asleep = threads == 1
        return took

    drive(search, seconds)
    assert set(search.blocks[2]) == {5e-4}


def test_before_anything_is_compared_the_start_stands():
    search = GuardedSearch(LADDER, 4)
    assert search.choice == 4
    search.stepped(1.0)
    assert search.choice == 4


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_a_copy_keeps_what_was_measured_and_is_finished(copied):
    search = GuardedSearch((1, 2), 1)
    for _ in range(4):
        search.stepped(BLOCK_S if search.threads == 1 else 2 * BLOCK_S)
    other = copied(search)
    assert other.finished
    assert (other.blocks, other.choice) == (search.blocks, search.choice)
    assert not search.finished
