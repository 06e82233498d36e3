"""Table 1: splits that leak nothing, rules with known answers, scores worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from stpa_sweeps import made_up

for library in ("torch", "xgboost", "sklearn"):
    pytest.importorskip(library, reason="training needs the extra `stpa`")

from seer_env.stpa.labels import choices  # noqa: E402 - behind the skip
from seer_env.stpa.training.evaluate import METHODS, Score, evaluate, summary, table  # noqa: E402 - behind the skip
from seer_env.stpa.training.fit import Options  # noqa: E402 - behind the skip
from seer_env.stpa.training.learners import LEARNERS, Lesson  # noqa: E402 - behind the skip
from seer_env.stpa.training.rules import BUDGET_S, logical_cores, oracle, physical_cores, ratio, search, usl  # noqa: E402 - behind the skip
from seer_env.stpa.training.splits import splits  # noqa: E402 - behind the skip

ALL = np.arange(6)


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
    chosen = usl(made_up(cpus=8, seconds=law(a, b)), ALL)
    assert chosen.threads == pytest.approx(np.sqrt((1.0 - a) / b), rel=1e-6)


def test_the_scalability_law_does_not_extrapolate():
    assert usl(made_up(cpus=4, seconds=lambda k: 1e-3 / k), ALL).threads == 8
    assert usl(made_up(cpus=4, seconds=lambda k: 1e-3 * k), ALL).threads == 1


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
        found = search(sweep, ALL, start, np.random.default_rng(0))
        assert found.threads == 3
        assert found.seconds <= BUDGET_S + 4e-3


def test_a_step_longer_than_the_budget_is_searched_in_two():
    sweep = made_up(seconds=lambda k: 1.0)
    assert search(sweep, ALL, 2, np.random.default_rng(0)).seconds == pytest.approx(2.0)


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


def test_every_method_is_scored_on_every_configuration(sweeps):
    split = next(iter(splits(sweeps, 1)))
    scores = evaluate(split, Lesson(split.train, 0, Options(steps=2, batch=4)))
    assert {s.method for s in scores} == set(METHODS) > set(LEARNERS)
    assert len(scores) == len(METHODS) * len(split.test)
    rows = {row["method"]: row for row in table(scores)}
    assert rows["oracle"]["regret_max"] == 0.0
    assert rows["oracle"]["mae"] == 0.0
    assert rows["STPA + search"]["regret_mean"] < 0.02
    assert rows["STPA + search"]["preflight_s"] > rows["STPA"]["preflight_s"] > 0.0
    assert rows["physical cores"]["preflight_s"] == 0.0
