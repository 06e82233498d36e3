"""One result, whatever executes it: schedulers, threads, processes, hash seeds, changes in mid-episode."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from runtime_worlds import RippleKind, Ripples, nobody, share_everything

from seer_env.envs.phold import Phold
from seer_env.runtime.engine import make_engine

ALL = [
    ("python", 1),
    ("serial", 1),
    ("heap", 1),
    *(
        (scheduler, threads)
        for scheduler in ("seer", "ross-t", "nbse", "root-sim")
        for threads in (1, 2, 3, 4, 8)
    ),
    *(("ross-t:round-robin", threads) for threads in (2, 3)),
]
COMPILED = ALL[1:]

WORLDS = {
    "phold, no lookahead": lambda: Phold(n=300, population=2, lookahead=0.0, dt=1.0),
    "phold, lookahead 0.01": lambda: Phold(n=1500, lookahead=0.01, dt=1.0),
    "phold, lookahead 0.5": lambda: Phold(n=1500, population=2, lookahead=0.5, dt=2.0),
    "one entity": lambda: Phold(n=1, population=5, dt=3.0),
    "two entities": lambda: Phold(n=2, population=3, dt=3.0),
    "a block and one": lambda: Phold(n=65, lookahead=0.5, dt=3.0),
    "ties": lambda: Ripples(n=600),
    "ties of a few": lambda: Ripples(n=5, depth=5),
    "a lookahead lost in rounding": lambda: Ripples(n=300, delay=0.5, scale=2.0**60),
    "a lookahead of one unit in the last place": lambda: Ripples(n=100, delay=512.0, scale=2.0**61),
}


def played(engine, steps):
    """Digests of the boundaries that `steps` steps reach."""
    digests = []
    for _ in range(steps):
        engine.step(*nobody(engine.model))
        digests.append(engine.digest())
    return digests


def fresh(world, scheduler, threads):
    engine = make_engine(WORLDS[world](), scheduler, threads)
    engine.reset(seed=12)
    return engine


@pytest.fixture(scope="module")
def oracle():
    """Digests of three steps of each world under `python`."""
    return {world: played(fresh(world, "python", 1), 3) for world in WORLDS}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize(("scheduler", "threads"), COMPILED)
def test_every_scheduler_and_thread_count_gives_the_oracles_bytes(oracle, world, scheduler, threads):
    assert played(fresh(world, scheduler, threads), 3) == oracle[world]


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("threads", [2, 3, 8])
@pytest.mark.parametrize("scheduler", ["seer", "ross-t", "ross-t:round-robin", "nbse"])
def test_the_oracles_bytes_where_every_phase_is_shared(oracle, world, scheduler, threads):
    engine = share_everything(fresh(world, scheduler, threads))
    assert played(engine, 3) == oracle[world]
    # A round of one entity is nobody's to share under `seer`.
    assert engine.stats.shared_rounds > 0 or world in ("phold, no lookahead", "one entity", "two entities")


@pytest.mark.parametrize("world", ["phold, lookahead 0.5", "ties"])
def test_these_worlds_are_shared_among_threads(world):
    engine = fresh(world, "seer", 2)
    engine._memory.control["clearly_ns"] = -1.0  # not by experience
    played(engine, 1)
    assert engine.stats.shared_rounds > 0


@pytest.mark.parametrize("world", ["phold, lookahead 0.5", "ties", "a lookahead lost in rounding"])
def test_an_episode_may_change_its_scheduler_at_every_boundary(oracle, world):
    engines = [fresh(world, *each) for each in ALL]
    boundary, outputs = engines[0].capture(), engines[0].outputs
    for step in range(3):
        for engine in engines[step:] + engines[:step]:
            engine.restore(boundary, outputs)
            assert played(engine, 1) == oracle[world][step : step + 1]
        boundary, outputs = engine.capture(), engine.outputs


def test_a_boundary_taken_is_not_changed_by_what_follows():
    for scheduler, threads in (("python", 1), ("serial", 1), ("seer", 2)):
        engine = fresh("ties", scheduler, threads)
        boundary = engine.capture()
        kept = boundary.copy()
        played(engine, 2)
        assert boundary.first_difference(kept) is None
        engine.restore(boundary, engine.outputs)
        played(engine, 2)
        assert boundary.first_difference(kept) is None


@pytest.mark.parametrize(("scheduler", "threads"), [("python", 1), ("serial", 1), ("seer", 2)])
def test_an_event_exactly_on_the_boundary_belongs_to_the_next_step(scheduler, threads):
    engine = fresh("ties", scheduler, threads)  # pulses at 0, 1, 2, ...; a step is 1 long
    for steps in (1, 2, 3):
        played(engine, 1)
        assert (engine.state["pulses"] == steps).all()
        pending = engine.capture().pending
        assert (pending["time"] == float(steps)).all()
        assert (pending["kind"] == RippleKind.PULSE).all()


def test_ripples_take_no_time():
    """The tie world is what it claims: 1 + 2 + 4 + 8 ripples per pulse, all at the pulse's instant."""
    engine = fresh("ties", "serial", 1)
    played(engine, 1)
    assert engine.state["heard"].sum() == 600 * 15


def test_threads_may_outnumber_entities():
    assert played(fresh("two entities", "seer", 8), 1) == played(fresh("two entities", "python", 1), 1)


_SCRIPT = """
import sys
from test_identity import WORLDS, fresh, played
for world in WORLDS:
    print(world, *played(fresh(world, "seer", 2), 3), sep="|")
"""


@pytest.mark.parametrize("hash_seed", ["0", "4242"])
def test_every_process_and_hash_seed_gives_the_oracles_bytes(oracle, hash_seed):
    here = Path(__file__).parent
    path = os.pathsep.join([str(here), str(here.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = {line.split("|")[0]: line.split("|")[1:] for line in done.stdout.splitlines()}
    assert found == oracle


def test_another_seed_is_another_episode():
    engine = fresh("ties", "serial", 1)
    first = played(engine, 1)
    engine.reset(seed=13)
    assert played(engine, 1) != first
    engine.reset(seed=12)
    assert played(engine, 1) == first


def test_steps_do_not_depend_on_the_state_of_numpys_global_generator():
    engine = fresh("ties", "serial", 1)
    expected = played(engine, 2)
    np.random.seed(99)  # noqa: NPY002 - the generator that handlers must not use
    again = fresh("ties", "serial", 1)
    assert played(again, 2) == expected
