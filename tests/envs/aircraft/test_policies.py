"""Modified Voltage Potential by hand, and what the baselines achieve."""

from types import SimpleNamespace

import numpy as np
import pytest

from seer_env.envs.aircraft.model import Aircraft
from seer_env.envs.aircraft.policies import POLICIES, resolution
from seer_env.envs.aircraft.traffic import close_pairs
from seer_env.runtime.engine import make_engine

RADIUS, HEIGHT, HORIZON = 9260.0, 304.8, 300.0
HEARD = np.array([True])


def resolve(r, w):
    return resolution(np.array([r], float), np.array([w], float), HEARD, RADIUS, HEIGHT, HORIZON)[0]


def test_offset_head_on_by_hand():
    # r = (50, 3) km, w = (-500, 0): t = 100 s, c = (0, 3 km), |r| = 50.0899 km
    # e = cos(asin(9.26 / 50.0899) - asin(3 / 50.0899)) = cos(0.18594 - 0.05993) = 0.99207
    distance = np.hypot(50_000, 3_000)
    spread = np.cos(np.arcsin(RADIUS / distance) - np.arcsin(3_000 / distance))
    expected = (RADIUS / spread - 3_000) / 100
    assert expected == pytest.approx((9260 / 0.99207 - 3000) / 100, abs=0.01)
    change = resolve((50_000, 3_000, 0), (-500, 0, 0))
    assert change[:2] == pytest.approx([0.0, expected])  # taken off my velocity: away from the neighbour


def test_exact_head_on_turns_aside_by_the_rule():
    # d = 0: c = 10 (r_y, -r_x) / |r| = (0, -10)
    change = resolve((50_000, 0, 0), (-500, 0, 0))
    assert change[0] == pytest.approx(0.0)
    assert change[1] < -80


def test_both_turn_away_from_each_other():
    mine, other = resolve((50_000, 3_000, 0), (-500, 0, 0)), resolve((-50_000, -3_000, 0), (500, 0, 0))
    assert mine[:2] == pytest.approx(-other[:2])


def test_vertical_part_is_half_of_what_one_alone_needs():
    # converging vertically at 5 m/s from 600 m below: conflict from 59.04 s on
    change = resolve((0, 1_000, -600), (0, 0, 5))
    t_in = (600 - HEIGHT) / 5
    assert change[2] == pytest.approx(-0.5 * HEIGHT / t_in)  # I climb


@pytest.mark.parametrize("r", [(50_000, 20_000, 0), (-50_000, 0, 0), (200_000, 0, 0), (50_000, 0, 400)])
def test_no_conflict_no_change(r):
    assert (resolve(r, (-500, 0, 0)) == 0).all()


def test_only_what_was_heard_is_resolved():
    r, w = np.array([[50_000.0, 0, 0]]), np.array([[-500.0, 0, 0]])
    assert (resolution(r, w, ~HEARD, RADIUS, HEIGHT, HORIZON) == 0).all()


def losses_of(policy: str, seed: int) -> int:
    """Pairs of the shipped scenario's aircraft that come inside the separation minima at a boundary."""
    model = Aircraft()
    engine = make_engine(model, "serial")
    engine.reset(seed)
    live, seen = np.ones(model.n_agents, bool), set()
    for _ in range(200):
        env = SimpleNamespace(model=model, entities=engine.state)
        outputs = engine.step(POLICIES[policy](env).astype(float), live)
        live &= ~outputs.terminated
        flying = np.flatnonzero(engine.state["active"] == 1)
        xyz = np.stack([engine.state[a][flying] for a in "xyz"], axis=1)
        seen |= set(map(tuple, flying[close_pairs(xyz, RADIUS, HEIGHT)].tolist()))
    return len(seen)


def test_mvp_prevents_nine_of_ten_losses_of_separation():
    flown_by_goal = losses_of("goal", seed=11)
    assert flown_by_goal >= 100
    assert losses_of("mvp", seed=11) <= flown_by_goal / 10


@pytest.mark.parametrize("policy", sorted(POLICIES))
@pytest.mark.parametrize("discrete", [False, True])
def test_actions_are_in_the_action_space(policy, discrete):
    model = Aircraft(5, per_region=5, discrete=discrete)
    engine = make_engine(model, "python")
    engine.reset(0)
    actions = POLICIES[policy](SimpleNamespace(model=model, entities=engine.state))
    assert all(model.action_space.contains(action) for action in actions)
