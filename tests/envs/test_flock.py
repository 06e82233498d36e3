"""The tutorial world: its rules, by hand-computed flocks of two, and its length."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from seer_env.envs import flock_v0
from seer_env.envs.flock_v0 import DT, Flock, wrapped
from seer_env.runtime.engine import make_engine

N = 32  # a torus of side 4
SIDE = 4.0


class Placed(Flock):
    """A flock whose first two agents stand where a test wants them, the others far from these."""

    def __init__(self, *rows):
        super().__init__(N)
        self.rows = rows

    def reset(self, state, schedule, rng):
        state["x"], state["y"] = 2.0, 2.0
        for i, row in enumerate(self.rows):
            state[i] = row


def shown(*rows, actions=None):
    """Outputs after a step of `Placed(*rows)`, without or with actions."""
    engine = make_engine(Placed(*rows), "python")
    engine.reset(0)
    block = np.zeros((N, 2))
    if actions is not None:
        block[: len(actions)] = actions
    return engine.step(block, np.ones(N, bool))


def test_the_torus_holds_two_agents_per_unit_of_area():
    assert Flock(N).params["side"] == SIDE


def test_an_agent_sees_the_other_across_the_seam():
    seen = shown((0.1, 0.5, 0, 0), (3.9, 0.5, 0, 0)).observations[0]
    np.testing.assert_allclose(seen[2:6], [-0.2, 0.0, 0.0, 0.0], atol=1e-6)


def test_an_agent_sees_relative_velocity():
    seen = shown((0.1, 0.5, 0.2, 0), (0.5, 0.5, 0, 0.4)).observations[0]
    np.testing.assert_allclose(seen[4:6], [-0.19, 0.38], atol=1e-6)  # both slowed by 0.95


def test_an_action_accelerates_and_moves():
    outputs = shown((0.0, 0.0, 0.0, 0.0), (0.5, 0.0, 0.0, 0.0), actions=[(1.0, -0.5)])
    np.testing.assert_allclose(outputs.observations[0][:2], [DT, -0.5 * DT], atol=1e-6)
    np.testing.assert_allclose(outputs.observations[0][2:4], [0.5 - DT * DT, 0.5 * DT * DT], atol=1e-6)


def test_places_without_a_neighbour_are_zero():
    seen = shown((0.1, 0.5, 0, 0), (0.5, 0.5, 0, 0)).observations[0]
    assert (seen[6:] == 0.0).all()


def test_an_agent_alone_has_an_infinitely_far_nearest():
    info = shown((0.1, 0.5, 0, 0)).info[0]
    assert (info["neighbours"], info["nearest"]) == (0, math.inf)


@pytest.mark.parametrize(
    ("gap", "reward"), [(0.5, 0.1), (0.19, -0.9), (1.01, 0.0)], ids=["in sight", "collision", "out of sight"]
)
def test_reward_counts_who_is_in_sight_and_punishes_a_collision(gap, reward):
    assert shown((0.1, 0.5, 0, 0), (0.1 + gap, 0.5, 0, 0)).rewards[0] == pytest.approx(reward)


def test_the_fastest_flock_stays_in_the_observation_space():
    towards = np.where(np.arange(N) % 2, 1.0, -1.0)[:, None] * np.ones(2)
    engine = make_engine(Flock(N), "python")
    engine.reset(0)
    seen = [engine.step(towards, np.ones(N, bool)).observations for _ in range(200)]
    assert engine.state["vx"].max() == pytest.approx(2.0, abs=1e-3)  # DT / (1 - 0.95), never more
    assert all(Flock.observation_space.contains(row) for block in seen for row in block)


def test_positions_stay_on_the_torus():
    engine, rng = make_engine(Flock(N), "python"), np.random.default_rng(0)
    engine.reset(0)
    for _ in range(50):
        engine.step(rng.uniform(-1, 1, (N, 2)), np.ones(N, bool))
    for axis in "xy":
        assert (engine.state[axis] >= 0.0).all()
        assert (engine.state[axis] < SIDE).all()


@pytest.mark.parametrize(
    ("p", "on_torus"), [(-0.5, 3.5), (0.0, 0.0), (3.9, 3.9), (4.0, 0.0), (4.5, 0.5), (-1e-300, 0.0)]
)
def test_wrapped_is_in_the_half_open_range(p, on_torus):
    assert wrapped(p, SIDE) == on_torus


def test_the_tutorial_world_is_under_60_lines():
    assert len(Path(flock_v0.__file__).read_text(encoding="utf-8").splitlines()) < 60
