"""The loop yardstick: its neighbours are those of a search over all pairs, its builds agree."""

from __future__ import annotations

import numpy as np
import pytest

from seer_env.bench.flock_loop import FlockLoop
from seer_env.envs.flock_v0 import Flock

N = 60
SIDE = Flock(N).params["side"]


def flock(seed: int = 0) -> np.ndarray:
    state, rng = np.zeros(N, Flock.entity), np.random.default_rng(seed)
    Flock(N).reset(state, None, rng)
    return state


def stepped(parallel: bool = False, steps: int = 5) -> FlockLoop:
    loop, rng = FlockLoop(flock(), SIDE, parallel), np.random.default_rng(1)
    for _ in range(steps):
        loop.step(rng.uniform(-1, 1, (N, 2)).astype(np.float32))
    return loop


def all_pairs(loop: FlockLoop) -> tuple[np.ndarray, np.ndarray]:
    """Observations and rewards by a search over all pairs."""
    positions, velocities = loop._positions, loop._velocities
    away = positions[None] - positions[:, None]
    away -= SIDE * np.round(away / SIDE)
    squares = (away**2).sum(-1)
    np.fill_diagonal(squares, np.inf)
    observations = np.zeros((N, 18))
    observations[:, :2] = velocities
    for i in range(N):
        for place, j in enumerate(np.argsort(squares[i])[:4]):
            if squares[i, j] < 1.0:
                at = 2 + 4 * place
                observations[i, at : at + 2] = away[i, j]
                observations[i, at + 2 : at + 4] = velocities[j] - velocities[i]
    rewards = 0.1 * (squares < 1.0).sum(1) - (squares.min(1) < 0.04)
    return observations, rewards


def test_observations_are_those_of_a_search_over_all_pairs():
    loop = stepped()
    np.testing.assert_allclose(loop.observations, all_pairs(loop)[0], atol=1e-6)


def test_rewards_are_those_of_a_search_over_all_pairs():
    loop = stepped()
    np.testing.assert_allclose(loop.rewards, all_pairs(loop)[1], atol=1e-6)


def test_the_parallel_build_gives_the_same_bytes():
    serial, parallel = stepped(False), stepped(True)
    assert serial.observations.tobytes() == parallel.observations.tobytes()
    assert serial.rewards.tobytes() == parallel.rewards.tobytes()


def test_positions_stay_on_the_torus():
    loop = stepped(steps=200)
    assert (loop._positions >= 0.0).all()
    assert (loop._positions < SIDE).all()


def test_a_position_that_rounds_up_to_the_edge_wraps_to_zero():
    state = flock()
    state["x"], state["vx"] = 0.0, -1e-300
    loop = FlockLoop(state, SIDE)
    loop.step(np.zeros((N, 2), np.float32))
    assert (loop._positions[:, 0] == 0.0).all()


def test_actions_are_clipped():
    wild, tame = FlockLoop(flock(), SIDE), FlockLoop(flock(), SIDE)
    wild.step(np.full((N, 2), 9.0, np.float32))
    tame.step(np.full((N, 2), 1.0, np.float32))
    assert wild.observations.tobytes() == tame.observations.tobytes()


def test_a_torus_too_small_for_the_cells_is_refused():
    with pytest.raises(ValueError, match="at least 3 cells"):
        FlockLoop(flock(), 2.5)
