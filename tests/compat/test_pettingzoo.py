"""PettingZoo: contract tests through its wrappers and conversions, its registry, `RecordVideoParallel`."""

from __future__ import annotations

import importlib.util

import numpy as np
import pettingzoo
import pytest
from pettingzoo.test import api_test, parallel_api_test
from pettingzoo.utils import (
    AssertOutOfBoundsWrapper,
    BaseParallelWrapper,
    BaseWrapper,
    CaptureStdoutWrapper,
    ClipOutOfBoundsWrapper,
    OrderEnforcingWrapper,
    TerminateIllegalWrapper,
    aec_to_parallel,
    average_total_reward,
    parallel_to_aec,
)
from pettingzoo.utils.conversions import aec_to_parallel_wrapper
from pettingzoo.utils.wrappers import MultiEpisodeEnv, MultiEpisodeParallelEnv, RecordVideoParallel
from window_backend import using

import seer_env

WORLDS = {
    "flock_v0": {"n_agents": 6},
    "battle_v0": {"n_agents": 8, "max_hp": 2.0},  # one hit kills; infos have action masks
    "pcs_v0": {"n_agents": 16},  # as in other tests: another number of neighbours is compiled anew
}


@pytest.fixture(params=sorted(WORLDS))
def world(request):
    return request.param


def parallel_env(world="flock_v0", **arguments):
    return seer_env.make(world, **{"threads": 1, "max_cycles": 10, **WORLDS[world], **arguments})


def aec_env(world="flock_v0", **arguments):
    return parallel_to_aec(parallel_env(world, **arguments))


def boundaries(env, world, steps=12):
    """What `env` shows of the steps of one episode whose actions are drawn from seed 0."""
    draw = parallel_env(world).action_space(env.possible_agents[0])
    draw.seed(0)
    shown = [env.reset(seed=5)]
    for _ in range(steps):
        if env.agents:
            shown.append(env.step({agent: draw.sample() for agent in env.agents}))
    return shown


# -- parallel ---------------------------------------------------------------------------------------


class Plain(BaseParallelWrapper):
    """Adds nothing."""


def test_passes_parallel_api_test_through_a_wrapper(world):
    parallel_api_test(Plain(parallel_env(world)), num_cycles=30)


def test_a_wrapper_shows_what_the_env_shows(world):
    np.testing.assert_equal(
        boundaries(Plain(parallel_env(world)), world), boundaries(parallel_env(world), world)
    )


def test_a_wrapper_passes_on_state_and_facts(world):
    env = parallel_env(world)
    wrapped = Plain(env)
    wrapped.reset(seed=1)
    assert wrapped.unwrapped is env
    assert wrapped.metadata == env.metadata
    assert wrapped.state_space.contains(wrapped.state())
    assert wrapped.possible_agents == wrapped.agents == env.agents


def test_several_episodes_become_one(world):
    env = MultiEpisodeParallelEnv(parallel_env(world, max_cycles=4), num_episodes=3)
    env.reset(seed=3)
    steps = 0
    while env.agents:
        env.step({agent: env.action_space(agent).sample() for agent in env.agents})
        steps += 1
    assert steps == 12


# -- agents in turn ---------------------------------------------------------------------------------

WRAPPERS = {
    "base": BaseWrapper,
    "bounds asserted": AssertOutOfBoundsWrapper,
    "order enforced": OrderEnforcingWrapper,
    "several episodes": lambda env: MultiEpisodeEnv(env, num_episodes=2),
}


@pytest.mark.parametrize("wrapper", sorted(WRAPPERS))
def test_passes_api_test_through_each_wrapper(world, wrapper):
    api_test(WRAPPERS[wrapper](aec_env(world, max_cycles=20)), num_cycles=20)


def test_passes_api_test_through_capture_stdout():
    with using("module://window_backend"):  # the wrapper takes only an env that draws for humans
        api_test(CaptureStdoutWrapper(aec_env("battle_v0", render_mode="human")), num_cycles=20)


def test_passes_api_test_through_clip_out_of_bounds():
    api_test(ClipOutOfBoundsWrapper(aec_env("flock_v0", max_cycles=20)), num_cycles=20)


def test_passes_api_test_through_terminate_illegal():
    # Its punishment cannot be tested: in 1.27 it writes into `unwrapped`, which behind `parallel_to_aec`
    # is the parallel env. The test's actions are legal.
    api_test(TerminateIllegalWrapper(aec_env("battle_v0", max_cycles=20), illegal_reward=-1.0), num_cycles=20)


def test_going_through_aec_and_back_shows_what_the_env_shows(world):
    # The conversion gives back the env itself unless a wrapper stands in between.
    there_and_back = aec_to_parallel(BaseWrapper(aec_env(world)))
    assert isinstance(there_and_back, aec_to_parallel_wrapper)
    np.testing.assert_equal(boundaries(there_and_back, world), boundaries(parallel_env(world), world))


def test_average_total_reward_plays_random_episodes():
    assert np.isfinite(average_total_reward(aec_env(), max_episodes=2))


# -- registry and video -----------------------------------------------------------------------------


def test_the_registry_makes_every_world_in_both_forms(world):
    arguments = {"threads": 1, **WORLDS[world]}
    parallel_api_test(pettingzoo.make("parallel", f"seer_env/{world}", **arguments), num_cycles=10)
    api_test(pettingzoo.make("aec", f"seer_env/{world}", **arguments), num_cycles=10)


@pytest.mark.skipif(importlib.util.find_spec("moviepy") is None, reason="RecordVideoParallel needs moviepy")
def test_record_video_parallel_writes_a_frame_per_boundary(tmp_path):
    from moviepy import VideoFileClip

    env = RecordVideoParallel(parallel_env("battle_v0", render_mode="rgb_array"), str(tmp_path / "videos"))
    env.reset(seed=0)
    steps = 0
    while env.agents:
        env.step({agent: env.action_space(agent).sample() for agent in env.agents})
        steps += 1
    assert len(env.recorded_frames) == steps + 1
    height, width, _ = env.recorded_frames[0].shape
    env.close()
    with VideoFileClip(str(tmp_path / "videos" / "rl-video-episode-0.mp4")) as clip:
        assert (clip.fps, *clip.size) == (env.metadata["render_fps"], width, height)
        # moviepy 2.2 rounds, and then leaves out the last frame of some lengths
        assert round(clip.duration * clip.fps) in (steps, steps + 1)
