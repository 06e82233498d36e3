"""When a phase is shared: what is remembered of phases, and which way the next one is done."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from seer_env.envs.phold import Phold
from seer_env.runtime.engine import make_engine
from seer_env.runtime.layout import CONTROL
from seer_env.runtime.phases import ACT, EXECUTE, OBSERVE, SETTLE
from seer_env.runtime.sharing import (
    EXPLORE,
    EXPLORE_NS,
    LASTING_NS,
    MOST_PATIENCE,
    MOVE_NS,
    SETTLED_IN,
    TRIED,
    judge_step,
    learn,
    likeness,
    remember,
    sooner_shared,
    worth_sharing,
)

#: Entities ready in a round, and nanoseconds of one: work of 50 microseconds, where experience decides.
ENTITIES, COST = 100, 500.0


@njit
def decide(control):
    return worth_sharing(control, np.int64(EXECUTE), np.int64(ENTITIES), COST)


@njit
def note_alone(control, elapsed, events):
    remember(
        control,
        control.direct_ns,
        control.direct_units,
        np.int64(EXECUTE),
        np.int64(ENTITIES),
        elapsed,
        events,
    )


@njit
def note_shared(control, elapsed, events):
    remember(
        control,
        control.shared_ns,
        control.shared_units,
        np.int64(EXECUTE),
        np.int64(ENTITIES),
        elapsed,
        events,
    )


@njit
def learn_of(control, kind, elapsed, total):
    learn(control, np.int64(kind), elapsed, np.int64(total), np.int64(0))


@njit
def judge(control):
    judge_step(control)


@njit
def shared_is_sooner(control):
    return sooner_shared(control, likeness(np.int64(0), np.int64(ENTITIES)))


@pytest.fixture
def control():
    """Two workers that have known no phase yet."""
    record = np.zeros(1, CONTROL)[0]
    record["threads"], record["share_ns"], record["clearly_ns"] = 2, 12_000.0, 2_000_000.0
    record["streak"], record["event_cost"] = SETTLED_IN, COST
    return record


def play(control, phases: int, alone: float, shared: float) -> list[bool]:
    """Decide so many rounds of one event per entity, which take so long; which of them were shared."""
    decisions = []
    for _ in range(phases):
        decisions.append(bool(decide(control)))
        note = note_shared if decisions[-1] else note_alone
        note(control, shared if decisions[-1] else alone, ENTITIES)
    return decisions


def test_small_work_is_never_shared_and_work_that_is_clear_beside_the_price_of_moving_it_always(control):
    control["share_ns"] = ENTITIES * COST
    assert not decide(control)
    control["share_ns"], control["clearly_ns"] = 0.0, 40_000.0
    play(control, 2 * EXPLORE, alone=50_000.0, shared=90_000.0)
    assert not decide(control)
    control["event_cost"] = ENTITIES * COST * MOVE_NS / 9_900.0
    assert all(decide(control) for _ in range(2 * EXPLORE))


def test_heavy_rounds_decide_where_light_ones_say_the_opposite(control):
    """Sharing costs a round 20 microseconds and halves its work of 500 ns per event."""
    for events in [ENTITIES // 10, 20 * ENTITIES] * 10:
        note_alone(control, 500.0 * events, events)
        note_shared(control, 20_000.0 + 250.0 * events, events)
    assert shared_is_sooner(control) == 1


def test_the_first_phases_after_a_change_of_way_do_not_count(control):
    note_alone(control, 1000.0, ENTITIES)
    before = control["direct_ns"].copy()
    control["streak"] = SETTLED_IN - 1
    note_alone(control, 1500.0, ENTITIES)
    assert np.array_equal(control["direct_ns"], before)
    control["streak"] = SETTLED_IN
    note_alone(control, 1500.0, ENTITIES)
    assert not np.array_equal(control["direct_ns"], before)


def test_a_spoilt_phase_counts_as_at_most_twice_as_slow(control):
    note_alone(control, 1000.0, ENTITIES)
    note_alone(control, 1e9, ENTITIES)
    assert control["direct_ns"].sum() == pytest.approx(TRIED * 1000.0 + 2.0 * 1000.0)


def test_the_first_phases_are_shared(control):
    assert decide(control)


@pytest.mark.parametrize("shared_is_faster", [True, False])
def test_the_slower_way_is_tried_less_and_less_but_not_never(control, shared_is_faster):
    shared = 35_000.0 if shared_is_faster else 90_000.0
    decisions = np.array(play(control, 8 * MOST_PATIENCE, alone=60_000.0, shared=shared))
    slower = (decisions != shared_is_faster)[EXPLORE:]
    waits = np.diff(np.flatnonzero(np.diff(slower.astype(int)) == 1))
    assert (waits[1:] >= waits[:-1]).all()
    assert waits.max() == min(MOST_PATIENCE, EXPLORE_NS / (COST * ENTITIES))
    assert slower.mean() < 0.01


def test_sharing_that_comes_to_lose_ends_before_the_next_try(control):
    play(control, 8 * MOST_PATIENCE, alone=60_000.0, shared=35_000.0)
    decisions = play(control, 4 * EXPLORE, alone=60_000.0, shared=90_000.0)
    assert decisions.count(True) * 90_000.0 <= 2.5 * LASTING_NS
    assert np.mean(decisions[-EXPLORE:]) < 0.1


def test_a_second_core_that_comes_back_is_found_again(control):
    play(control, 8 * MOST_PATIENCE, alone=60_000.0, shared=90_000.0)
    decisions = play(control, 12 * MOST_PATIENCE, alone=60_000.0, shared=35_000.0)
    assert np.mean(decisions[-EXPLORE:]) > 0.9


def test_long_rounds_are_tried_both_ways_again_after_so_much_work_however_often_that_changed_nothing(control):
    control["clearly_ns"], control["event_cost"] = np.inf, 20 * COST

    @njit
    def decide_long(control):
        return worth_sharing(control, np.int64(EXECUTE), np.int64(ENTITIES), 20 * COST)

    shared = []
    for _ in range(8 * MOST_PATIENCE):
        shared.append(bool(decide_long(control)))
        (note_shared if shared[-1] else note_alone)(control, 2e6 if shared[-1] else 1e6, ENTITIES)
    tries = np.flatnonzero(np.diff(np.array(shared[MOST_PATIENCE:], int)) == 1)
    assert np.diff(tries).max() <= EXPLORE_NS / (20 * COST * ENTITIES)


def play_steps(control, steps: int, alone: float, shared: float) -> np.ndarray:
    """Take so many steps of 1,000 events that last so long; which of them were to wake the others."""
    decisions = []
    for _ in range(steps):
        judge(control)
        decisions.append(control["solo"] == 0)
        control["begun_at"], control["left_at"] = 0, shared if decisions[-1] else alone
    return np.array(decisions)


def step_control(control):
    """As `control`, at the end of its first step."""
    control["alone"], control["events"], control["streak"] = 1, 1000, 0
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


def test_a_phase_whose_two_ways_take_as_long_is_shared(control):
    """What one worker touches alone is dear to the next shared phase."""
    assert np.mean(play(control, 4 * EXPLORE, alone=60_000.0, shared=62_000.0)) > 0.9


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


@pytest.mark.parametrize("solo", [0, 1])
def test_a_step_too_short_to_share_is_followed_by_one_like_it(control, solo):
    control = step_control(control)
    control["solo"], control["left_at"] = solo, control["share_ns"]
    judge(control)
    assert control["solo"] == solo


def test_a_step_that_is_done_alone_shares_no_phase_but_a_long_one(control):
    control["solo"] = 1
    assert not any(decide(control) for _ in range(2 * EXPLORE))
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


def test_an_engine_that_is_told_to_shares_again():
    engine = make_engine(Phold(256), "seer", 2)
    control = engine._memory.control
    for name in ("direct_ns", "direct_units", "shared_ns", "shared_units"):
        control[name] = 1.0
    engine.use_threads(1)
    engine.share_again()
    assert not control["shared_units"].any()
    engine.use_threads(2)
    assert not control["shared_units"].any()
    assert control["direct_units"].all()


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
