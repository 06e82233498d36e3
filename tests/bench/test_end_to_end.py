"""A policy that acts by arrays and by dicts: the same game, and parts that add up."""

from __future__ import annotations

import numpy as np
import pytest
from worlds import Ring

from seer_env.bench import end_to_end
from seer_env.bench.end_to_end import PARTS, ByArrays, ByDicts, measure_parts
from seer_env.env import SeerParallelEnv


def make_env(max_cycles: int | None = None) -> SeerParallelEnv:
    return SeerParallelEnv(Ring(6), scheduler="python", max_cycles=max_cycles)


class Recording:
    """A policy that acts on what it sees, and keeps it."""

    def __init__(self):
        self.seen: list[np.ndarray] = []

    def __call__(self, observations: np.ndarray) -> np.ndarray:
        self.seen.append(observations.copy())
        return np.tanh(observations[:, :2])


@pytest.mark.parametrize("kind", [ByArrays, ByDicts])
def test_the_policy_sees_the_observations_of_every_agent(kind):
    policy = Recording()
    loop = kind(make_env(), policy, seed=3)
    loop.step()
    np.testing.assert_array_equal(policy.seen[0], make_env().reset_arrays(3))


def test_by_arrays_and_by_dicts_the_same_game_is_played():
    games = []
    for kind in (ByArrays, ByDicts):
        policy = Recording()
        loop = kind(make_env(), policy, seed=3)
        for _ in range(5):
            loop.step()
        games.append((policy.seen, loop.env.digest()))
    np.testing.assert_array_equal(games[0][0], games[1][0])
    assert games[0][1] == games[1][1]


@pytest.mark.parametrize("kind", [ByArrays, ByDicts])
def test_an_episode_that_ends_is_followed_by_the_next(kind):
    policy = Recording()
    loop = kind(make_env(max_cycles=2), policy, seed=3)
    for _ in range(5):
        loop.step()
    np.testing.assert_array_equal(policy.seen[0], policy.seen[2])
    np.testing.assert_array_equal(policy.seen[1], policy.seen[3])


@pytest.mark.parametrize("kind", [ByArrays, ByDicts])
def test_an_episode_without_end_is_begun_again(kind, monkeypatch):
    monkeypatch.setattr(end_to_end, "EPISODE", 3)
    policy = Recording()
    loop = kind(make_env(), policy, seed=3)
    for _ in range(4):
        loop.step()
    np.testing.assert_array_equal(policy.seen[0], policy.seen[3])


def test_parts_are_means_in_milliseconds_and_add_up_to_a_step():
    class Fixed:
        def step(self):
            return 0.001, 0.002, 0.003, 0.004

    figures = measure_parts(Fixed(), 1e-6)
    assert [figures[part] for part in PARTS] == pytest.approx([1.0, 2.0, 3.0, 4.0])
    assert figures["total"] == pytest.approx(10.0)
    assert figures["steps/s"] == pytest.approx(100.0)
