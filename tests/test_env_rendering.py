"""Pictures, closing, and the policies of an env."""

from __future__ import annotations

import warnings

import numpy as np
import pettingzoo
import pytest
from env_players import make_env, sampled, with_both_worlds
from worlds import Lamps, Ring

from seer_env import episode
from seer_env.env import SeerParallelEnv
from seer_env.errors import SeerError

# -- rendering, closing, policies ------------------------------------------------------------------------


def test_render_gives_the_models_frame_and_tolerates_an_argument():
    env = make_env(Lamps(), render_mode="rgb_array")
    env.reset(seed=0)
    env.step(dict.fromkeys(env.agents, 4))
    assert env.render()[0, 0].tolist() == [160, 0, 0]
    assert (env.render("human") == env.render()).all()
    assert (env.render(mode="rgb_array") == env.render()).all()


def test_a_render_mode_of_a_world_without_pictures_is_refused():
    with pytest.raises(ValueError, match="Ring has no render_frame"):
        make_env(Ring(), render_mode="rgb_array")


def test_an_unknown_render_mode_is_refused():
    with pytest.raises(ValueError, match="rgb_array"):
        make_env(Lamps(), render_mode="ansi")


@pytest.mark.parametrize("wrong", [{"render_mode": "ansi"}, {"global_state": "mean"}])
def test_what_is_shown_is_checked_before_anything_is_compiled(monkeypatch, wrong):
    monkeypatch.setattr(episode, "make_engine", lambda *_: pytest.fail("an engine was made"))
    with pytest.raises(ValueError, match="must be one of"):
        SeerParallelEnv(Lamps(), **wrong)


def test_render_without_a_mode_says_so():
    env = make_env(Lamps())
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


def test_metadata_names_the_world_and_what_wrappers_ask_for():
    env = make_env(Lamps())
    assert env.metadata["name"] == str(env) == "lamps"
    assert env.metadata["is_parallelizable"] is True
    assert env.metadata["render_fps"] > 0
    assert env.metadata["render_modes"] == ["human", "rgb_array"]
    assert make_env(Ring()).metadata["render_modes"] == []
    assert env.unwrapped is env
    assert isinstance(env, pettingzoo.ParallelEnv)


def test_close_may_be_repeated_and_a_closed_env_says_so():
    env = make_env()
    env.reset(seed=0)
    env.close()
    env.close()
    assert env.agents == []
    with pytest.raises(SeerError, match="closed"):
        env.reset()


def test_the_random_policy_is_legal_and_repeats_with_the_seed():
    env = make_env(strict_actions=True)
    env.reset(seed=0)
    first = env.policies["random"](env)
    env.step_arrays(first)
    env.reset(seed=0)
    assert (env.policies["random"](env) == first).all()


def test_policies_of_the_model_are_the_envs():
    class Steered(Ring):
        policies = {"still": lambda env: np.zeros((len(env.possible_agents), 2))}  # noqa: RUF012

    env = make_env(Steered())
    env.reset(seed=0)
    assert sorted(env.policies) == ["random", "still"]
    env.step_arrays(env.policies["still"](env))


@with_both_worlds
def test_nothing_warns_in_an_episode(world):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = make_env(world(), max_cycles=10)
        env.reset(seed=0)
        while env.agents:
            env.step(sampled(env))
