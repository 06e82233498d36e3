"""The compiled schedulers give the oracle's bytes on this world."""

import numpy as np
import pytest

from seer_env.envs.aircraft.model import Aircraft
from seer_env.runtime.engine import make_engine

AGENTS = 30


@pytest.mark.parametrize("scheduler", ["serial", "heap", "seer"])
@pytest.mark.parametrize("world", [{}, {"communication": False}, {"discrete": True, "complexity": 1}])
def test_compiled_steps_are_the_oracles(scheduler, world):
    model = Aircraft(AGENTS, per_region=AGENTS, **world)
    oracle, compiled = make_engine(model, "python"), make_engine(model, scheduler, threads=2)
    rng, live = np.random.default_rng(0), np.ones(AGENTS, bool)
    for engine in (oracle, compiled):
        engine.reset(1)
    for _ in range(20):
        actions = rng.integers(0, 5, (AGENTS, 3)) if model.discrete else rng.uniform(-1, 1, (AGENTS, 3))
        outputs = oracle.step(actions.astype(float), live)
        compiled.step(actions.astype(float), live)
        assert oracle.capture().first_difference(compiled.capture()) is None
        assert oracle.digest() == compiled.digest()
        live &= ~outputs.terminated
