"""Who chooses threads, on engines whose steps take what a curve says."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest
from stpa.stages import MACHINE, StageEngine, reset, stage, step
from worlds import Lamps, Ring

from seer_env.stpa import tuner
from seer_env.stpa.report import Proposal
from seer_env.stpa.tuner import configuration
from seer_env.stpa.watch import SUSTAINED

TWO_BEST = {1: 2e-3, 2: 1e-3, 3: 1.5e-3, 4: 3e-3}
FOUR_BEST = {1: 8e-3, 2: 4e-3, 3: 2.7e-3, 4: 2e-3}
ONE_BEST = {1: 1e-3, 2: 2e-3, 3: 3e-3, 4: 4e-3}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SEER_ENV_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(("curve", "best"), [(ONE_BEST, 1), (TWO_BEST, 2), (FOUR_BEST, 4)])
def test_a_reset_finds_the_best(monkeypatch, curve, best):
    engine = StageEngine(curve)
    made = stage(monkeypatch, engine)
    reset(made)
    assert (made.threads, engine.threads) == (best, best)
    assert engine.forgotten == 1
    assert made.report().decisions[-1].source == "preflight"


@pytest.mark.parametrize("scale", [0.01, 1.0, 5.0, 20.0])
@pytest.mark.parametrize("overhead", [0.0, 1e-3])
def test_the_preflight_keeps_its_budget(monkeypatch, scale, overhead):
    engine = StageEngine({k: scale * s for k, s in FOUR_BEST.items()}, overhead)
    made = stage(monkeypatch, engine, budget_s=0.2)
    reset(made)
    longest = overhead + scale * max(FOUR_BEST.values())
    assert engine.now <= max(0.2, 2 * longest) + 1e-9
    assert made.report().preflight_s == pytest.approx(engine.now)


def test_steps_longer_than_the_budget_are_rehearsed_once_or_twice(monkeypatch):
    engine = StageEngine({1: 8.0, 2: 4.0, 3: 2.7, 4: 2.0})
    made = stage(monkeypatch, engine)
    reset(made)
    assert len(engine.rehearsed) <= 2
    assert made.threads == 4  # the first guess
    step(made, engine, 100)
    assert made.threads == 4
    assert made.report().decisions[-1].source == "steps"


def test_without_a_budget_first_steps_decide(monkeypatch):
    engine = StageEngine(TWO_BEST)
    made = stage(monkeypatch, engine, budget_s=0.0)
    reset(made)
    assert engine.rehearsed == []
    step(made, engine, 300)
    assert made.threads == engine.threads == 2


def test_a_close_race_is_refined_on_first_steps(monkeypatch):
    engine = StageEngine({1: 1.9e-3, 2: 1.03e-3, 3: 1e-3, 4: 3e-3})
    made = stage(monkeypatch, engine)
    reset(made)
    assert made.threads == 3
    used = step(made, engine, 200)
    assert {2, 3} <= set(used)
    assert used[-50:] == [3] * 50
    assert [d.source for d in made.report().decisions] == ["preflight", "steps"]


def test_refinement_corrects_what_random_actions_misled(monkeypatch):
    engine = StageEngine({1: 1.04e-3, 2: 1e-3, 3: 1.1e-3, 4: 3e-3})
    made = stage(monkeypatch, engine)
    reset(made)
    assert made.threads == 2
    engine.curve = {1: 1e-3, 2: 1.4e-3, 3: 1.6e-3, 4: 3e-3}
    step(made, engine, 300)
    assert made.threads == 1


def test_more_threads_for_short_steps_are_confirmed_where_a_policy_infers_between_them(monkeypatch):
    engine = StageEngine({1: 3e-3, 2: 1e-3, 3: 2e-3, 4: 3e-3})
    made = stage(monkeypatch, engine)
    reset(made)
    assert made.threads == 2
    engine.curve = {1: 1e-3, 2: 1.6e-3, 3: 2e-3, 4: 3e-3}  # workers have fallen asleep in between
    step(made, engine, 80)
    assert [(decision.threads, decision.source) for decision in made.decisions] == [
        (2, "preflight"),
        (1, "steps"),
    ]


def test_first_steps_do_not_send_a_choice_back_for_a_small_gain(monkeypatch):
    """With more threads an engine does alone what is sooner alone, once it has found out."""
    engine = StageEngine({1: 3e-3, 2: 1e-3, 3: 2e-3, 4: 3e-3})
    made = stage(monkeypatch, engine)
    reset(made)
    engine.curve = {1: 1e-3, 2: 1.04e-3, 3: 2e-3, 4: 3e-3}
    step(made, engine, 80)
    assert [(decision.threads, decision.source) for decision in made.decisions] == [
        (2, "preflight"),
        (2, "steps"),
    ]


@pytest.mark.parametrize("proposed", [1, 2, 3, 4])
def test_the_search_starts_from_the_prediction(monkeypatch, proposed):
    engine = StageEngine(TWO_BEST)
    made = stage(monkeypatch, engine)
    said = Proposal(proposed, "predictor", "it says so")
    monkeypatch.setattr(tuner, "predicted", lambda *arguments: said)
    reset(made)
    assert engine.rehearsed[1] == proposed  # behind the first step, which only touches memory
    assert made.report().start == said
    assert made.threads == 2


@pytest.mark.parametrize(("favoured", "threads"), [(1.0, 1), (2.9, 3)])
def test_ties_go_to_the_prediction_on_rehearsed_steps_and_on_first_ones(monkeypatch, favoured, threads):
    engine = StageEngine(dict.fromkeys(TWO_BEST, 1e-3))
    made = stage(monkeypatch, engine)
    said = Proposal(3, "predictor", "it says so", favoured)
    monkeypatch.setattr(tuner, "predicted", lambda *arguments: said)
    reset(made)
    assert made.threads == threads
    step(made, engine, 300)
    assert [d.threads for d in made.report().decisions] == [threads, threads]


def test_a_similar_worlds_choice_is_where_the_search_starts(monkeypatch):
    reset(stage(monkeypatch, StageEngine(dict.fromkeys(TWO_BEST, 1e-3))))
    engine = StageEngine(dict.fromkeys(TWO_BEST, 1e-3))
    monkeypatch.setattr(tuner, "configuration", lambda model, copies: "another")
    made = stage(monkeypatch, engine)
    reset(made)
    assert (made.report().start.source, made.report().start.threads) == ("similar", 1)


def test_later_resets_keep_the_choice(monkeypatch):
    engine = StageEngine(TWO_BEST)
    made = stage(monkeypatch, engine)
    reset(made)
    rehearsed = len(engine.rehearsed)
    reset(made)
    assert len(engine.rehearsed) == rehearsed


def test_a_world_that_random_actions_break_falls_back_on_the_first_guess(monkeypatch):
    engine = StageEngine(TWO_BEST)

    def broken():
        raise ZeroDivisionError("a handler's")

    engine.failing = broken
    made = stage(monkeypatch, engine)
    reset(made)
    assert engine.forgotten == 1
    assert made.report().decisions[-1].threads == 4
    assert "ZeroDivisionError" in made.report().decisions[-1].reason
    step(made, engine, 300)
    assert made.threads == 2


def test_an_interrupt_passes_and_the_rehearsal_is_forgotten(monkeypatch):
    engine = StageEngine(TWO_BEST)

    def struck():
        raise KeyboardInterrupt

    engine.failing = struck
    made = stage(monkeypatch, engine)
    with pytest.raises(KeyboardInterrupt):
        reset(made)
    assert engine.forgotten == 1
    engine.failing = lambda: None
    reset(made)
    assert made.threads == 2


# -- remembered choices ----------------------------------------------------------------------------


def test_a_remembered_choice_needs_no_rehearsal_and_is_confirmed(monkeypatch):
    reset(stage(monkeypatch, StageEngine(TWO_BEST)))
    engine = StageEngine(TWO_BEST)
    made = stage(monkeypatch, engine)
    reset(made)
    assert (engine.rehearsed, made.threads) == ([], 2)
    step(made, engine, 100)
    assert [(d.threads, d.source) for d in made.report().decisions] == [(2, "remembered"), (2, "steps")]


def test_a_remembered_choice_that_does_not_hold_is_replaced(monkeypatch, folder):
    reset(stage(monkeypatch, StageEngine(TWO_BEST)))
    engine = StageEngine(ONE_BEST)
    made = stage(monkeypatch, engine)
    reset(made)
    step(made, engine, 200)
    assert made.threads == 1
    (file,) = (folder / "threads").iterdir()
    assert [kept["threads"] for kept in json.loads(file.read_text())["choices"]] == [1]


def test_what_steps_take_is_remembered(monkeypatch, folder):
    engine = StageEngine({1: 1e-3, 2: 2e-3, 3: 3e-3, 4: 4e-3})
    made = stage(monkeypatch, engine)
    reset(made)
    engine.curve[1] = 1.1e-3  # an episode's steps are longer than rehearsed ones
    step(made, engine, 100)
    again = stage(monkeypatch, StageEngine(engine.curve))
    reset(again)
    assert (
        "1.000 ms" in again.report().decisions[0].reason or "1.100 ms" in again.report().decisions[0].reason
    )


@pytest.mark.parametrize(
    "change", [{"cpus": 2}, {"torch_threads": 2}, {"processor": "other"}, {"quota": 4.0}]
)
def test_on_another_machine_nothing_is_remembered(monkeypatch, change):
    reset(stage(monkeypatch, StageEngine(TWO_BEST)))
    engine = StageEngine(TWO_BEST)
    reset(stage(monkeypatch, engine, replace(MACHINE, **change)))
    assert engine.rehearsed


def test_without_a_fingerprint_nothing_is_remembered(monkeypatch, folder):
    made = stage(monkeypatch, StageEngine(TWO_BEST, stamp=None))
    reset(made)
    assert made.threads == 2
    assert not (folder / "threads").exists()


def test_the_configuration_is_all_that_a_model_was_made_with():
    same = [configuration(Ring(), 1), configuration(Ring(), 1)]
    others = [
        configuration(Ring(n_agents=7), 1),
        configuration(Ring(extra=3), 1),
        configuration(Ring(gain=0.6), 1),
        configuration(Ring(), 2),
        configuration(Lamps(), 1),
    ]
    assert len(set(same)) == 1
    assert len({*same, *others}) == 1 + len(others)


# -- the watch -------------------------------------------------------------------------------------


def settled(monkeypatch, curve: dict[int, float]):
    """An engine whose choice has been made and whose steps are steady."""
    engine = StageEngine(curve)
    made = stage(monkeypatch, engine)
    reset(made)
    step(made, engine, 300)
    for _ in range(300):
        step(made, engine, int(made.report().searching))
    assert not made.report().searching
    step(made, engine, SUSTAINED)  # which are the watch's reference
    return made, engine


def test_steady_steps_are_left_alone(monkeypatch):
    made, engine = settled(monkeypatch, ONE_BEST)
    assert set(step(made, engine, 250)) == {1}


def test_steady_steps_are_hardly_ever_looked_at_again(monkeypatch):
    made, engine = settled(monkeypatch, ONE_BEST)
    used = step(made, engine, 20_000)
    assert 0 < sum(count != 1 for count in used) < 0.01 * len(used)
    assert made.threads == 1


def test_a_choice_made_on_a_busy_machine_does_not_last(monkeypatch):
    made, engine = settled(monkeypatch, {1: 2e-3, 2: 4e-3, 3: 5e-3, 4: 6e-3})
    assert made.threads == 1
    engine.curve = {1: 2e-3, 2: 1e-3, 3: 1.5e-3, 4: 3e-3}  # one thread takes what it took before
    step(made, engine, 5000)
    assert made.threads == 2


def test_a_sustained_change_searches_again_between_steps(monkeypatch):
    made, engine = settled(monkeypatch, ONE_BEST)
    engine.curve = FOUR_BEST
    used = step(made, engine, 21)
    assert set(used) == {1}  # the change is seen behind the twentieth step
    used = step(made, engine, 300)
    assert set(used) == {1, 2, 3, 4}
    assert made.threads == 4
    assert made.report().decisions[-1].source == "steps"


def test_a_change_that_makes_no_other_count_clearly_faster_leaves_the_choice_alone(monkeypatch):
    """Another process has taken a core: more threads are as fast as one, and faster when it has gone."""
    made, engine = settled(monkeypatch, TWO_BEST)
    engine.curve = dict.fromkeys(TWO_BEST, 1.5 * max(TWO_BEST.values()))
    assert len(set(step(made, engine, 400))) > 1
    assert made.threads == 2


def test_a_short_change_does_not(monkeypatch):
    made, engine = settled(monkeypatch, ONE_BEST)
    steady = engine.curve
    engine.curve = FOUR_BEST
    step(made, engine, 19)
    engine.curve = steady
    assert set(step(made, engine, 200)) == {1}


def test_the_first_steps_of_another_episode_are_steps_like_others(monkeypatch):
    made, engine = settled(monkeypatch, ONE_BEST)
    for _ in range(5):
        reset(made)
        assert set(step(made, engine, 50)) == {1}


# -- limits ----------------------------------------------------------------------------------------


def test_one_effective_cpu_leaves_nothing_to_choose(monkeypatch):
    engine = StageEngine({1: 1e-3})
    made = stage(monkeypatch, engine, replace(MACHINE, cpus=1))
    reset(made)
    assert (made.threads, engine.rehearsed) == (1, [])
    assert made.report().decisions[-1].source == "machine"


def test_the_quota_bounds_the_candidates(monkeypatch):
    engine = StageEngine(FOUR_BEST)
    made = stage(monkeypatch, engine, replace(MACHINE, quota=2.0, cpus=2))
    reset(made)
    assert made.ladder == (1, 2)
    assert set(engine.rehearsed) == {1, 2}
    assert made.threads == 2


def test_hardware_threads_of_a_core_are_where_the_search_climbs_to_not_where_it_starts(monkeypatch):
    made = stage(monkeypatch, StageEngine(FOUR_BEST), replace(MACHINE, cores=2))
    assert made.threads == 2
    reset(made)
    assert made.threads == 4


# -- copies of a tuner -----------------------------------------------------------------------------


def test_a_copy_goes_on_with_the_choice(monkeypatch):
    made, _ = settled(monkeypatch, TWO_BEST)
    other = copy.deepcopy(made)
    engine = StageEngine(TWO_BEST)
    other.attach(engine)
    assert engine.threads == 2
    reset(other)
    assert engine.rehearsed == []
    assert set(step(other, engine, 100)) == {2}


def test_a_copy_taken_in_mid_search_has_the_choice_so_far(monkeypatch):
    engine = StageEngine({1: 1.04e-3, 2: 1e-3, 3: 1.1e-3, 4: 3e-3})
    made = stage(monkeypatch, engine)
    reset(made)
    step(made, engine, 10)
    assert made.report().searching
    other = copy.deepcopy(made)
    other.attach(StageEngine(engine.curve))
    assert not other.report().searching
    assert other.threads == made.threads


# -- short steps -----------------------------------------------------------------------------------


def test_steps_on_one_thread_too_short_to_share_need_not_be_told(monkeypatch):
    engine = StageEngine({1: 5e-6, 2: 9e-6, 3: 9e-6, 4: 9e-6})
    made = stage(monkeypatch, engine)
    assert made.wakes_at == 0.0
    reset(made)
    assert made.wakes_at > engine.curve[1]


def test_steps_on_more_threads_and_of_a_search_are_always_told(monkeypatch):
    engine = StageEngine({1: 1.9e-3, 2: 1.03e-3, 3: 1e-3, 4: 3e-3})
    made = stage(monkeypatch, engine)
    reset(made)
    assert made.report().searching
    assert made.wakes_at == 0.0
    step(made, engine, 300)
    assert (made.threads, made.wakes_at) == (3, 0.0)
