"""Threads that change between steps: what worlds do stays the same, and what is not possible is refused."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from worlds import Lamps, Ring

from seer_env import Copies, SeerError
from seer_env.env import SeerParallelEnv

#: Threads of each step.
COUNTS = [1, 4, 2, 8, 3, 1, 8, 8]
ACTIONS = np.random.default_rng(3).uniform(-1.0, 1.0, (len(COUNTS), 3, 30, 2))


def env_of(**arguments):
    return SeerParallelEnv(Ring(30, extra=10), **arguments)


def env_digests(env, counts=()):
    """Of every boundary of an episode whose steps run on these counts of threads, if there are any."""
    env.reset_arrays(seed=5)
    digests = [env.digest()]
    for t, actions in enumerate(ACTIONS[:, 0]):
        if counts:
            env.use_threads(counts[t])
            assert env.threads == counts[t]
        env.step_arrays(actions)
        digests.append(env.digest())
    return digests


def copies_digests(worlds, counts=()):
    """As `env_digests`, of every copy."""
    worlds.reset_arrays(seed=5)
    digests = []
    for t, actions in enumerate(ACTIONS):
        if counts:
            worlds.use_threads(counts[t])
            assert worlds.threads == counts[t]
        worlds.step_arrays(actions)
        digests.append([worlds.digest(i) for i in range(3)])
    return digests


def share_everything(engine):
    """Have every phase published, however small."""
    for world in getattr(engine, "_worlds", [engine]):
        world._memory.control["share_ns"] = world._memory.control["clearly_ns"] = -1.0


@pytest.mark.parametrize("scheduler", ["seer", "auto"])
def test_an_env_shows_the_same_while_its_threads_change_before_every_step(scheduler):
    env = env_of(scheduler=scheduler, threads=8)
    share_everything(env._engine)
    assert env_digests(env, COUNTS) == env_digests(env_of(scheduler="python"))


def test_copies_show_the_same_while_their_threads_change_before_every_step():
    worlds = Copies(Ring(30, extra=10), 3, scheduler="seer", threads=8)
    share_everything(worlds._engine)
    plain = Copies(Ring(30, extra=10), 3, scheduler="python")
    assert copies_digests(worlds, COUNTS) == copies_digests(plain)


@pytest.mark.parametrize("make", [env_of, lambda **arguments: Copies(Ring(30, extra=10), 3, **arguments)])
def test_what_threads_are_set_to_stays_and_is_reported(make):
    worlds = make(threads="auto")
    most = worlds.most_threads
    worlds.use_threads(most)
    worlds.reset_arrays(seed=5)
    assert worlds.threads == most
    assert [(d.threads, d.source) for d in worlds.stpa_report.decisions] == [(most, "asked")]
    assert worlds.stpa_report.decisions[0].reason == f"use_threads({most})"


def test_a_copy_of_an_env_has_its_threads_and_as_many_at_most():
    env = env_of(threads=4)
    env.use_threads(2)
    env.reset_arrays(seed=5)
    another = copy.deepcopy(env)
    assert (another.threads, another.most_threads) == (2, 4)


@pytest.mark.parametrize("count", [0, -1, 5, 2.0, True, "auto"])
def test_a_count_out_of_range_is_refused_and_changes_nothing(count):
    worlds = Copies(Lamps(3), 2, scheduler="seer", threads=4)
    with pytest.raises(ValueError, match="count must be") as error:
        worlds.use_threads(count)
    assert str(count) in str(error.value)
    assert worlds.threads == 4


@pytest.mark.parametrize("scheduler", ["python", "serial"])
def test_a_scheduler_with_one_thread_has_no_second(scheduler):
    env = env_of(scheduler=scheduler)
    env.use_threads(1)
    with pytest.raises(ValueError, match="from 1 to 1"):
        env.use_threads(2)


def test_a_scheduler_whose_threads_do_not_change_says_so():
    env = env_of(scheduler="ross-t", threads=2)
    env.use_threads(2)
    with pytest.raises(ValueError, match="'ross-t' steps on the 2 threads it was made with, got count=1"):
        env.use_threads(1)


@pytest.mark.parametrize("make", [env_of, lambda **arguments: Copies(Ring(30, extra=10), 3, **arguments)])
def test_threads_of_what_is_closed_are_refused(make):
    worlds = make(threads=2)
    worlds.close()
    with pytest.raises(SeerError, match="closed"):
        worlds.use_threads(1)


@pytest.mark.parametrize("make", [env_of, lambda **arguments: Copies(Ring(30, extra=10), 3, **arguments)])
def test_threads_do_not_change_while_another_thread_is_inside(make):
    worlds = make(scheduler="seer", threads=2)
    with ThreadPoolExecutor(1) as other:
        other.submit(worlds._engine._claim).result()
    with pytest.raises(SeerError, match="in use by another thread"):
        worlds.use_threads(1)
    assert worlds.threads == 2
