"""What `scheduler` and `threads` come to, and the first guess of a thread count."""

from __future__ import annotations

import pytest
from worlds import Lamps, Ring

from seer_env import threads
from seer_env.env import SeerParallelEnv

BIG = Lamps(threads.SHARED_WORK)
SMALL = Lamps(threads.SHARED_WORK - 1)


@pytest.mark.parametrize(
    ("scheduler", "asked", "resolved"),
    [
        ("auto", "auto", ("auto", None)),
        ("seer", "auto", ("seer", None)),
        ("auto", 1, ("auto", 1)),
        ("auto", 3, ("auto", 3)),
        ("seer", 2, ("seer", 2)),
        ("serial", "auto", ("serial", 1)),
        ("serial", 1, ("serial", 1)),
        ("python", "auto", ("python", 1)),
        ("heap", "auto", ("heap", 1)),
        ("nbse", "auto", ("nbse", None)),
    ],
)
def test_arguments(scheduler, asked, resolved):
    assert threads.resolve(scheduler, asked) == resolved


def test_the_simple_rule():
    assert threads.simple_rule(BIG, 4) == 4
    assert threads.simple_rule(SMALL, 4) == 1
    assert threads.simple_rule(SMALL, 4, copies=2) == 4


def test_agents_and_the_entities_of_a_window_are_shareable_work():
    assert threads.shareable_work(Ring(n_agents=10, extra=0)) == 10  # a window holds 0.25 of them
    assert threads.shareable_work(Ring(n_agents=10, extra=990)) == 250


@pytest.mark.parametrize("value", [0, -2, 1.5, "two", True])
def test_an_impossible_thread_count_is_refused(value):
    with pytest.raises(ValueError, match="threads must be"):
        threads.resolve("seer", value)


@pytest.mark.parametrize("scheduler", ["serial", "python", "heap"])
def test_threads_for_a_scheduler_with_one_are_refused(scheduler):
    with pytest.raises(ValueError, match='use "seer"'):
        threads.resolve(scheduler, 2)


def test_an_unknown_scheduler_is_refused():
    with pytest.raises(ValueError, match="scheduler must be"):
        SeerParallelEnv(SMALL, scheduler="magic")
