"""Which of two ways has been sooner: when each is tried, and what counts."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from seer_env.runtime.experience import (
    EXPLORE_NS,
    FIRST,
    LASTING_NS,
    MOST_PATIENCE,
    PATIENCE,
    RUN,
    SETTLED_IN,
    STEP,
    STRETCH,
    TRY_ALONE,
    TRY_SHARED,
    TRYING,
    add_up,
    alone_ns,
    begin_stretches,
    chosen,
    likeness,
    sooner_shared,
)
from seer_env.runtime.layout import CONTROL

#: Items of a phase.
ITEMS = 100
ENDLESS = np.int64(1 << 40)


@njit
def begin(control):
    begin_stretches(control)


@njit
def choose(control, row, k, at_most):
    return chosen(control, row, k, at_most)


@njit
def note(control, shared, row, k, elapsed, done):
    if shared:
        add_up(control, control.shared_ns, control.shared_units, row, k, elapsed, done)
    else:
        add_up(control, control.direct_ns, control.direct_units, row, k, elapsed, done)


@njit
def alike(row, total):
    return likeness(row, total)


@njit
def is_sooner_shared(control, k):
    return sooner_shared(control, k)


@njit
def expected_alone(control, k, units):
    return alone_ns(control, k, units)


@pytest.fixture
def control():
    """Nothing is known yet."""
    return np.zeros(1, CONTROL)[0]


def play(control, steps, alone, shared, row=0, at_most=ENDLESS) -> np.ndarray:
    """Steps of rounds that take so long, alone and shared: which were shared, `[steps, rounds]`."""
    alone, shared = np.atleast_1d(alone), np.atleast_1d(shared)
    k = alike(np.int64(row), np.int64(ITEMS))
    decisions = np.zeros((steps, len(alone)), bool)
    for step in range(steps):
        begin(control)
        for i, (one, other) in enumerate(zip(alone, shared)):
            decisions[step, i] = choose(control, np.int64(row), k, np.int64(at_most))
            note(
                control,
                decisions[step, i],
                np.int64(row),
                k,
                float(other if decisions[step, i] else one),
                ITEMS,
            )
    return decisions


def test_the_first_phases_are_shared(control):
    assert play(control, RUN, alone=60e3, shared=90e3).all()


def test_rounds_of_a_step_that_are_unlike_are_judged_together(control):
    """Alone 190 us, shared 131, though the last three are sooner alone."""
    alone, shared = [90e3, 60e3, 25e3, 5e3, 5e3, 5e3], [50e3, 35e3, 16e3, 10e3, 10e3, 10e3]
    decisions = play(control, 400, alone, shared)
    assert decisions[FIRST + 2 * RUN :].mean() > 0.9


def test_a_row_changes_its_way_between_steps_alone(control):
    decisions = play(control, 600, alone=6 * [60e3], shared=6 * [59e3])
    assert decisions.any()
    assert not decisions.all()
    assert (decisions == decisions[:, :1]).all()


def test_a_row_changes_its_way_within_a_long_step(control):
    decisions = play(control, 1, alone=12_000 * [30e3], shared=12_000 * [90e3])[0]
    changes = np.flatnonzero(np.diff(decisions))
    assert len(changes) > 1
    assert ((changes + 1) % STRETCH == 0).all()
    assert decisions[-MOST_PATIENCE // 2 :].mean() < 0.1


@pytest.mark.parametrize("shared_is_sooner", [True, False])
def test_the_slower_way_is_tried_less_and_less_but_not_never(control, shared_is_sooner):
    shared = 35e3 if shared_is_sooner else 90e3
    decisions = play(control, 10 * MOST_PATIENCE, alone=60e3, shared=shared)[:, 0]
    slower = (decisions != shared_is_sooner)[FIRST + 2 * RUN :]
    waits = np.diff(np.flatnonzero(np.diff(slower.astype(int)) == 1))
    assert (np.diff(waits) >= -1).all()
    assert waits.max() == pytest.approx(2 * (MOST_PATIENCE + RUN), abs=4)
    assert slower.mean() < 0.01


def test_both_ways_are_tried_again_after_so_much_work(control):
    work = 1e6
    at_most = int(EXPLORE_NS / work)
    decisions = play(control, 4 * MOST_PATIENCE, alone=work, shared=2 * work, at_most=at_most)[:, 0]
    tries = np.flatnonzero(np.diff(decisions[MOST_PATIENCE:].astype(int)) == 1)
    assert np.diff(tries).max() <= 2 * (at_most + RUN) + 4


def test_sharing_that_comes_to_lose_ends_before_the_next_try(control):
    play(control, 8 * MOST_PATIENCE, alone=60e3, shared=35e3)
    decisions = play(control, 10 * PATIENCE, alone=60e3, shared=90e3)
    assert decisions.sum() * 90e3 <= 2.5 * LASTING_NS
    assert decisions[-5 * PATIENCE :].mean() < 0.2


def test_a_second_core_that_comes_back_is_found_again(control):
    play(control, 8 * MOST_PATIENCE, alone=60e3, shared=90e3)
    decisions = play(control, 3 * MOST_PATIENCE, alone=60e3, shared=35e3)
    assert decisions[-MOST_PATIENCE // 2 :].mean() > 0.9


def test_a_phase_whose_two_ways_take_as_long_is_shared(control):
    """What one worker touches alone is dear to the next shared phase."""
    assert play(control, 20 * PATIENCE, alone=60e3, shared=62e3).mean() > 0.9


def test_steps_whose_two_ways_take_as_long_are_done_as_is_sooner(control):
    assert play(control, 20 * PATIENCE, alone=60e3, shared=66e3, row=STEP).mean() < 0.2


def test_a_verdict_holds_for_a_run(control):
    generator, k = np.random.default_rng(3), alike(np.int64(STEP), np.int64(ITEMS))
    verdicts = []
    for _ in range(3000):
        play(control, 1, *generator.uniform(20e3, 100e3, 2), row=STEP)
        verdicts.append(control["sooner"][k])
    lengths = np.diff(np.flatnonzero(np.diff(verdicts)))
    assert len(lengths) > 10
    assert lengths.min() >= RUN


def test_the_first_phases_after_a_change_of_way_do_not_count(control):
    """Not before the stretch is over in which it was changed."""
    play(control, 1, 6 * [60e3], 6 * [60e3])
    control["patience"][0], control["part"][0], control["turns"][0] = PATIENCE, TRY_ALONE, 0
    k = alike(np.int64(0), np.int64(ITEMS))
    play(control, 1, 6 * [1e3], 6 * [1e3])
    assert control["direct_units"][k] == 0.0
    play(control, 1, 6 * [60e3], 6 * [60e3])
    assert expected_alone(control, k, 1.0) == pytest.approx(60e3 / ITEMS)


def test_first_phases_of_all_do_not_count(control):
    """Nobody has touched their memory yet."""
    k = alike(np.int64(0), np.int64(ITEMS))
    play(control, RUN, 900e3, 900e3)
    assert control["shared_units"][k] == 0.0
    play(control, RUN, 60e3, 60e3)
    assert control["shared_ns"][k] / control["shared_units"][k] == pytest.approx(60e3 / ITEMS)


def test_what_a_run_takes_outweighs_what_was_known_before(control):
    k = alike(np.int64(0), np.int64(ITEMS))
    control["patience"][0], control["run"][0] = PATIENCE, 1
    control["direct_ns"][k], control["direct_units"][k] = 1e9, 1e7
    control["part"][0] = TRY_ALONE
    play(control, SETTLED_IN + 10, 20e3, 20e3)
    assert expected_alone(control, k, 1.0) == pytest.approx((1 * 100.0 + 10 * 200.0) / 11, rel=1e-3)


def test_heavy_rounds_decide_where_light_ones_say_the_opposite(control):
    """Sharing costs a round 20 microseconds and halves its work of 500 ns per event."""
    k = alike(np.int64(0), np.int64(ITEMS))
    control["settled"][0] = 1
    for events in [ITEMS // 10, 20 * ITEMS] * 10:
        note(control, False, np.int64(0), k, 500.0 * events, events)
        note(control, True, np.int64(0), k, 20_000.0 + 250.0 * events, events)
    assert is_sooner_shared(control, k) == 1


def test_a_spoilt_phase_counts_as_at_most_twice_as_slow(control):
    k = alike(np.int64(0), np.int64(ITEMS))
    control["settled"][0], control["run"][0] = 1, 1
    note(control, False, np.int64(0), k, 1000.0, ITEMS)
    note(control, False, np.int64(0), k, 1e9, ITEMS)
    assert control["direct_ns"][k] == pytest.approx(1000.0 + 2000.0, rel=1e-3)


def test_one_kind_of_phase_tries_at_a_time(control):
    rows = np.array([0, 1, 2])
    tried = []
    for _ in range(20 * PATIENCE):
        begin(control)
        for row in rows:
            k = alike(row, np.int64(ITEMS))
            note(control, choose(control, row, k, ENDLESS), row, k, 50e3, ITEMS)
        tried.append([control["part"][row] in (TRY_ALONE, TRY_SHARED) for row in rows])
    assert np.sum(tried, axis=1).max() == 1
    assert (np.sum(tried, axis=0) > 2 * RUN).all()


def test_whole_steps_are_tried_first(control):
    k = alike(np.int64(0), np.int64(ITEMS))
    steps = 0
    while control["part"][0] != TRY_ALONE:
        begin(control)
        choose(control, np.int64(STEP), alike(np.int64(STEP), np.int64(ITEMS)), ENDLESS)
        choose(control, np.int64(0), k, ENDLESS)
        steps += 1
    assert 3 * RUN < steps <= FIRST  # of which the last run of whole steps was one alone
    assert control["part"][STEP] not in (TRY_ALONE, TRY_SHARED)


def test_a_kind_whose_phases_have_ceased_does_not_keep_others_from_trying(control):
    while control["part"][0] != TRY_ALONE:
        play(control, 1, 60e3, 60e3)
    play(control, TRYING + 4 * RUN, 60e3, 60e3, row=1)
    assert control["part"][1] != 0


def test_what_is_not_known_takes_nothing(control):
    assert expected_alone(control, np.int64(5), 100.0) == 0.0
