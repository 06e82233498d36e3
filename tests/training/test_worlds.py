"""Worlds as arrays: PettingZoo's dicts and seer_env's copies look alike to MAPPO."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gymnasium import spaces
from parallel_games import Endless, Patience, Wandering

from seer_env.errors import BoundaryFileError
from seer_env.training.config import ConfigError, TrainConfig
from seer_env.training.worlds import ParallelWorlds, SeerWorlds, WorldsError, open_worlds

GAMES = Path(__file__).parents[1] / "parallel_games.py"


def test_actions_reach_their_agents_clipped_to_the_space():
    worlds = ParallelWorlds(Endless, copies=2)
    worlds.reset(0)
    worlds.step(np.array([[[0.5], [-7.0]], [[0.25], [9.0]]], np.float32))
    taken = [episode.env.taken[0] for episode in worlds._episodes]
    assert [{name: float(a[0]) for name, a in one.items()} for one in taken] == [
        {"anna": 0.5, "berta": -1.0},
        {"anna": 0.25, "berta": 1.0},
    ]


def test_whole_actions_are_rounded_to_the_nearest():
    class Whole(Endless):
        def action_space(self, agent):
            return spaces.Box(0, 5, (1,), np.int64)

    worlds = ParallelWorlds(Whole, copies=1)
    worlds.reset(0)
    worlds.step(np.array([[[2.9], [7.2]]], np.float32))
    taken = worlds._episodes[0].env.taken[0]
    assert [(a.tolist(), a.dtype) for a in taken.values()] == [([3], np.int64), ([5], np.int64)]


def test_a_truncated_episode_shows_its_final_observation_and_begins_anew():
    worlds = ParallelWorlds(Endless, copies=1)
    worlds.reset(0)
    for _ in range(4):
        step = worlds.step(np.zeros((1, 2, 1), np.float32))
    assert step.truncated.all()
    assert not step.terminated.any()
    assert step.final[0, :, 0].tolist() == [1.0, 1.0]
    assert worlds.observations[0, :, 0].tolist() == [0.0, 0.0]
    assert worlds.live.all()


def test_max_cycles_truncates_a_pettingzoo_env():
    worlds = ParallelWorlds(Endless, copies=1, max_cycles=2)
    worlds.reset(0)
    assert [bool(worlds.step(np.zeros((1, 2, 1), np.float32)).truncated.all()) for _ in range(4)] == [
        False,
        True,
        False,
        True,
    ]


def test_agents_that_ended_are_not_live_and_get_nothing():
    worlds = ParallelWorlds(Patience, copies=1)
    worlds.reset(0)
    step = worlds.step(np.array([[[0.0], [1.0]]], np.float32))
    assert step.rewards.tolist() == [[1.0, 0.0]]
    assert worlds.live.tolist() == [[False, True]]
    step = worlds.step(np.array([[[0.0], [1.0]]], np.float32))
    assert step.rewards.tolist() == [[0.0, 3.0]]
    assert worlds.live.all(), "both ended, so another episode began"
    assert worlds.masks.tolist() == [[[True, True, False]] * 2]


def test_masks_may_come_behind_the_first_observations():
    class Late(Patience):
        def _infos(self, agents):
            return super()._infos(agents) if self.waited else {agent: {} for agent in agents}

    worlds = ParallelWorlds(Late, copies=1)
    worlds.reset(0)
    assert worlds.masks.tolist() == [[[True, True, True]] * 2]
    worlds.step(np.ones((1, 2, 1), np.float32))
    assert worlds.masks.tolist() == [[[True, True, False]] * 2]


def wandering(steps: int) -> ParallelWorlds:
    worlds = ParallelWorlds(Wandering, copies=2)
    worlds.reset(7)
    wander(worlds, steps)
    return worlds


def wander(worlds: ParallelWorlds, steps: int) -> list[bytes]:
    actions = np.random.default_rng(steps).normal(size=(steps, 2, 2, 1)).astype(np.float32)
    return [worlds.step(each).final.tobytes() for each in actions]


@pytest.mark.parametrize("steps", [0, 3, 4, 9])
def test_a_pettingzoo_env_goes_on_by_playing_its_episode_again(tmp_path, steps):
    """Also at the first step of its first and of its second episode, and in its third."""
    worlds, others = wandering(steps), wandering(1)
    worlds.save(tmp_path)
    assert others.load(tmp_path, seed=1).tolist() == [True, True]
    assert wander(others, 6) == wander(worlds, 6)


def test_a_pettingzoo_env_that_does_not_repeat_begins_anew(tmp_path):
    worlds = ParallelWorlds(lambda: Wandering(moody=True), copies=2)
    worlds.reset(0)
    wander(worlds, 3)
    worlds.save(tmp_path)
    assert worlds.load(tmp_path, seed=1).tolist() == [False, False]
    assert worlds.observations[:, :, 0].tolist() == [[0.0, 0.0]] * 2, "the first step of an episode"


def test_a_damaged_file_of_a_pettingzoo_env_is_refused_by_name(tmp_path):
    worlds = wandering(2)
    worlds.save(tmp_path)
    path = tmp_path / "world_1.npz"
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(BoundaryFileError, match=r"world_1\.npz: damaged"):
        worlds.load(tmp_path, seed=1)


def test_a_file_of_another_pettingzoo_env_is_refused(tmp_path):
    wandering(2).save(tmp_path)
    with pytest.raises(BoundaryFileError, match="other agents or spaces"):
        ParallelWorlds(lambda: Patience(players=3), copies=1).load(tmp_path, seed=1)


def test_agents_of_different_spaces_are_refused_by_name():
    with pytest.raises(WorldsError, match="'berta'"):
        ParallelWorlds(lambda: Endless(sizes=(1, 2)), copies=1)


def test_copies_end_and_begin_like_pettingzoo_envs():
    worlds = SeerWorlds(TrainConfig(env="flock_v0", world={"n_agents": 20}, copies=2, max_cycles=3))
    worlds.reset(5)
    first = worlds.observations.copy()
    for _ in range(3):
        before = worlds.observations
        step = worlds.step(np.zeros((2, 20, 2), np.float32))
    assert step.truncated.all()
    assert worlds.live.all()
    assert not np.array_equal(step.final, worlds.observations)
    assert not np.array_equal(step.final, before)
    assert not np.array_equal(first, worlds.observations)
    worlds.close()


@pytest.mark.parametrize(
    ("env", "kind"),
    [
        ("flock_v0", SeerWorlds),
        ("seer_env.envs.flock_v0:Flock", SeerWorlds),
        (f"{GAMES}:Patience", ParallelWorlds),
    ],
)
def test_worlds_by_name_by_module_and_by_file(env, kind):
    worlds = open_worlds(TrainConfig(env=env, copies=1))
    assert isinstance(worlds, kind)
    worlds.close()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"env": "nowhere_v0"}, "nowhere_v0"),
        ({"env": "flock_v0", "world": {"wings": 2}}, "wings"),
        ({"env": f"{GAMES}:OBSERVATIONS"}, "OBSERVATIONS"),
        ({"env": "builtins:dict"}, "made dict, no EventModel and no ParallelEnv"),
    ],
)
def test_what_is_no_world_is_refused_by_name(settings, message):
    with pytest.raises(ConfigError, match=message):
        open_worlds(TrainConfig(**settings))
