"""The stated rule of `threads="auto"` and `scheduler="auto"`."""

from __future__ import annotations

import pytest
from worlds import Lamps, Ring

from seer_env import threads
from seer_env.env import SeerParallelEnv

BIG = Lamps(threads.SHARED_WORK)
SMALL = Lamps(threads.SHARED_WORK - 1)


@pytest.fixture(autouse=True)
def four_cpus(monkeypatch):
    monkeypatch.setattr(threads, "effective_cpus", lambda: 4)


@pytest.mark.parametrize(
    ("model", "scheduler", "asked", "chosen"),
    [
        (BIG, "auto", "auto", ("seer", 4)),
        (SMALL, "auto", "auto", ("serial", 1)),
        (BIG, "seer", "auto", ("seer", 4)),
        (SMALL, "seer", "auto", ("seer", 1)),
        (SMALL, "auto", 1, ("serial", 1)),
        (SMALL, "auto", 3, ("seer", 3)),
        (BIG, "seer", 2, ("seer", 2)),
        (BIG, "serial", "auto", ("serial", 1)),
        (BIG, "serial", 1, ("serial", 1)),
        (BIG, "python", "auto", ("python", 1)),
        (BIG, "heap", "auto", ("heap", 1)),
    ],
)
def test_the_rule(model, scheduler, asked, chosen):
    assert threads.choose(model, scheduler, asked) == chosen


def test_one_effective_cpu_means_serial(monkeypatch):
    monkeypatch.setattr(threads, "effective_cpus", lambda: 1)
    assert threads.choose(BIG) == ("serial", 1)


def test_agents_and_the_entities_of_a_window_are_shareable_work():
    assert threads.shareable_work(Ring(n_agents=10, extra=0)) == 10  # a window holds 0.25 of them
    assert threads.shareable_work(Ring(n_agents=10, extra=990)) == 250


@pytest.mark.parametrize("value", [0, -2, 1.5, "two", True])
def test_an_impossible_thread_count_is_refused(value):
    with pytest.raises(ValueError, match="threads must be"):
        threads.choose(BIG, "seer", value)


@pytest.mark.parametrize("scheduler", ["serial", "python", "heap"])
def test_threads_for_a_scheduler_with_one_are_refused(scheduler):
    with pytest.raises(ValueError, match='use "seer"'):
        threads.choose(BIG, scheduler, 2)


def test_an_unknown_scheduler_is_refused():
    with pytest.raises(ValueError, match="scheduler must be"):
        SeerParallelEnv(SMALL, scheduler="magic")


def test_effective_cpus_are_those_granted_to_the_process(monkeypatch):
    from seer_env.machine import effective_cpus

    monkeypatch.undo()
    assert threads.effective_cpus() == effective_cpus()
