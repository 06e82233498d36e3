"""Table 1: splits that leak nothing, rules with known answers, scores worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from stpa_sweeps import made_up

for library in ("torch", "xgboost", "sklearn"):
    pytest.importorskip(library, reason="training needs the extra `stpa`")

from seer_env.stpa.labels import choices  # noqa: E402 - behind the skip
from seer_env.stpa.search import MOST_ROUNDS  # noqa: E402 - behind the skip
from seer_env.stpa.training.evaluate import (  # noqa: E402 - behind the skip
    HALVINGS,
    METHODS,
    Score,
    evaluate,
    excess,
    summary,
    table,
    verdict,
)
from seer_env.stpa.training.fit import Options  # noqa: E402 - behind the skip
from seer_env.stpa.training.learners import LEARNERS, Lesson  # noqa: E402 - behind the skip
from seer_env.stpa.training.rules import BUDGET_S, logical_cores, oracle, physical_cores, ratio, search, usl  # noqa: E402 - behind the skip
from seer_env.stpa.training.splits import splits  # noqa: E402 - behind the skip

ALL = np.arange(6)
#: Turns that a search meets.
MET = np.arange(MOST_ROUNDS) % len(ALL)


def law(a, b):
    """Seconds of a step under the universal scalability law."""
    return lambda k: 1e-3 * (1.0 + a * (k - 1) + b * k * (k - 1)) / k


@pytest.fixture(scope="module")
def sweeps():
    worlds = ("phold", "flock")
    real = [
        made_up(i, 2, law(0.1, 0.02 * (i % 5)), worlds[i % 2], entities=100.0 * (1 + i)) for i in range(20)
    ]
    simulated = [
        made_up(1000 + i, 2 ** (1 + i % 4), law(0.1, 0.01), "simulated phold", True, source=i % 20)
        for i in range(20)
    ]
    return real + simulated


def test_splits_hold_back_one_kind_and_leak_nothing(sweeps):
    names = set()
    for split in splits(sweeps, seeds=2):
        names.add(split.name)
        assert split.test
        assert {s.simulated for s in split.test} == {split.name.startswith("simulated")}
        assert not {s.configuration.index for s in split.test} & {s.configuration.index for s in split.train}
        if split.name.startswith("real"):
            held = {s.configuration.index for s in split.test}
            assert not held & {s.configuration.arguments.get("source") for s in split.train}
    assert len(names) == 5


def test_the_range_that_is_held_back_lies_above_all_that_is_learned_from(sweeps):
    split = next(s for s in splits(sweeps, 1) if "range" in s.name)
    learned = [s.profile.events for s in split.train if not s.simulated]
    assert min(s.profile.events for s in split.test) > max(learned)


def test_a_world_is_held_back_whole(sweeps):
    held = [
        {s.configuration.world for s in split.test} for split in splits(sweeps, 1) if "worlds" in split.name
    ]
    assert held == [{"flock"}, {"phold"}]


def test_larger_machines_are_held_back(sweeps):
    split = next(s for s in splits(sweeps, 1) if "machines" in s.name)
    assert {s.cpus for s in split.test} == {8, 16}
    assert {s.cpus for s in split.train if s.simulated} == {2, 4}


@pytest.mark.parametrize(("a", "b"), [(0.05, 0.01), (0.2, 0.04)])
def test_the_scalability_law_is_recovered_from_its_own_curve(a, b):
    chosen = usl(made_up(cpus=8, seconds=law(a, b)), 0)
    assert chosen.threads == pytest.approx(np.sqrt((1.0 - a) / b), rel=1e-6)


def test_the_scalability_law_does_not_extrapolate():
    assert usl(made_up(cpus=4, seconds=lambda k: 1e-3 / k), 0).threads == 8
    assert usl(made_up(cpus=4, seconds=lambda k: 1e-3 * k), 0).threads == 1


def test_rules():
    sweep = made_up(cpus=4, entities=300.0)
    assert physical_cores(sweep).threads == 4
    assert logical_cores(sweep).threads == 4
    assert ratio(sweep).threads == 2, "a thread for each 128 of 300 entities"
    assert ratio(made_up(entities=5.0)).threads == 1
    assert oracle(made_up(cpus=4, seconds=law(0.0, 0.0)), ALL).threads == 8


def test_the_search_finds_a_clear_optimum_from_anywhere_within_its_budget():
    sweep = made_up(cpus=4, seconds=lambda k: 1e-3 * (1.0 + abs(np.log2(k / 3))))
    for start in choices(sweep):
        found = search(sweep, MET, start)
        assert found.threads == 3
        assert found.seconds <= BUDGET_S + 4e-3


def test_the_search_sees_the_turns_that_it_meets_and_no_others():
    sweep = made_up(cpus=2, seconds=lambda k: 1e-3 * k)
    sweep.seconds[3:] = 1e-3 / np.array([1, 1, 2, 3, 4])  # many threads are best in the last turns
    assert search(sweep, MET % 3, 2).threads == 1
    assert search(sweep, 3 + MET % 3, 2).threads == 4


@pytest.mark.parametrize("favoured", [1, 2, 3, 4])
def test_ties_of_the_search_go_to_what_is_favoured(favoured):
    sweep = made_up(cpus=2, seconds=lambda k: 1e-3)
    assert search(sweep, MET, favoured, favoured).threads == favoured


def test_a_smaller_budget_is_kept():
    sweep = made_up(cpus=2, seconds=lambda k: 1e-3)
    assert 0.02 <= search(sweep, MET, 2, budget_s=0.02).seconds <= 0.02 + 1e-3


def test_a_step_longer_than_the_budget_is_searched_in_two():
    sweep = made_up(seconds=lambda k: 1.0)
    assert search(sweep, MET, 2).seconds == pytest.approx(2.0)


def test_a_row_of_the_table_by_hand():
    common = {"split": "s", "method": "m", "index": 0, "simulated": False, "seconds": 0.5}
    scores = [
        Score(**common, seed=0, predicted=3.0, label=2, regret=0.1, step_s=0.6, serial_s=1.0),
        Score(**common, seed=1, predicted=1.0, label=2, regret=0.0, step_s=1.0, serial_s=1.0),
    ]
    row = summary(scores)
    assert row["mae"] == 1.0
    assert row["mse"] == 1.0
    assert row["log2_error"] == pytest.approx((np.log2(1.5) + 1.0) / 2.0)
    assert row["regret_mean"] == pytest.approx(0.05)
    assert row["regret_max"] == 0.1
    assert row["regret_above_5"] == 0.5
    assert row["regret_std_over_seeds"] == pytest.approx(0.05)
    assert row["gain_100"] == pytest.approx((200 - 160 - 1.0) / 200)


def of(method: str, regrets: list[float]) -> list[Score]:
    """Scores of a method on configurations 0, 0, 1, 1, ..."""
    common = {"split": "s", "seed": 0, "simulated": False, "predicted": 1.0, "label": 1}
    rest = {"seconds": 0.1, "step_s": 1.0, "serial_s": 1.0}
    return [
        Score(**common, **rest, method=method, index=i // 2, regret=regret)
        for i, regret in enumerate(regrets)
    ]


def test_the_excess_of_a_method_over_another():
    found = excess(of("a", [0.3, 0.1, 0.2, 0.0]), of("b", [0.1, 0.1, 0.0, 0.0]))
    assert found["excess"] == pytest.approx(0.1)
    assert found["excess_low"] == pytest.approx(found["excess_high"]), "0.1 of either configuration"


def test_the_interval_of_an_excess_is_that_of_a_mean():
    regrets = np.random.default_rng(0).normal(0.1, 0.05, 400).repeat(2)
    found = excess(of("a", regrets.tolist()), of("b", [0.0] * 800))
    half = 1.96 * 0.05 / np.sqrt(400)  # of the mean of 400 independent configurations
    assert found["excess_high"] - found["excess"] == pytest.approx(half, rel=0.15)
    assert found["excess"] - found["excess_low"] == pytest.approx(half, rel=0.15)


def test_only_scores_of_the_same_halvings_are_compared():
    with pytest.raises(ValueError, match="shorter"):
        excess(of("a", [0.1, 0.2]), of("b", [0.1]))


@pytest.mark.parametrize(("mae", "beats"), [(0.4, "beats"), (0.5, "does not beat"), (0.6, "does not beat")])
def test_the_verdict_says_where_stpa_alone_does_not_beat_xgboost(mae, beats):
    regret = {"XGBoost": 0.02, "STPA": 0.03, "STPA + search": 0.01, "oracle": 0.0}
    rows = [{"method": m, "mae": mae if m == "STPA" else 0.5, "regret_mean": r} for m, r in regret.items()]
    said = verdict(rows)
    assert f"STPA alone {beats} XGBoost on MAE" in said
    assert "STPA + search has the lowest mean regret of all but the oracle (1.00%)" in said


def test_every_method_is_scored_on_every_configuration(sweeps):
    split = next(iter(splits(sweeps, 1)))
    scores = evaluate(split, Lesson(split.train, 0, Options(steps=2, batch=4)))
    assert {s.method for s in scores} == set(METHODS) > set(LEARNERS)
    assert len(scores) == len(METHODS) * len(split.test) * HALVINGS
    rows = {row["method"]: row for row in table(scores)}
    assert rows["oracle"]["regret_max"] == 0.0
    assert rows["oracle"]["mae"] == 0.0
    assert rows["STPA + search"]["regret_mean"] < 0.02
    assert rows["STPA + search"]["preflight_s"] > rows["STPA"]["preflight_s"] > 0.0
    assert rows["physical cores"]["preflight_s"] == 0.0
    assert rows["STPA + search"]["excess"] == 0.0
