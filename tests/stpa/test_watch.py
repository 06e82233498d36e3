"""What the watch takes for a sustained change."""

from __future__ import annotations

import pytest

from seer_env.stpa.watch import LOOK_SHARE, MOST_LOOK_SHARE, MOST_PATIENCE, SUSTAINED, Watch


def steady(seconds: float = 1e-3) -> Watch:
    """A watch whose reference is `seconds`."""
    watch = Watch()
    for _ in range(SUSTAINED):
        assert not watch.stepped(seconds)
    return watch


@pytest.mark.parametrize("factor", [0.84, 1.16])
def test_a_change_is_sustained_after_twenty_steps(factor):
    watch = steady()
    assert [watch.stepped(factor * 1e-3) for _ in range(20)] == [False] * 19 + [True]


@pytest.mark.parametrize("factor", [0.86, 1.14])
def test_a_small_change_is_none(factor):
    watch = steady()
    assert not any(watch.stepped(factor * 1e-3) for _ in range(150))


def test_one_step_like_before_begins_the_count_again():
    watch = steady()
    pattern = [2e-3] * 19 + [1e-3]
    assert not any(watch.stepped(seconds) for _ in range(8) for seconds in pattern)


def test_longer_and_shorter_steps_are_not_one_change():
    watch = steady()
    assert not any(watch.stepped(seconds) for _ in range(80) for seconds in (0.5e-3, 2e-3))


def test_the_reference_is_a_median():
    watch = Watch()
    for seconds in [1e-3] * 15 + [1.0] * 5:
        watch.stepped(seconds)
    assert watch.reference == 1e-3


def test_confirmed_choices_double_the_patience():
    watch = steady()
    watch.searched(SUSTAINED, confirmed=True)
    assert watch.patience == 2 * SUSTAINED
    for _ in range(SUSTAINED):
        watch.stepped(1e-3)
    assert [watch.stepped(2e-3) for _ in range(40)] == [False] * 39 + [True]


def test_patience_ends_somewhere_and_a_new_choice_resets_it():
    watch = steady()
    for _ in range(50):
        watch.searched(SUSTAINED, confirmed=True)
    assert watch.patience == MOST_PATIENCE
    watch.searched(SUSTAINED, confirmed=False)
    assert watch.patience == SUSTAINED


def test_a_second_look_comes_the_later_the_longer_a_search_took():
    watch = Watch()
    watch.begin(30)
    looks = [watch.stepped(1e-3) for _ in range(30 * LOOK_SHARE)]
    assert looks == [False] * (30 * LOOK_SHARE - 1) + [True]


def test_a_second_look_that_confirms_makes_the_next_one_later():
    watch = Watch()
    watch.searched(10, confirmed=True)
    assert watch.left == 2 * 10 * LOOK_SHARE
    watch.searched(10, confirmed=False)
    assert watch.left == 10 * LOOK_SHARE


def test_a_second_look_comes_however_often_one_has_confirmed():
    watch = Watch()
    for _ in range(50):
        watch.searched(10, confirmed=True)
    assert watch.left == 10 * MOST_LOOK_SHARE
