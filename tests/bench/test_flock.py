"""`seer-env bench flock`: the pair it times does the same, and so do the dicts it compares."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np
import pytest

from seer_env.bench import flock
from seer_env.bench.experiment import Contender
from seer_env.bench.flock import FlockExperiment, Pair, gather, plain_dicts
from seer_env.bench.results import Measurement, Results
from seer_env.commands.output import CommandError

SHORT = FlockExperiment(seconds=0.001)


@pytest.fixture
def stack():
    with ExitStack() as stack:
        yield stack


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


def test_loop_and_env_are_timed_on_as_many_threads(stack):
    contenders = SHORT.beside_the_loop(30, 2, stack)
    assert list(contenders) == [("loop", 2), ("seer", 2)]
    measured = [measure() for measure in contenders.values()]
    assert all(m["ms/step"] > 0.0 for m in measured)
    assert measured[1]["M agent-steps/s"] == pytest.approx(30 / measured[1]["ms/step"] / 1e3)


def test_an_env_that_differs_from_the_loop_is_not_measured(stack, monkeypatch):
    monkeypatch.setattr(Pair, "difference", lambda pair: 0.5)
    with pytest.raises(CommandError, match=r"30 agents, 1 threads: env and loop differ by 0\.5"):
        SHORT.beside_the_loop(30, 1, stack, "python")


def test_dicts_are_timed_beside_the_plainest(stack):
    contenders = SHORT.dicts(stack, 30, "python")
    assert list(contenders) == [("plain dicts", 1), ("dicts of step", 1)]
    assert all(measure()["ms/step"] > 0.0 for measure in contenders.values())


def test_the_fixed_cost_is_that_of_a_hundred_events(stack, monkeypatch):
    counted = []
    step = flock.SeerParallelEnv.step_arrays

    def counting(env, actions):
        shown = step(env, actions)
        counted.append(env.last_step_stats.events)
        return shown

    monkeypatch.setattr(flock.SeerParallelEnv, "step_arrays", counting)
    (measure,) = SHORT.fixed_cost(stack, "python").values()
    measure()
    assert set(counted) == {100}


@pytest.mark.parametrize(("threads", "limit"), [(1, 1.15), (2, 1.1)])
def test_a_step_may_take_little_longer_than_the_loop(threads, limit):
    group = f"500 agents, {threads} threads"
    results = Results(
        Measurement(group, name, threads, 0, "ms/step", ms) for name, ms in (("loop", 1.0), ("seer", 1.12))
    )
    (claim,) = SHORT.claims(results)
    assert (claim.measured, claim.limit, claim.holds) == (1.12, limit, limit > 1.12)
    group_of = next(g for g in SHORT.groups() if g.name == group)
    assert SHORT.derived(results, group_of, Contender("seer", threads)) == {"it / yardstick": 1.12}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"agents": (10,)}, "--agents 10"),
        ({"threads": (0,)}, "--threads"),
        ({"seconds": 0.0}, "--seconds 0.0"),
    ],
)
def test_impossible_options_are_refused_by_name(options, said):
    with pytest.raises(CommandError, match=said):
        FlockExperiment(**options).groups()
