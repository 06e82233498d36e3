"""A step that raises for any reason leaves the boundary before it, and a future nobody can tell apart."""

from __future__ import annotations

import _thread
import sys
import threading
import time

import numpy as np
import pytest
from runtime_worlds import SCHEDULERS, Fault, Faulty, orders

from seer_env.errors import ContractBreach
from seer_env.runtime.engine import make_engine
from seer_env.runtime.memory import FIRST_SLOTS
from seer_env.runtime.schedulers import compiled
from seer_env.runtime.time_warp import memory as warp_memory

N = 256
#: How a step can fail, in an action and in the middle of a window.
FAILURES = [
    *[(fault, when) for fault in (Fault.SOON, Fault.CASCADE, Fault.HANDLER_RAISES) for when in (0.0, 0.5)],
    (Fault.OBSERVE_RAISES, np.inf),
    (Fault.REWARD_RAISES, np.inf),
]


def legal(model, step):
    """Actions that differ from step to step, some of which emit many events."""
    return orders(model, *[(i, Fault.BURST, step + 0.3, 5) for i in range(step % 7, model.n_agents, 7)])


def play(engine, first, last):
    """Legal steps; the digests they leave."""
    digests = []
    for step in range(first, last):
        engine.step(legal(engine.model, step), np.ones(engine.model.n_agents, bool))
        digests.append(engine.digest())
    return digests


def fail(engine, fault, after):
    """A step in which agent 100 fails, `after` time units from the boundary."""
    actions = legal(engine.model, engine.steps)
    actions[100] = fault, engine.clock + after, 0.0
    with pytest.raises((ContractBreach, ValueError, LookupError)):
        engine.step(actions, np.ones(engine.model.n_agents, bool))


@pytest.fixture(scope="module")
def unfailing():
    """Digests of ten legal steps under the oracle."""
    engine = make_engine(Faulty(N), "python")
    engine.reset(8)
    return play(engine, 0, 10)


@pytest.fixture(params=SCHEDULERS)
def engine(request):
    engine = make_engine(Faulty(N), *SCHEDULERS[request.param])
    engine.reset(8)
    return engine


@pytest.mark.parametrize(("fault", "after"), FAILURES)
def test_a_failed_step_leaves_the_boundary_before_it(engine, fault, after):
    play(engine, 0, 2)
    before, outputs, stats = engine.capture(), [a.copy() for a in engine.outputs[:3]], engine.stats
    fail(engine, fault, after)
    assert engine.capture().first_difference(before) is None
    assert (engine.steps, engine.clock, engine.stats) == (2, 2.0, stats)
    for now, then in zip(engine.outputs, outputs):
        np.testing.assert_array_equal(now, then)


@pytest.mark.parametrize("share", [0, 10**9], ids=["a checkpoint each step", "one checkpoint for all"])
def test_failures_in_every_step_change_nothing_later(engine, unfailing, share, monkeypatch):
    monkeypatch.setattr(compiled, "CHECKPOINT_SHARE", share)
    digests = []
    for step in range(10):
        fail(engine, *FAILURES[step % len(FAILURES)])
        digests += play(engine, step, step + 1)
    assert digests == unfailing


def test_a_failure_long_after_the_checkpoint_replays_all_steps_since(engine, unfailing, monkeypatch):
    monkeypatch.setattr(compiled, "CHECKPOINT_SHARE", 10**9)
    assert play(engine, 0, 9) == unfailing[:9]
    fail(engine, Fault.SOON, 0.5)
    assert play(engine, 9, 10) == unfailing[9:]


def test_a_failed_first_step_leaves_the_reset(engine, unfailing):
    before = engine.digest()
    fail(engine, Fault.SOON, 0.5)
    assert engine.digest() == before
    assert play(engine, 0, 10) == unfailing


@pytest.mark.parametrize("scheduler", ["serial", "heap", "seer", "ross-t", "nbse", "root-sim"])
@pytest.mark.parametrize("events", [FIRST_SLOTS // N, 40], ids=["just", "many times"])
def test_running_out_of_slots_changes_no_result(scheduler, events, monkeypatch):
    """Slots run out in the action phase, in windows, and for one entity alone."""
    monkeypatch.setattr(warp_memory, "SLOTS_AHEAD", 64)
    engines = [make_engine(Faulty(N), "python"), make_engine(Faulty(N), *SCHEDULERS[scheduler])]
    for engine in engines:
        engine.reset(8)
    slots = engines[1]._memory.slots
    for engine in engines:
        engine.step(orders(engine.model), np.ones(N, bool))
    for when in (1.0, 2.5):
        given = [(i, Fault.BURST, when, events) for i in range(N)]
        for engine in engines:
            engine.step(orders(engine.model, *given), np.ones(N, bool))
        assert engines[0].digest() == engines[1].digest()
    assert engines[1]._memory.slots > slots


@pytest.mark.parametrize("scheduler", ["serial", "heap", "seer", "ross-t", "nbse", "root-sim"])
def test_one_entity_may_use_up_all_slots(scheduler):
    engines = [make_engine(Faulty(N), "python"), make_engine(Faulty(N), *SCHEDULERS[scheduler])]
    for engine in engines:
        engine.reset(8)
        engine.step(orders(engine.model, (17, Fault.BURST, 0.5, 5 * FIRST_SLOTS)), np.ones(N, bool))
    assert engines[0].digest() == engines[1].digest()


@pytest.mark.parametrize("scheduler", ["serial", "heap", "seer", "ross-t", "nbse", "root-sim"])
def test_a_step_that_first_runs_out_of_slots_and_then_breaches_is_undone(scheduler):
    engine = make_engine(Faulty(N), *SCHEDULERS[scheduler])
    engine.reset(8)
    before = engine.capture()
    actions = orders(engine.model, (17, Fault.BURST, 0.25, 5 * FIRST_SLOTS), (3, Fault.SOON, 0.5))
    with pytest.raises(ContractBreach) as info:
        engine.step(actions, np.ones(N, bool))
    assert (info.value.rule, info.value.entity) == ("lookahead", 3)
    assert engine.capture().first_difference(before) is None


# -- interrupts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCHEDULERS)
@pytest.mark.parametrize("n", [2, N], ids=["small rounds", "shared rounds"])
def test_ctrl_c_in_a_long_step_is_served_within_a_second_and_undoes_the_step(name, n):
    model = Faulty(n)
    model.dt = 5e4 / n if name == "python" else 1e8 / n  # some seconds
    engine = make_engine(model, *SCHEDULERS[name], event_capacity=1 << 40)
    engine.reset(8)
    before = engine.digest()
    for _ in range(2):
        struck = []
        timer = threading.Timer(
            0.1, lambda at=struck: (at.append(time.perf_counter()), _thread.interrupt_main())
        )
        timer.start()
        try:
            with pytest.raises(KeyboardInterrupt):
                engine.step(orders(model), np.ones(n, bool))
        finally:
            timer.cancel()
        assert time.perf_counter() - struck[0] < 1.0
        assert engine.digest() == before


@pytest.mark.parametrize("name", SCHEDULERS)
def test_ctrl_c_in_one_entitys_long_window_is_served_within_a_second_and_undoes_the_step(name, unfailing):
    engine = make_engine(Faulty(N), *SCHEDULERS[name], event_capacity=1 << 40)
    engine.reset(8)
    assert play(engine, 0, 2) == unfailing[:2]
    before = engine.digest()
    actions = orders(engine.model, (100, Fault.ENDLESS, 2.5))  # 2**29 events
    struck = []
    timer = threading.Timer(0.1, lambda: (struck.append(time.perf_counter()), _thread.interrupt_main()))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            engine.step(actions, np.ones(N, bool))
    finally:
        timer.cancel()
    assert time.perf_counter() - struck[0] < 1.0
    assert engine.digest() == before
    assert play(engine, 2, 4) == unfailing[2:4]


class Interrupter:
    """Raises KeyboardInterrupt before the n-th line that the runtime's Python code executes."""

    def __init__(self, n):
        self.left = n

    def __call__(self, frame, event, _):
        name = frame.f_code.co_filename
        return self.line if "seer_env" in name and "runtime" in name else None

    def line(self, _frame, event, _):
        if event == "line":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self.line

    def call(self, function, *arguments):
        """Call under this tracer; returns whether it was interrupted."""
        tracer = sys.gettrace()
        sys.settrace(self)
        try:
            function(*arguments)
        except KeyboardInterrupt:
            return True
        except ContractBreach:
            return False
        finally:
            sys.settrace(tracer)
        return False


@pytest.mark.parametrize("scheduler", ["serial", "heap", "seer", "ross-t", "nbse", "root-sim"])
@pytest.mark.parametrize("kind", ["legal", "breach", "slots"])
def test_an_interrupt_at_any_line_of_a_step_leaves_a_whole_boundary(scheduler, kind):
    """The boundary before, or, from the moment the step is complete, the one after; its future is right."""
    model = Faulty(16)
    orders_of = {
        "legal": orders(model),
        "breach": orders(model, (3, Fault.SOON, 1.5)),
        "slots": orders(model, (3, Fault.BURST, 1.5, 3000)),
    }
    engine, twin = make_engine(model, *SCHEDULERS[scheduler]), make_engine(model, *SCHEDULERS[scheduler])
    live, still = np.ones(16, bool), orders(model)
    n, interrupted = 0, True
    while interrupted:
        n += 1
        for each in (engine, twin):
            each.reset(8)
            each.step(still, live)
        interrupted = Interrupter(n).call(engine.step, orders_of[kind], live)
        if engine.steps == 2:
            twin.step(orders_of[kind], live)
        assert engine.digest() == twin.digest(), f"interrupted at line {n}"
        for each in (engine, twin):
            each.step(still, live)
        assert engine.digest() == twin.digest(), f"one step after an interrupt at line {n}"
    assert n > 20
