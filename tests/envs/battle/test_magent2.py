"""Facts about MAgent2's battle, where the library is installed: `pip install magent2==0.3.4 pygame`."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from battle_oracle import MOVES, TARGETS

from seer_env.env import SeerParallelEnv
from seer_env.envs.battle.constants import STAY
from seer_env.envs.battle.field import formation
from seer_env.envs.battle.model import Battle

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # those of pygame and of the library on import
    battle_v4 = pytest.importorskip("magent2.environments.battle_v4")

ATTACK = {offset: len(MOVES) + k for k, offset in enumerate(TARGETS[len(MOVES) :])}


class Pair:
    """Both battles on the same map, stepped with the same actions; `theirs`, `ours` are the returns."""

    def __init__(self, size):
        self.library = battle_v4.parallel_env(map_size=size)
        observations, _ = self.library.reset(seed=0)
        self.env = SeerParallelEnv(
            Battle(len(observations), map_size=size), scheduler="python", max_cycles=1000
        )
        self.theirs, self.ours = (observations,), (self.env.reset(seed=0)[0],)

    def step(self, **actions):
        """One step; who is not named stays."""
        wanted = {agent: actions.get(agent, STAY) for agent in self.env.agents}
        self.theirs, self.ours = self.library.step(wanted), self.env.step(wanted)


def seen(observation):
    return np.asarray(observation).reshape(13, 13, 5)


@pytest.mark.parametrize("size", [12, 13, 17, 25, 45, 50, 55, 70, 100, 140])
def test_the_formations_are_the_librarys(size):
    library = battle_v4.parallel_env(map_size=size)
    library.reset(seed=0)
    grid = library.unwrapped.env
    for handle, ours in zip(grid.get_handles(), formation(size)):
        assert grid.get_pos(handle).tolist() == ours.tolist()


def test_spaces_and_names_are_the_librarys():
    pair = Pair(45)
    assert pair.library.possible_agents == pair.env.possible_agents
    assert pair.library.action_space("red_0") == pair.env.action_space("red_0")
    shape = pair.library.observation_space("red_0").shape
    assert shape == (13, 13, 5)
    assert pair.env.observation_space("red_0").shape == (np.prod(shape),)


def test_first_observations_are_the_librarys():
    pair = Pair(45)
    for agent, theirs in pair.theirs[0].items():
        assert seen(pair.ours[0][agent]) == pytest.approx(theirs, abs=1e-6)


@pytest.mark.parametrize("action", range(len(MOVES)))
def test_moves_and_what_is_seen_then_are_the_librarys(action):
    pair = Pair(25)
    pair.step()  # in the first step behind a reset, the library gives red's actions to blue as well
    pair.step(red_0=action, blue_3=action)
    for agent, theirs in pair.theirs[0].items():
        assert seen(pair.ours[0][agent]) == pytest.approx(theirs, abs=1e-6)
    assert pair.ours[1] == pytest.approx(pair.theirs[1])


def approached():
    """A pair on the smallest map in which `red_0` stands left of `blue_0`, with `red_1` behind it."""
    pair = Pair(12)
    for _ in range(3):
        pair.step(red_0=TARGETS.index((2, 0)), red_1=TARGETS.index((2, 0)))
    pair.step(red_0=TARGETS.index((1, 0)), red_1=TARGETS.index((1, 0)))
    return pair


@pytest.mark.parametrize("attack", sorted(ATTACK))
def test_an_attack_has_the_librarys_target_and_reward(attack):
    pair = approached()
    pair.step(red_0=ATTACK[attack])
    assert pair.ours[1] == pytest.approx(pair.theirs[1])
    for agent, theirs in pair.theirs[0].items():  # what is shown recovers a step later
        assert seen(pair.ours[0][agent]) == pytest.approx(theirs, abs=0.01 + 1e-6)


def test_as_many_attacks_kill_and_rewards_differ_as_the_readme_says():
    pair = approached()
    while not pair.theirs[2].get("blue_0", False):
        assert not pair.ours[2].get("blue_0", False)
        pair.step(red_0=ATTACK[1, 0])
        assert pair.ours[2] == pair.theirs[2]
    ours, theirs = pair.ours[1], pair.theirs[1]
    assert ours["red_0"] == pytest.approx(theirs["red_0"] + 0.2)
    assert ours["blue_0"] == pytest.approx(theirs["blue_0"] - 0.005)
