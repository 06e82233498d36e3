"""`seer-env bench motivation`: the same work on both sides, and what is promised."""

from __future__ import annotations

from contextlib import ExitStack

import numba
import numpy as np
import pytest

from seer_env.bench import motivation
from seer_env.bench.motivation import ARRAYS, RIVAL, MotivationExperiment, Working, work_alone
from seer_env.bench.results import Measurement, Results
from seer_env.bench.slow_battle import SlowBattle, burn, burn_all
from seer_env.env import SeerParallelEnv
from seer_env.envs.battle_v0 import Battle


def test_a_unit_of_work_is_a_multiplication_and_an_addition():
    assert burn(2.0, 0) == 2.0
    assert burn(2.0, 2) == (2.0 * 0.999999 + 0.5) * 0.999999 + 0.5


def test_compiled_work_is_the_same():
    values = np.array([0.0, 3.0])
    burn_all(values, 100)
    assert values.tolist() == [numba.njit(burn)(0.0, 100), numba.njit(burn)(3.0, 100)]


@pytest.mark.parametrize("scheduler", ["python", "serial", "seer"])
def test_work_changes_nothing_in_the_game(scheduler):
    games = []
    for model in (Battle(12), SlowBattle(12, 50)):
        env = SeerParallelEnv(model, scheduler=scheduler)
        env.reset_arrays(1)
        rng = np.random.default_rng(0)
        shown = [env.step_arrays(rng.integers(0, 21, (12, 1))) for _ in range(8)]
        games.append((shown, env.entities["shown"].copy()))
        env.close()
    for plain, slow in zip(games[0][0], games[1][0]):
        np.testing.assert_array_equal(plain.observations, slow.observations)
        np.testing.assert_array_equal(plain.rewards, slow.rewards)
    np.testing.assert_array_equal(games[0][1], games[1][1])


def test_every_action_works():
    env = SeerParallelEnv(SlowBattle(12, 50), scheduler="python")
    env.reset_arrays(1)
    env.step_arrays(np.zeros((12, 1), np.int64))
    assert env.entities["thought"][:12].tolist() == [burn(0.0, 50)] * 12


def test_the_rival_works_for_each_action_before_its_step():
    stepped = []

    class Env:
        possible_agents = ("a", "b", "c")

        def step(self, actions):
            stepped.append(working._values.tolist())

    working = Working(Env(), 50)
    working.step({"a": 0, "c": 0})
    assert stepped == [[burn(0.0, 50), burn(0.0, 50), 0.0]]
    assert working.possible_agents == ("a", "b", "c")


def test_the_work_alone_is_told_per_step_and_per_action():
    measured = work_alone(100, 1000)
    assert measured["us of work"] == pytest.approx(10.0 * measured["total"])


def test_the_work_is_calibrated_to_the_time_that_an_action_is_to_take(monkeypatch):
    monkeypatch.setattr(motivation, "work_alone", lambda agents, units: {"us of work": 0.1 + 0.002 * units})
    found = motivation.work_that_takes(10.0)
    assert (found["units"], found["us/action"]) == (
        pytest.approx(4950, abs=50),
        pytest.approx(10.0, rel=0.01),
    )
    assert motivation.work_that_takes(0.0) == {"units": 0.0}


def test_ours_must_not_be_slower_than_magent2():
    group = "400 agents, 0 us"
    results = Results(
        Measurement(group, *contender, 0, "total", total)
        for contender, total in ((RIVAL, 6.0), (ARRAYS, 2.0))
    )
    (claim,) = MotivationExperiment().claims(results)
    assert (claim.measured, claim.limit) == (3.0, 1.0)


def test_both_apis_are_measured_with_a_policy():
    pytest.importorskip("torch", reason="policies infer with torch")
    with ExitStack() as stack:
        contenders = MotivationExperiment(quick=True).make(200, stack, {"units": 100.0})
        names = [c.name for c in contenders if c != RIVAL]
        assert names == ["ours, dicts", "ours, arrays", "the work alone"]
        assert all(measure()["total"] > 0.0 for measure in contenders.values())
