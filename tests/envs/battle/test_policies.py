"""The baseline `rush`."""

from __future__ import annotations

import numpy as np
import pytest

from seer_env.env import SeerParallelEnv
from seer_env.envs.battle.model import Battle
from seer_env.envs.battle.policies import rush


def fight(agents, steps, policies):
    """An env after `steps` steps in which red and blue follow the policies named."""
    env = SeerParallelEnv(Battle(agents), scheduler="serial")
    env.reset_arrays(1)
    for _ in range(steps):
        if not env.agents:
            break
        red, blue = (env.policies[name](env) for name in policies)
        env.step_arrays(np.where(np.arange(agents)[:, None] < agents // 2, red, blue))
    return env


def test_rush_ends_the_battle():
    env = fight(162, 300, ("rush", "rush"))
    assert env.agents == []
    assert (env.entities["shown"][162:164] == 0).any()


@pytest.mark.parametrize(("policies", "loser"), [(("rush", "random"), 1), (("random", "rush"), 0)])
def test_rush_beats_random_from_either_side(policies, loser):
    living = fight(162, 300, policies).entities["shown"][162:164]
    assert living[loser] < living[1 - loser]


def test_rush_attacks_a_neighbour_and_approaches_the_nearest_otherwise():
    env = SeerParallelEnv(Battle(2, map_size=12), scheduler="python")
    env.reset_arrays(0)
    apart = []
    for _ in range(8):
        xy = env.model.field.xy_of(env.entities["cell"][:2])
        apart.append(int(np.abs(xy[0] - xy[1]).max()))
        env.step_arrays(rush(env))
    assert apart == sorted(apart, reverse=True)
    assert apart[-1] == 1
    assert env.entities["hits"][:2].min() > 0


def test_agents_without_an_opponent_do_something_legal():
    env = fight(162, 300, ("rush", "rush"))
    assert rush(env).shape == (162, 1)
