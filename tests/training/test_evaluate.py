"""Intervals against published values, and episodes against their own sums."""

from __future__ import annotations

import numpy as np
import pytest
from parallel_games import Endless, Patience

import seer_env
from seer_env.envs.battle.constants import STAY
from seer_env.envs.pcs.policies import with_guards
from seer_env.envs.pcs.search import evaluate
from seer_env.training.evaluate import Battles, EvaluationError, bootstrap, fight, play_episode, wilson
from seer_env.training.networks import Actor
from seer_env.training.parallel import ParallelEpisode
from seer_env.training.policies import ActorPolicy


def test_wilson_by_hand():
    """8 of 10: centre (0.8 + 0.19207) / 1.38415, half width 0.22629 (Wilson's formula with z = 1.96)."""
    share = wilson(8, 10)
    assert share.estimate == 0.8
    assert share.low == pytest.approx(0.4902, abs=1e-3)
    assert share.high == pytest.approx(0.9433, abs=1e-3)


def test_wilson_does_not_call_a_hundred_of_a_hundred_certain():
    share = wilson(100, 100)
    assert share.high == 1.0
    assert share.low == pytest.approx(100 / (100 + 1.959964**2))


def test_bootstrap_of_equal_values_has_no_width():
    assert bootstrap([2.5] * 7) == (2.5, 2.5, 2.5)


def test_bootstrap_is_near_the_normal_interval_of_many_values():
    values = np.random.default_rng(1).normal(3.0, 2.0, 400)
    interval = bootstrap(values)
    half = 1.96 * values.std() / 20
    assert interval.estimate == values.mean()
    assert interval.low == pytest.approx(values.mean() - half, abs=0.03)
    assert interval.high == pytest.approx(values.mean() + half, abs=0.03)


def test_an_episode_is_counted_as_the_search_for_guard_channels_does():
    world = {"n_agents": 36, "max_cycles": 5, "channels": 10, "interarrival": 8.0, "max_guard": 2}
    known = evaluate(lambda env: with_guards(env.model, np.ones(36)), world, [3])
    env = seer_env.make("pcs_v0", **world, static_guard=1)
    found = play_episode(env, env.policies["guard"], 3)
    assert found["reward"] == pytest.approx(known.reward)
    assert [found[name] for name in ("blocked", "dropped", "outages")] == list(known[1:])
    env.close()


@pytest.mark.parametrize("seed", [0, 1])
def test_who_attacks_beats_who_stands_still_from_either_side(seed):
    env = seer_env.make("battle_v0", n_agents=12, max_cycles=200, threads=1)
    standing_still = lambda env: np.full((12, 1), STAY)  # noqa: E731
    assert fight(env, env.policies["rush"], standing_still, seed) == Battles(1, 0, 0, 1)
    assert fight(env, standing_still, env.policies["rush"], seed) == Battles(0, 1, 0, 0)
    assert fight(env, standing_still, standing_still, seed) == Battles(0, 0, 1, 0)
    env.close()


def test_aircraft_that_fly_their_routes_make_good_what_they_fly():
    env = seer_env.make("aircraft_v0", n_agents=50, max_cycles=40)
    found = play_episode(env, env.policies["goal"], 1)
    assert 0.95 < found["efficiency"] < 1.02
    assert 0.9 < found["pace"] < 1.1
    astray = play_episode(env, lambda env: np.tile([1.0, 0.0, 0.0], (50, 1)), 1)  # in circles
    assert astray["efficiency"] < 0.5
    env.close()


def test_an_episode_of_a_pettingzoo_env_is_counted_by_agents_and_decisions():
    """Berta waits and earns 3 in her second decision, anna takes the sweet in her first: 4 in 3 decisions."""
    found = play_episode(ParallelEpisode(Patience()), lambda env: np.array([[0.0], [1.0]]), 0)
    assert found == {"reward": 4 / 3, "return": 2.0}


def test_random_play_of_a_pettingzoo_env_keeps_to_the_masks_and_follows_from_the_seed():
    env = ParallelEpisode(Patience(players=50))
    drawn = []
    for _ in range(2):
        env.reset_arrays(3)
        drawn.append(env.random_actions())
    assert set(drawn[0].ravel().tolist()) == {0, 1}, "choice 2 is masked"
    assert np.array_equal(*drawn)


def test_a_reward_that_is_not_a_number_stops_the_comparison_with_the_agents_name():
    env = ParallelEpisode(Endless(broken="berta"))
    with pytest.raises(
        EvaluationError, match="reward of agent 'berta' is not finite in step 3 of the episode"
    ):
        play_episode(env, env.policies["random"], 0)


class Recorded(ActorPolicy):
    """Notes how many agents it is asked for at once."""

    def _act(self, observations, mask):
        self.rows = [*getattr(self, "rows", []), len(observations)]
        return super()._act(observations, mask)


@pytest.mark.parametrize("world", ["pcs_v0", "battle_v0"], ids=["without masks", "with masks"])
def test_an_actor_acts_for_ten_times_as_many_agents_a_part_at_a_time(world, monkeypatch):
    few, many = (seer_env.make(world, n_agents=n, scheduler="python") for n in (16, 160))
    actor = Actor(few.model.observation_size, few.model.action_space, hidden=(8,))
    many.reset_arrays(seed=3)
    whole = ActorPolicy(actor)(many)
    monkeypatch.setattr("seer_env.training.policies.AT_ONCE", 48)
    policy = Recorded(actor)
    assert np.allclose(policy(many), whole, atol=1e-5)
    assert policy.rows == [48, 48, 48, 16]
