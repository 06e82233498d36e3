"""Rehearsed steps: where they begin, and when they begin again."""

from __future__ import annotations

import numpy as np
import pytest
from stpa.stages import AGENTS, StageEngine
from worlds import Lamps

import seer_env
from seer_env.actions import ActionReader
from seer_env.runtime.engine import Outputs
from seer_env.stpa.rehearsal import LIVING, Rehearsal


class FatalEngine(StageEngine):
    """Every rehearsed step ends as many of the live agents as it is told to."""

    def __init__(self, fatal: int):
        super().__init__({1: 1e-3})
        self.fatal, self.ahead, self.living = fatal, [], []

    def rehearse(self, ahead: int, actions: np.ndarray, live: np.ndarray) -> Outputs:
        self.ahead.append(ahead)
        self.living.append(int(live.sum()))
        outputs = super().rehearse(ahead, actions, live)
        terminated = np.zeros(AGENTS, bool)
        terminated[np.flatnonzero(live)[: self.fatal]] = True
        return outputs._replace(terminated=terminated)


def rehearse(engine: FatalEngine, steps: int, live: np.ndarray) -> None:
    rehearsal = Rehearsal(engine, ActionReader(Lamps(AGENTS)), live, None)  # type: ignore[arg-type]  # it acts like one
    for _ in range(steps):
        rehearsal.step(1)


@pytest.mark.parametrize("living", [AGENTS, AGENTS // 2])
def test_an_episode_that_has_lost_many_agents_is_begun_again(living):
    engine = FatalEngine(fatal=living // 5)
    rehearse(engine, 6, np.arange(AGENTS) < living)
    assert engine.ahead == [0, 1, 0, 1, 0, 1]
    assert min(engine.living) >= LIVING * living


def test_an_episode_that_loses_nobody_goes_on():
    engine = FatalEngine(fatal=0)
    rehearse(engine, 50, np.ones(AGENTS, bool))
    assert engine.ahead == list(range(50))


def test_a_world_whose_agents_leave_is_not_taken_for_one_with_short_steps():
    """Aircraft under random actions are gone after some hundred steps; a preflight has time for more."""
    env = seer_env.make("aircraft_v0", n_agents=40, complexity=20)
    env.forget_threads()
    env.reset(seed=0)
    preflight = env.stpa_report.decisions[0]
    env.close()
    assert "too short to share" not in preflight.reason
