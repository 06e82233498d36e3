"""PHOLD keeps its population and obeys the contract."""

from __future__ import annotations

import numpy as np
import pytest

from seer_env.envs.phold import Phold
from seer_env.runtime.engine import initial_boundary, make_engine


def stepped(model, steps=3):
    engine = make_engine(model, "python")
    engine.reset(0)
    executed = 0
    for _ in range(steps):
        engine.step(np.zeros((0, model.action_size)), np.zeros(0, bool))
        executed += engine.stats.events
    return engine, executed


def test_the_population_of_events_is_constant():
    engine, _ = stepped(Phold(n=20, population=3))
    assert len(engine.capture().pending) == 60


def test_every_event_is_counted_once():
    engine, executed = stepped(Phold(n=20))
    assert engine.state["count"].sum() == executed


def test_first_events_are_a_thousandth_apart():
    pending = initial_boundary(Phold(n=5, population=3), 0).pending
    np.testing.assert_array_equal(np.unique(pending["time"]), [0.0, 0.001, 0.002])


def test_events_come_at_the_rate_of_the_mean_delay():
    _, executed = stepped(Phold(n=200, lookahead=0.5, mean=1.5, dt=20.0))
    assert executed == pytest.approx(200 * 60 / 2.0, rel=0.05)


def test_without_remote_nobody_hears_of_others():
    engine, _ = stepped(Phold(n=10, remote=0.0))
    pending = engine.capture().pending
    np.testing.assert_array_equal(np.sort(pending["target"]), np.arange(10))


def test_work_changes_the_state_and_not_the_order():
    light, heavy = stepped(Phold(n=10, work=0))[0], stepped(Phold(n=10, work=3))[0]
    np.testing.assert_array_equal(light.state["count"], heavy.state["count"])
    assert (light.state["acc"] != heavy.state["acc"]).all()
