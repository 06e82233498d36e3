"""Every variant of the world, every scheduler and thread count: the oracle's bytes at every boundary."""

from __future__ import annotations

import numpy as np
import pytest
from runtime_worlds import share_everything

from seer_env.envs.pcs.model import Pcs
from seer_env.runtime.engine import make_engine

CELLS, STEPS = 36, 6
DENSE = {"channels": 10, "interarrival": 5.0, "recheck": 15.0, "complexity": 3}
# On a ring everybody neighbours the next two on either side.
NEAR = (np.arange(CELLS)[:, None] + (-2, -1, 1, 2)) % CELLS
RING = (np.arange(CELLS + 1) * 4, NEAR.ravel())
VARIANTS = {
    "hexagonal": {},
    "square": {"topology": "square"},
    "borders": {"wrap": False},
    "graph": {"topology": RING},
    "discrete": {"discrete": True},
    "no mobility": {"mobility": False},
    "no fading": {"fading": False},
    "no communication": {"communication": False},
    "nothing crosses": {"communication": False, "mobility": False},
    "standing hot spot": {"tour": 0.0, "skew": 4.0},
    "moving hot spot": {"tour": 60.0, "load_interval": 7.0, "skew": 4.0, "hotspot": 0.3},
    "diurnal": {"diurnal": True, "day": 120.0, "load_interval": 3.0},
    "no delay": {"link_delay": 0.0},
    "empty": {"warm": False},
}


def digests(variant, scheduler, threads=1):
    """The digest of every boundary, and how many rounds were shared."""
    model = Pcs(CELLS, **{**DENSE, **VARIANTS[variant]})
    engine = make_engine(model, scheduler, threads)
    engine.reset(7)
    if threads > 1:
        share_everything(engine)
    rng, seen, shared = np.random.default_rng(7), [engine.digest()], 0
    for _ in range(STEPS):
        if model.discrete:
            actions = rng.integers(0, model.action_space.nvec, (CELLS, 3)).astype(float)
        else:
            actions = rng.uniform(-1.0, 1.0, (CELLS, 3))
        engine.step(actions, np.ones(CELLS, bool))
        shared += engine.stats.shared_rounds
        seen.append(engine.digest())
    return seen, shared


@pytest.fixture(scope="module", params=VARIANTS)
def oracle(request):
    return request.param, digests(request.param, "python")[0]


@pytest.mark.parametrize("scheduler", ["serial", "heap"])
def test_one_thread_gives_the_oracles_bytes(oracle, scheduler):
    variant, expected = oracle
    assert digests(variant, scheduler)[0] == expected


@pytest.mark.parametrize("threads", [1, 2, 3, 4, 8])
def test_seer_gives_the_oracles_bytes(oracle, threads):
    variant, expected = oracle
    found, shared = digests(variant, "seer", threads)
    assert found == expected
    assert shared > 0 or threads == 1
