"""Facts about the world, and that every scheduler gives the same bytes."""

import numpy as np
import pytest
from template_world import TemplateWorld

import seer_env


def play(scheduler="python", threads=1, steps=10):
    """The env after some steps of random actions."""
    env = seer_env.make(TemplateWorld(20), scheduler=scheduler, threads=threads)
    env.reset_arrays(seed=1)
    for _ in range(steps):
        env.step_arrays(env.policies["random"](env))
    return env


@pytest.mark.parametrize(("scheduler", "threads"), [("serial", 1), ("seer", 2)])
def test_every_scheduler_gives_the_same_bytes(scheduler, threads):
    assert play(scheduler, threads).digest() == play("python").digest()


def test_no_token_is_made_or_lost():
    assert play().entities["tokens"].sum() == 20


def test_a_token_that_is_passed_on_arrives_in_the_same_step():
    env = seer_env.make(TemplateWorld(3), scheduler="python")
    env.reset_arrays(seed=1)
    step = env.step_arrays(np.array([1, 0, 0]))
    assert env.entities["tokens"].tolist() == [0, 2, 1]
    assert step.rewards.tolist() == [0.0, 1.0, 1.0]


def test_a_picture_has_a_square_per_agent():
    env = seer_env.make(TemplateWorld(4), scheduler="python", render_mode="rgb_array")
    env.reset_arrays(seed=1)
    assert env.render().shape == (24, 24, 3)
    assert (env.render() == 80).all()  # a token each


def test_the_world_is_registered():
    assert len(seer_env.make("template_world_v0", n_agents=7).possible_agents) == 7
