"""The README's Python blocks run as they stand, in one namespace, from top to bottom."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from seer_env.registration import registry

README = Path(__file__).parents[2] / "README.md"


@pytest.fixture(scope="module")
def scope():
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.M | re.S)
    assert len(blocks) >= 3
    names: dict = {"__name__": "readme"}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    return names


def test_the_episode_of_the_first_block_is_cut_off_by_max_cycles(scope):
    assert scope["truncations"]
    assert all(scope["truncations"].values())


def test_the_array_step_has_a_row_per_agent(scope):
    assert scope["terminated"].shape == scope["live"].shape == (400,)


def test_every_world_is_there():
    text = README.read_text(encoding="utf-8")
    for name in registry:
        assert f"[`{name}`](" in text


def test_copies_end_and_are_reset_one_by_one(scope):
    assert scope["copies"].steps.tolist() == [20] * 8
    assert scope["step"].observations.shape[:2] == (8, 500)


def test_the_rumour_travels_one_hop_in_half_a_time_unit_at_the_earliest(scope):
    env = scope["env"]
    env.reset_arrays(seed=1)
    for _ in range(4):
        env.step_arrays(np.ones(1000))
    heard = env.entities["heard"]
    assert heard[0] == 1
    assert 1 <= np.count_nonzero(heard) <= 8
    assert not heard[8:].any()


def test_worlds_of_the_vector_env_are_reset_in_the_step_behind_their_last(scope):
    assert scope["envs"].worlds.steps.tolist() == [18] * 8  # 40 steps, a reset, 40 steps, a reset, 18 steps
    assert scope["rows"].shape == (4000, 18)
    assert scope["infos"]["live"].all()


def test_one_agent_is_the_readers(scope):
    assert scope["mine"].world.steps == 1
    assert scope["observation"] in scope["mine"].observation_space
