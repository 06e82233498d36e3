"""Baselines give legal actions, and guard channels do what they are for."""

from types import SimpleNamespace

import numpy as np
import pytest

from seer_env.envs.pcs.model import Pcs
from seer_env.envs.pcs.policies import POLICIES
from seer_env.runtime.engine import make_engine


@pytest.mark.parametrize("policy", sorted(POLICIES))
@pytest.mark.parametrize("discrete", [False, True])
def test_actions_are_in_the_action_space(policy, discrete):
    model = Pcs(6, discrete=discrete)
    engine = make_engine(model, "python")
    engine.reset(0)
    actions = POLICIES[policy](SimpleNamespace(model=model, entities=engine.state))
    assert all(model.action_space.contains(action) for action in actions)


@pytest.mark.parametrize("discrete", [False, True])
@pytest.mark.parametrize("guard", [0, 1, 5, 8])
def test_guard_keeps_the_models_number(guard, discrete):
    model = Pcs(4, discrete=discrete, static_guard=guard)
    engine = make_engine(model, "python")
    engine.reset(0)
    actions = POLICIES["guard"](SimpleNamespace(model=model, entities=engine.state))
    engine.step(actions.astype(float), np.ones(4, bool))
    assert (engine.state["guard"] == guard).all()


def totals(policy):
    """Calls blocked, and dropped at handoffs, in ten minutes of the default world."""
    model = Pcs(400)
    engine = make_engine(model, "serial")
    outputs = engine.reset(1)
    blocked = dropped = 0
    for _ in range(60):
        actions = POLICIES[policy](SimpleNamespace(model=model, entities=engine.state)).astype(float)
        outputs = engine.step(actions, np.ones(400, bool))
        blocked += outputs.info["calls_blocked"].sum()
        dropped += outputs.info["calls_dropped"].sum()
    return blocked, dropped


def test_guard_channels_trade_blocked_calls_for_dropped_ones():
    blocked, dropped = totals("fixed")
    for policy in ("guard", "threshold"):
        more_blocked, fewer_dropped = totals(policy)
        assert more_blocked > blocked
        assert fewer_dropped < dropped / 2
