"""The systems that the paper compares with, on worlds with actions, grids and long windows."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces
from programs import run
from runtime_worlds import Faulty, nobody, orders, share_everything
from worlds import Lamps, Ring

from seer_env.copies import Copies
from seer_env.envs.aircraft.model import Aircraft
from seer_env.envs.flock_v0 import Flock
from seer_env.envs.phold import Phold
from seer_env.runtime.engine import make_engine

COMPETING = ["ross-t", "ross-t:round-robin", "nbse", "root-sim"]
WORLDS = {
    "flock": lambda: Flock(80),
    "aircraft": lambda: Aircraft(30),
    "ring": lambda: Ring(70, 20),
    "lamps": lambda: Lamps(70),
}


def acted(engine, steps=3, seed=4):
    """Digests after steps with the same random actions, of which some agents take none."""
    engine.reset(seed)
    model, rng, digests = engine.model, np.random.default_rng(seed), []
    for _ in range(steps):
        shape = (model.n_agents, model.action_size)
        discrete = isinstance(model.action_space, spaces.Discrete)
        actions = rng.integers(0, 5, shape) if discrete else rng.uniform(-1.0, 1.0, shape)
        engine.step(actions.astype(np.float64), rng.random(model.n_agents) < 0.9)
        digests.append(engine.digest())
    return digests


@pytest.fixture(scope="module")
def serial():
    """The digests of each world under `serial`."""
    return {world: acted(make_engine(WORLDS[world](), "serial")) for world in WORLDS}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("threads", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("scheduler", COMPETING)
def test_worlds_with_agents_give_the_same_bytes(serial, world, scheduler, threads):
    assert acted(make_engine(WORLDS[world](), scheduler, threads)) == serial[world]


@pytest.mark.parametrize("world", WORLDS)
def test_so_does_the_heap(serial, world):
    assert acted(make_engine(WORLDS[world](), "heap")) == serial[world]


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("threads", [2, 3, 8])
@pytest.mark.parametrize("scheduler", COMPETING)
def test_they_do_where_every_phase_is_shared(serial, world, scheduler, threads):
    assert acted(share_everything(make_engine(WORLDS[world](), scheduler, threads))) == serial[world]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("scheduler", COMPETING)
def test_a_window_that_is_cut_short_is_finished_in_later_ones(scheduler, threads):
    """Times do not depend on `work`: without a cut, long windows would be as many as short ones."""
    light, heavy = (
        make_engine(Phold(400, work=work, lookahead=0.5, dt=0.75), name, count)
        for work, name, count in ((0, "serial", 1), (200_000, scheduler, threads))
    )
    same = make_engine(Phold(400, work=200_000, lookahead=0.5, dt=0.75), "serial")
    for engine in (light, heavy, same):
        engine.reset(3)
        engine.step(*nobody(engine.model))
    assert heavy.stats.rounds > light.stats.rounds
    assert heavy.stats.events == light.stats.events
    assert heavy.digest() == same.digest()


@pytest.mark.parametrize("threads", [1, 2])
def test_the_calendar_follows_the_density_of_events_and_keeps_the_far_ones(threads):
    """PHOLD begins with all events at almost one time: a year made for that is 100 times too short."""
    engine, same = (
        make_engine(Phold(500, population=8, dt=6.0), *each) for each in (("nbse", threads), ("serial", 1))
    )
    for each in (engine, same):
        each.reset(3)
        each.step(*nobody(each.model))
    calendar = engine._memory.calendar[0]
    assert 2000 < calendar["density"] < 8000  # 4000 events with a mean delay of 1
    assert engine.digest() == same.digest()


@pytest.mark.parametrize(
    ("scheduler", "homes"), [("ross-t", [0, 0, 0, 1, 1, 2, 2]), (COMPETING[1], [0, 1, 2] * 2)]
)
def test_entities_are_bound_in_blocks_or_in_turn(scheduler, homes):
    engine = make_engine(Phold(len(homes)), scheduler, 3)
    engine.reset(1)
    engine.step(*nobody(engine.model))
    assert engine._memory.home.tolist() == homes


@pytest.mark.parametrize("scheduler", [*COMPETING, "heap"])
def test_a_breach_in_a_shared_window_leaves_queues_that_are_built_anew(scheduler):
    engine, twin = (make_engine(Faulty(64), name, 2) for name in (scheduler, "seer"))
    share_everything(engine)
    live = np.ones(64, bool)
    for each in (engine, twin):
        each.reset(8)
        each.step(orders(each.model), live)
        with pytest.raises(ValueError, match="a handler's own"):
            each.step(orders(each.model, (40, 11, 1.5)), live)
        each.step(orders(each.model), live)
    assert engine.digest() == twin.digest()


FEWER = """
import sys
from programs import *
from runtime_worlds import share_everything
digests = []
for scheduler in sys.argv[1:]:
    engine = share_everything(phold(scheduler, 8))
    digests.append(stepped(engine))
    assert engine.stats.shared_rounds > 0
print(json.dumps(digests))
"""


@pytest.mark.parametrize("layer", ["omp", "workqueue"])
@pytest.mark.parametrize("settings", [{"NUMBA_NUM_THREADS": "1"}, {"OMP_THREAD_LIMIT": "2"}])
def test_layers_that_deliver_fewer_threads_than_asked_for(layer, settings):
    from programs import phold_digest

    digests = run(FEWER, arguments=tuple(COMPETING), NUMBA_THREADING_LAYER=layer, **settings)
    assert digests == [phold_digest("serial", 1)] * len(COMPETING)


@pytest.mark.parametrize("scheduler", ["heap", "nbse"])
def test_copies_have_schedulers_of_their_own(scheduler):
    with pytest.raises(ValueError, match=f"for copies, got '{scheduler}'"):
        Copies(Lamps(3), 2, scheduler=scheduler, threads=1)
