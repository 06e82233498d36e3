"""When a phase is shared, and when a step wakes the other workers."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from seer_env.envs.phold import Phold
from seer_env.runtime.engine import make_engine
from seer_env.runtime.experience import (
    AFTER_ALONE,
    EXPLORE_NS,
    MOST_PATIENCE,
    PATIENCE,
    RUN,
    SETTLED_IN,
    STEP,
    TRY_ALONE,
    TRY_SHARED,
    likeness,
)
from seer_env.runtime.layout import CONTROL
from seer_env.runtime.phases import ACT, EXECUTE, OBSERVE, SETTLE
from seer_env.runtime.sharing import MOST_TRIED, MOVE_NS, judge_step, learn, remember, worth_sharing

#: Entities ready in a round, and nanoseconds of one: work of 50 microseconds, where experience decides.
ENTITIES, COST = 100, 500.0


@njit
def decide(control):
    return worth_sharing(control, np.int64(EXECUTE), np.int64(ENTITIES), COST)


@njit
def learn_of(control, kind, elapsed, total):
    learn(control, np.int64(kind), elapsed, np.int64(total), np.int64(0))


@njit
def note(control, shared, elapsed, events):
    walls = control.direct_ns, control.direct_units
    if shared:
        walls = control.shared_ns, control.shared_units
    remember(control, *walls, np.int64(EXECUTE), np.int64(ENTITIES), elapsed, events)


@njit
def alike(row, total):
    return likeness(row, total)


@njit
def judge(control):
    judge_step(control)


@pytest.fixture
def control():
    """Two workers that have known no phase yet."""
    record = np.zeros(1, CONTROL)[0]
    record["threads"], record["share_ns"], record["clearly_ns"] = 2, 12_000.0, 2_000_000.0
    record["event_cost"] = COST
    return record


def test_small_work_is_never_shared_and_work_that_is_clear_beside_the_price_of_moving_it_always(control):
    control["share_ns"] = ENTITIES * COST
    assert not decide(control)
    control["share_ns"], control["clearly_ns"], control["part"][0] = 0.0, 40_000.0, TRY_ALONE
    assert not decide(control)
    control["event_cost"] = ENTITIES * COST * MOVE_NS / 9_900.0
    assert all(decide(control) for _ in range(4 * RUN))


def test_a_round_is_shared_if_those_like_it_were_heavy_though_the_last_events_were_light(control):
    """Of a step's rounds the first may be heavy and the last light."""
    control["share_ns"], k = ENTITIES * COST, alike(np.int64(0), np.int64(ENTITIES))
    assert not decide(control)
    control["direct_ns"][k], control["direct_units"][k] = 60e3, ENTITIES
    assert decide(control)


def play_steps(control, steps: int, alone: float, shared: float) -> np.ndarray:
    """Take so many steps of 1,000 events that last so long; which of them were to wake the others."""
    decisions = []
    for _ in range(steps):
        judge(control)
        decisions.append(control["solo"] == 0)
        control["begun_at"], control["left_at"] = 0, shared if decisions[-1] else alone
        control["pooled"] = decisions[-1]
    return np.array(decisions)


def play_whole(control, steps: int, alone: float, shared: float) -> np.ndarray:
    """Take so many steps of one round of 1,000 events, all of it; in which of them it was shared."""
    decisions = []
    for _ in range(steps):
        judge(control)
        decisions.append(control["solo"] == 0 and bool(decide(control)))
        took = shared if decisions[-1] else alone
        note(control, decisions[-1], took, 1000)
        control["begun_at"], control["left_at"], control["pooled"] = 0, took, decisions[-1]
    return np.array(decisions)


def step_control(control):
    """As `control`, at the end of its first step."""
    control["alone"], control["events"], control["pooled"] = 1, 1000, 1
    control["begun_at"], control["left_at"] = 0, 300_000
    return control


def test_steps_wake_nobody_while_another_process_has_the_second_core(control):
    control = step_control(control)
    assert play_steps(control, 2000, alone=240_000, shared=150_000)[200:].mean() > 0.95
    busy = play_steps(control, 20_000, alone=240_000, shared=720_000)
    assert busy[200:].mean() < 0.05
    assert play_steps(control, 10_000, alone=240_000, shared=150_000)[-1000:].mean() > 0.95


def test_steps_go_on_waking_the_others_when_a_core_was_away_once(control):
    control = step_control(control)
    play_steps(control, 1000, alone=240_000, shared=150_000)
    play_steps(control, 1, alone=240_000, shared=20_000_000)
    assert play_steps(control, 100, alone=240_000, shared=150_000).mean() > 0.9


def test_one_step_of_a_rewound_world_does_not_count_as_one_of_a_row(control):
    control = step_control(control)
    play_steps(control, 1000, alone=240_000, shared=720_000)
    known = control["shared_ns"].copy()
    control["left_at"] = 0
    play_steps(control, SETTLED_IN, alone=240_000, shared=720_000)
    assert np.array_equal(control["shared_ns"], known)


def test_a_first_step_that_takes_long_decides_nothing(control):
    control = step_control(control)
    control["left_at"] = 1_900_000
    assert play_steps(control, 300, alone=240_000, shared=150_000)[100:].mean() > 0.9


@pytest.mark.parametrize("shared", [1_600_000, 5_000_000])
def test_steps_of_much_work_wake_the_others_without_being_judged(control, shared):
    """Also where both ways stand on different sides of what is clear."""
    control["event_cost"] = 4000.0
    assert play_steps(step_control(control), 500, alone=4_000_000, shared=shared).all()


def test_steps_of_little_work_wake_nobody_however_long_they_wait_for_the_others(control):
    control["event_cost"] = 240.0
    decisions = play_steps(step_control(control), 1000, alone=240_000, shared=4_000_000)
    assert decisions[200:].mean() < 0.1


def test_one_long_step_alone_does_not_have_the_next_ones_shared_for_ever(control):
    """A process that held the core took it to two milliseconds, from where on work is clearly worth it."""
    control = step_control(control)
    while control["part"][STEP] != TRY_ALONE:
        play_whole(control, 1, alone=240_000, shared=720_000)
    play_whole(control, SETTLED_IN + 1, alone=2_540_000, shared=720_000)
    decisions = play_whole(control, 4000, alone=240_000, shared=720_000)
    assert decisions[500:].mean() < 0.1


def test_slow_steps_alone_do_not_have_the_next_ones_shared_for_ever(control):
    control = step_control(control)
    play_whole(control, 4000, alone=1_200_000, shared=6_000_000)
    play_whole(control, 50, alone=3_600_000, shared=6_000_000)
    assert play_whole(control, 4000, alone=1_200_000, shared=6_000_000)[1000:].mean() < 0.1


def test_a_try_of_steps_done_alone_lasts_a_run(control):
    control = step_control(control)
    play_whole(control, 1000, alone=240_000, shared=150_000)
    while control["part"][STEP] != TRY_ALONE:
        play_whole(control, 1, alone=240_000, shared=150_000)
    shared = play_whole(control, RUN + 1, alone=240_000, shared=150_000)
    assert shared.tolist() == (RUN - 1) * [False] + 2 * [True]


@pytest.mark.parametrize(("alone", "shared"), [(300_000, 160_000), (60_000, 35_000)])
def test_a_core_that_comes_back_is_used_again_when_steps_are_next_tried_shared(control, alone, shared):
    control = step_control(control)
    play_whole(control, 20_000, alone, shared=5 * alone)
    decisions = play_whole(control, 3 * MOST_PATIENCE, alone, shared)
    again = np.flatnonzero(np.convolve(decisions, np.ones(200) / 200, "valid") > 0.9)[0]
    assert again <= 1.2 * min(2 * MOST_PATIENCE, 2 * EXPLORE_NS / alone)


@pytest.mark.parametrize(("shared", "forced"), [(150_000, False), (720_000, True)])
def test_phases_are_all_tried_where_steps_have_been_done_alone(control, shared, forced):
    control = step_control(control)
    play_whole(control, 1000, 240_000, shared)
    while control["part"][STEP] == TRY_SHARED:
        play_whole(control, 1, 240_000, shared)
    while control["part"][STEP] != TRY_SHARED:
        play_whole(control, 1, 240_000, shared)
    assert (control["forced"] > 0) == forced


def test_a_step_in_which_ways_were_tried_does_not_count(control):
    control = step_control(control)
    play_steps(control, 1000, alone=240_000, shared=150_000)
    known, turns = control["shared_ns"].copy(), control["turns"][STEP]
    control["choices"], control["tries"], control["left_at"] = MOST_TRIED - 1, 1, 1_500_000
    judge(control)
    assert control["solo"] == 0
    assert control["turns"][STEP] == turns
    assert np.array_equal(control["shared_ns"], known)


def test_a_step_that_has_woken_nobody_counts_as_one_done_alone(control):
    control = step_control(control)
    play_steps(control, 1000, alone=240_000, shared=150_000)
    alone, shared = control["direct_ns"].copy(), control["shared_ns"].copy()
    control["pooled"] = 0
    judge(control)
    assert np.array_equal(control["shared_ns"], shared)
    assert not np.array_equal(control["direct_ns"], alone)


@pytest.mark.parametrize("solo", [0, 1])
def test_a_step_too_short_to_share_is_followed_by_one_like_it(control, solo):
    control = step_control(control)
    control["solo"], control["left_at"] = solo, control["share_ns"]
    judge(control)
    assert control["solo"] == solo


def test_a_step_that_is_done_alone_shares_no_phase_but_a_long_one(control):
    control["solo"] = 1
    assert not any(decide(control) for _ in range(4 * RUN))
    control["clearly_ns"] = -1.0
    assert decide(control)


@pytest.mark.parametrize(
    ("kind", "cost"), [(ACT, "action_cost"), (OBSERVE, "output_cost"), (SETTLE, "settle_cost")]
)
def test_what_an_item_costs_is_learnt_from_its_phases(control, kind, cost):
    control[cost] = 1000.0
    for _ in range(40):
        learn_of(control, kind, 50 * 70_000.0, 50)
    assert control[cost] == pytest.approx(70_000.0, rel=0.01)


def test_what_was_learned_at_one_thread_count_is_kept_for_it():
    engine = make_engine(Phold(256), "seer", 4)
    control = engine._memory.control
    control["direct_ns"][0, 3], control["patience"][0, 1], control["streak"][0] = 7.0, 400, 9
    engine.use_threads(2)
    assert not control["direct_ns"].any()
    assert not control["patience"].any()
    engine.use_threads(4)
    assert control["direct_ns"][0, 3] == 7.0
    assert control["patience"][0, 1] == 400
    assert not control["streak"].any()  # the first phases behind a change do not count


def test_an_engine_that_is_told_to_tries_to_share_steps_with_other_numbers_of_threads():
    engine = make_engine(Phold(256), "seer", 4)
    part, patience = (engine._memory.control[name][0] for name in ("part", "patience"))
    part[:], patience[:] = AFTER_ALONE, MOST_PATIENCE
    engine.use_threads(1)
    engine.share_again()
    assert part.tolist() == [0, 0, 0, 0]
    engine.use_threads(4)
    assert part.tolist() == [AFTER_ALONE, AFTER_ALONE, AFTER_ALONE, TRY_SHARED]
    assert patience.tolist() == [MOST_PATIENCE, MOST_PATIENCE, MOST_PATIENCE, PATIENCE]


def test_steps_that_are_replayed_on_one_thread_say_nothing_of_those_on_two():
    engine = make_engine(Phold(256), "seer", 2)
    actions, live = np.zeros((0, 0)), np.zeros(0, bool)
    engine.reset(seed=1)
    engine.step(actions, live)
    control = engine._memory.control
    assert control["left_at"][0] != 0
    engine.rehearse(0, actions, live)
    engine.forget_rehearsal()
    assert control["left_at"][0] == 0


@pytest.mark.parametrize("count", [0, 5])
def test_threads_that_an_engine_was_not_made_for_are_refused(count):
    with pytest.raises(ValueError, match="from 1 to 4"):
        make_engine(Phold(256), "seer", 4).use_threads(count)
