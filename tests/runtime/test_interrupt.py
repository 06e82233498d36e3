"""Ctrl-C: a step is interrupted within a second, and wherever it strikes the world is as before the step."""

from __future__ import annotations

import contextlib
import itertools
import sys

import numpy as np
import pytest
from interrupts import Interrupt
from programs import run
from worlds import Ring

from seer_env.env import SeerParallelEnv
from seer_env.runtime.engine import make_engine
from seer_env.runtime.schedulers import compiled

ONE_THREAD = [("python", 1), ("serial", 1), ("heap", 1)]
SCHEDULERS = [*ONE_THREAD, ("seer", 2), ("ross-t", 2), ("nbse", 2), ("root-sim", 2)]

#: Steps a twin and the engine; between, a step of the engine that would take 20 s is interrupted.
LONG_STEP = """
import json, sys, time
from programs import interrupt_after, slow
scheduler, threads, n, work, lookahead, where = sys.argv[1:]
engine, step = slow(scheduler, int(threads), n=int(n), lookahead=float(lookahead), where=where)
_, twin = slow(scheduler, 1, n=int(n), lookahead=float(lookahead), where=where)
for _ in range(2):
    before = step(10.0)
    twin(10.0)
sent = interrupt_after(0.2)
try:
    step(float(work))
    late = -1.0
except KeyboardInterrupt:
    late = time.perf_counter() - sent[0]
print(json.dumps({"late": late, "unchanged": engine.digest() == before, "goes_on": step(5.0) == twin(5.0)}))
"""


@pytest.mark.parametrize(
    ("scheduler", "threads", "n", "work", "lookahead", "where"),
    [
        ("python", 1, 32, 1e6, 0.1, "ticks"),
        ("serial", 1, 2000, 8e5, 0.1, "ticks"),
        ("heap", 1, 2000, 8e5, 0.1, "ticks"),
        ("seer", 2, 2000, 8e5, 0.1, "ticks"),
        ("ross-t", 2, 2000, 8e5, 0.1, "ticks"),
        ("nbse", 2, 2000, 8e5, 0.1, "ticks"),
        ("root-sim", 2, 2000, 8e5, 0.1, "ticks"),
        ("serial", 1, 2000, 8e5, 1.0, "ticks"),  # one safe window: all events of an entity in a row
        ("serial", 1, 20_000, 8e5, 0.1, "action"),
        ("seer", 2, 20_000, 8e5, 0.1, "outputs"),
    ],
)
def test_ctrl_c_ends_a_long_step_within_a_second(scheduler, threads, n, work, lookahead, where):
    result = run(LONG_STEP, arguments=(scheduler, threads, n, work, lookahead, where), patience=60.0)
    assert 0.0 <= result["late"] <= 1.0
    assert result["unchanged"]
    assert result["goes_on"]


TWO_INTERRUPTS = """
import json, sys, time
from programs import interrupt_after, slow
from seer_env.runtime.schedulers import compiled
compiled.CHECKPOINT_SHARE = 1e12  # so that going back replays every step so far
engine, step = slow("seer", int(sys.argv[1]), n=500)
_, twin = slow("serial", 1, n=500)
start = time.perf_counter()
before = [step(2e4) for _ in range(3)][-1]
sent = interrupt_after(0.3, 0.5 * (time.perf_counter() - start))
try:
    try:
        step(2e6)
    finally:
        while len(sent) < 2:
            time.sleep(0.01)
        time.sleep(0.2)  # whenever the second one arrives, it arrives before the check below
except KeyboardInterrupt:
    pass
unchanged, expected = engine.digest() == before, [twin(2e4) for _ in range(3)] + [twin(5.0)]
after = step(5.0)
print(json.dumps({"sent": len(sent), "unchanged": unchanged, "goes_on": [before, after] == expected[2:]}))
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_a_second_ctrl_c_while_going_back_changes_nothing(threads):
    result = run(TWO_INTERRUPTS, arguments=(threads,), patience=60.0)
    assert result == {"sent": 2, "unchanged": True, "goes_on": True}


# -- wherever it strikes -------------------------------------------------------------------------------


def started(scheduler: str, threads: int):
    """An engine two steps after its last checkpoint, its step with the k-th actions, and its digest."""
    engine = make_engine(Ring(6, 2), scheduler, threads)
    engine.reset(5)
    live = np.ones(6, bool)
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, (4, 6, 2))
    for k in range(2):
        engine.step(actions[k], live)
    return engine, lambda k: engine.step(actions[k], live), engine.digest()


@pytest.fixture
def one_checkpoint(monkeypatch):
    """Going back replays every step since the reset."""
    monkeypatch.setattr(compiled, "CHECKPOINT_SHARE", 1e12)


@pytest.fixture(scope="module")
def future() -> str:
    """The digest after the two steps that follow `started`, without interrupts."""
    engine, step, _ = started("serial", 1)
    step(2)
    step(3)
    return engine.digest()


#: Every point, or every so many of the thousands that the python scheduler has.
STRIDE = {"python": 29, "serial": 1, "heap": 1, "seer": 1, "ross-t": 1, "nbse": 1, "root-sim": 1}


@pytest.mark.usefixtures("one_checkpoint")
@pytest.mark.parametrize(("scheduler", "threads"), SCHEDULERS)
def test_ctrl_c_anywhere_in_a_step_undoes_it(scheduler, threads, future):
    for point in itertools.count(1, STRIDE[scheduler]):
        engine, step, before = started(scheduler, threads)
        with Interrupt(point) as interrupt:
            try:
                step(2)
            except KeyboardInterrupt:
                assert engine.digest() == before, f"point {point}"
                step(2)
        step(3)
        assert engine.digest() == future, f"point {point}"
        if not interrupt.sent:
            break
    assert point > 20 * STRIDE[scheduler], "too few points to say anything"


@pytest.mark.usefixtures("one_checkpoint")
@pytest.mark.parametrize(("scheduler", "threads"), SCHEDULERS)
def test_ctrl_c_anywhere_in_going_back_changes_nothing(scheduler, threads, future):
    for point in itertools.count(1):
        engine, step, before = started(scheduler, threads)
        second = Interrupt(point)
        with interrupted_at_the_end(engine, second.__enter__), pytest.raises(KeyboardInterrupt):
            step(2)
        sys.setprofile(None)
        assert engine.digest() == before, f"point {point}"
        step(2)
        step(3)
        assert engine.digest() == future, f"point {point}"
        if not second.sent:
            break
    assert point > 5, "too few points to say anything"


@contextlib.contextmanager
def interrupted_at_the_end(engine, before=lambda: None):
    """Steps of `engine` run their events, call `before`, and are interrupted."""
    part = "_window" if engine.scheduler == "python" else "_run"
    whole = getattr(engine, part)

    def interrupted(*arguments):
        whole(*arguments)
        before()
        raise KeyboardInterrupt

    setattr(engine, part, interrupted)
    yield
    setattr(engine, part, whole)


@pytest.mark.parametrize("step", ["step", "step_arrays"])
def test_ctrl_c_anywhere_in_an_envs_step_leaves_it_at_a_boundary(step):
    boundaries = episode(step, 0)[1]
    for point in itertools.count(1):
        interrupt, seen = episode(step, point)
        assert set(seen) <= set(boundaries), f"point {point}"
        assert seen[-1] == boundaries[-1], f"point {point}"
        if not interrupt.sent:
            break
    assert point > 20, "too few points to say anything"


def episode(step: str, point: int):
    """Digests and agents at the boundaries of four steps, the second of which is interrupted."""
    env = SeerParallelEnv(Ring(6, 2, patience=5), scheduler="serial", max_cycles=4)
    env.reset(seed=1)
    seen, interrupt = [], Interrupt(point)
    while env.agents:
        actions = dict.fromkeys(env.agents, np.ones(2)) if step == "step" else np.ones((6, 2))
        try:
            with interrupt if len(seen) == 1 else contextlib.nullcontext():
                getattr(env, step)(actions)
        except KeyboardInterrupt:
            assert interrupt.sent
        seen.append((env.digest(), tuple(env.agents)))
    return interrupt, seen


# -- what going back replays ---------------------------------------------------------------------------


@pytest.mark.usefixtures("one_checkpoint")
@pytest.mark.parametrize(("scheduler", "threads"), SCHEDULERS)
def test_roll_back_replays_the_actions_that_were_given(scheduler, threads):
    env = SeerParallelEnv(Ring(6, 2), scheduler=scheduler, threads=threads)
    env.reset(seed=5)
    rng, actions = np.random.default_rng(0), np.zeros((6, 2))
    for _ in range(3):
        actions[:] = rng.uniform(-1.0, 1.0, (6, 2))  # one buffer for all steps
        env.step_arrays(actions)
    before = env.digest()
    actions[:] = 1.0
    with interrupted_at_the_end(env._engine), pytest.raises(KeyboardInterrupt):
        env.step_arrays(actions)
    assert env.digest() == before


@pytest.mark.usefixtures("one_checkpoint")
def test_roll_back_replays_the_actions_that_an_env_clipped():
    env = SeerParallelEnv(Ring(6, 2), scheduler="serial")
    env.reset(seed=1)
    rng = np.random.default_rng(0)
    for _ in range(3):
        env.step_arrays(rng.uniform(-2.0, 2.0, (6, 2)))
    before = env.digest()
    with interrupted_at_the_end(env._engine), pytest.raises(KeyboardInterrupt):
        env.step_arrays(np.ones((6, 2)))
    assert env.digest() == before
