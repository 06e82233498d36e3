"""What a benchmark counts when it steps a world with random actions."""

from __future__ import annotations

import numpy as np
import pytest

from seer_env.bench.players import ArrayPlayer, DictPlayer, pace


class Mortal:
    """Ten agents, of whom one dies in every step; a step takes no time worth mentioning."""

    agents = 10
    events = 3

    def __init__(self):
        self.living = self.begun = 0

    def begin(self):
        self.living, self.begun = self.agents, self.begun + 1

    def choose(self):
        pass

    def step(self):
        self.living -= 1

    def close(self):
        pass


def test_an_episode_is_begun_anew_when_a_tenth_has_died():
    player = Mortal()
    found = pace(player, 1e-4)
    assert found.agent_steps == sum(10 - k % 2 for k in range(found.steps))
    assert player.begun == -(-found.steps // 2)
    assert found.events == 3 * found.steps


@pytest.mark.parametrize("world", ["flock_v0", "battle_v0", "pcs_v0"])
def test_arrays_and_dicts_play_the_same_game(world):
    digests = []
    for make in (ArrayPlayer, DictPlayer):
        player = make(world, 20, 1, seed=3)
        player.begin()
        for _ in range(3):
            player.choose()
            player.step()
        digests.append(player.env.digest())
        player.close()
    assert digests[0] == digests[1]


def test_the_dict_player_acts_for_the_living_alone():
    player = DictPlayer("battle_v0", 20, 1)
    player.begin()
    player.choose()
    assert list(player._actions) == player.env.agents
    assert all(0 <= action < 21 and isinstance(action, int) for action in player._actions.values())
    assert np.count_nonzero(player.env.live) == player.living == 20
    player.close()
