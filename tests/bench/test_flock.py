"""`seer-env bench flock`: the pair it times does the same, and so do the dicts it compares."""

from __future__ import annotations

import json

import numpy as np
import pytest

from seer_env.bench import flock
from seer_env.bench.flock import Args, Pair, gather, main, plain_dicts
from seer_env.commands.output import CommandError

SHORT = Args(repeats=1, seconds=0.001)


def nothing() -> None:
    pass


@pytest.mark.parametrize(("scheduler", "threads"), [("python", 1), ("serial", 1), ("seer", 2)])
def test_env_and_loop_show_the_same_to_1e_6(scheduler, threads):
    pair = Pair(60, threads, seed=0, scheduler=scheduler)
    assert max(pair.difference() for _ in range(30)) < 1e-6


def test_plain_dicts_equal_those_of_step():
    arrays, dicts = (flock.make_flock(30, 1, "python") for _ in range(2))
    arrays.reset_arrays(3), dicts.reset(3)
    actions = dict(zip(dicts.agents, flock.action_blocks(30, 0)[0]))
    theirs = dicts.step(actions)
    shown = arrays.step_arrays(gather(dicts.agents, actions))
    ours = plain_dicts(dicts.agents, shown, arrays.info_arrays)
    np.testing.assert_equal(ours, theirs)


def test_gather_keeps_the_order_of_the_names():
    actions = {"b": np.array([3.0, 4.0]), "a": np.array([1.0, 2.0])}
    assert gather(["a", "b"], actions).tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_the_array_measure_holds_both_times_and_their_ratio():
    result = flock.compare_arrays(30, 1, SHORT, nothing, "python")
    assert result["ratio"] == pytest.approx(result["seer_ms"] / result["yardstick_ms"])
    assert result["largest_difference"] < 1e-6


def test_the_dict_measure_holds_both_times_and_their_ratio():
    result = flock.compare_dicts(30, SHORT, nothing, "python")
    assert result["ratio"] == pytest.approx(result["seer_ms"] / result["yardstick_ms"])


def test_the_fixed_cost_is_that_of_a_hundred_events(monkeypatch):
    counted = []
    step = flock.SeerParallelEnv.step_arrays

    def counting(env, actions):
        shown = step(env, actions)
        counted.append(env.last_step_stats.events)
        return shown

    monkeypatch.setattr(flock.SeerParallelEnv, "step_arrays", counting)
    flock.fixed_cost(SHORT, nothing, "python")
    assert set(counted) == {100}


@pytest.fixture
def measured(monkeypatch):
    """The measuring itself, replaced by figures."""
    arrays = {"measure": "step_arrays", "agents": 30, "threads": 1, "yardstick_ms": 1.0, "seer_ms": 1.1}
    arrays |= {"ratio": 1.1, "agent_steps_per_s": 3e6, "largest_difference": 1e-8}
    dicts = {
        "measure": "dicts",
        "agents": 30,
        "threads": 1,
        "yardstick_ms": 2.0,
        "seer_ms": 2.5,
        "ratio": 1.25,
    }
    fixed = {"measure": "fixed", "agents": 100, "threads": 1, "seer_ms": 0.03}
    monkeypatch.setattr(flock, "compare_arrays", lambda *_: arrays)
    monkeypatch.setattr(flock, "compare_dicts", lambda *_: dicts)
    monkeypatch.setattr(flock, "fixed_cost", lambda *_: fixed)
    return arrays


def test_json_holds_one_entry_per_measure(measured, tmp_path):
    path = tmp_path / "r.json"
    assert main(Args(agents=(30,), threads=(1,), json=path)) == 0
    assert [r["measure"] for r in json.loads(path.read_text())] == ["step_arrays", "dicts", "fixed"]


def test_the_table_shows_the_ratio(measured, capsys):
    main(Args(agents=(30,), threads=(1,)))
    assert "1.10" in capsys.readouterr().out


def test_an_env_that_differs_from_the_loop_fails(measured, capsys):
    measured["largest_difference"] = 0.5
    assert main(Args(agents=(30,), threads=(1,))) == 1
    assert "differs by 0.5" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"agents": (10,)}, "--agents 10"),
        ({"threads": (0,)}, "--threads"),
        ({"repeats": 0}, "--repeats 0"),
        ({"seconds": 0.0}, "--seconds 0.0"),
    ],
)
def test_impossible_options_are_refused_by_name(options, said):
    with pytest.raises(CommandError, match=said):
        main(Args(**options))
