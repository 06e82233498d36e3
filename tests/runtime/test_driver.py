"""The driver of copies: whoever comes when, however long it takes, every copy takes its own step."""

from __future__ import annotations

import ctypes
import random
import threading
import time

import numpy as np
import pytest
from programs import Slow, run
from runtime_worlds import Fault, Faulty, orders
from worlds import Ring

from seer_env.errors import ContractBreach, SeerError
from seer_env.runtime.engine import make_engine
from seer_env.runtime.layout import CONTROL
from seer_env.runtime.schedulers import compiled_copies
from seer_env.runtime.schedulers.copies import make_copies_engine


def begun(model, copies, scheduler="seer", threads=2):
    """Copies at boundary 0, engines of their own beside them, and all agents live."""
    engine = make_copies_engine(model, copies, scheduler, threads)
    engine.reset({c: 10 + c for c in range(copies)})
    separate = [make_engine(model, "serial") for _ in range(copies)]
    for c, each in enumerate(separate):
        each.reset(10 + c)
    return engine, separate, np.ones((copies, model.n_agents), bool)


def step(engine, separate, actions, live):
    """Step both; whether every copy has its engine's digest."""
    engine.step(actions, live)
    for each, own, who in zip(separate, actions, live):
        if who.any():
            each.step(own, who)
    return [engine.digest(c) for c in range(engine.copies)] == [each.digest() for each in separate]


def share_everything(engine):
    for world in engine._worlds:
        world._memory.control["share_ns"] = world._memory.control["clearly_ns"] = -1.0


# -- who comes when ------------------------------------------------------------------------------------


def in_threads(function, threads, address, rng):
    """Workers in threads of the program, each of which comes at some moment within a millisecond."""

    def worker(index, pause):
        time.sleep(pause)
        function(index, address)

    workers = [threading.Thread(target=worker, args=(w, rng.uniform(0.0, 1e-3))) for w in range(threads)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()


def one_by_one(function, threads, address, rng):
    """Workers behind each other: the first does everything, the others come when all has stopped."""
    for index in rng.sample(range(threads), threads):
        function(index, address)


@pytest.mark.parametrize("arrive", [in_threads, one_by_one])
@pytest.mark.parametrize(("copies", "threads"), [(1, 3), (3, 3), (7, 2), (7, 4)])
def test_workers_may_come_in_any_order_and_at_any_moment(arrive, copies, threads, monkeypatch):
    rng, failures = random.Random(copies), []

    @ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)
    def workers(_, address):
        try:
            arrive(drive, threads, address, rng)
        except BaseException as error:  # ctypes would print and forget it
            failures.append(error)

    engine, separate, live = begun(Ring(40), copies, threads=threads)
    share_everything(engine)
    drive = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(engine._drive)
    address = ctypes.cast(workers, ctypes.c_void_p).value

    def run_loop(loop, worker, threads, shared):
        engine._run_alone(address, 1, shared)
        return True

    monkeypatch.setattr(compiled_copies, "run_loop", run_loop)
    actions = np.random.default_rng(1).uniform(-1.0, 1.0, (8, copies, 40, 2))
    assert all(step(engine, separate, block, live) for block in actions)
    assert not failures
    assert engine.stats.shared_rounds > 0


def test_only_the_last_copies_are_open_to_helpers():
    engine, separate, live = begun(Ring(6), 6, threads=2)
    live[1] = False  # its agents have ended
    assert step(engine, separate, np.zeros((6, 6, 2)), live)
    threads = [int(row[: CONTROL.itemsize].view(CONTROL)["threads"][0]) for row in engine._controls]
    assert [threads[c] for c in (0, 2, 3, 4, 5)] == [1, 1, 1, 2, 2]


@pytest.mark.parametrize("lost", ["the pool after a fork", "the pool while another thread has it"])
def test_without_a_pool_one_worker_steps_all_copies(lost, monkeypatch):
    if lost == "the pool after a fork":
        monkeypatch.setattr(compiled_copies, "pool_available", lambda: False)
    else:
        monkeypatch.setattr(compiled_copies, "run_loop", lambda *arguments: False)
    engine, separate, live = begun(Ring(6), 5, threads=3)
    assert step(engine, separate, np.ones((5, 6, 2)), live)


# -- long steps ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scheduler", "threads"), [("serial", 1), ("seer", 2), ("seer", 3)])
def test_steps_of_many_slices(scheduler, threads, monkeypatch):
    engine, separate, live = begun(Slow(40), 4, scheduler, threads)
    calls = []

    def counted(function):
        return lambda *arguments: calls.append(1) or function(*arguments)

    monkeypatch.setattr(engine, "_run_alone", counted(engine._run_alone))
    monkeypatch.setattr(compiled_copies, "run_loop", counted(compiled_copies.run_loop))
    work = np.full((4, 40, 1), 300.0)
    work[2] = 3e5  # about a tenth of a second
    assert step(engine, separate, work, live)
    assert len(calls) > 1


LONG_STEP = """
import json, sys, time
import numpy as np
from programs import Slow, interrupt_after
from seer_env.runtime.schedulers.copies import make_copies_engine
scheduler, threads = sys.argv[1:]
def begun():
    engine = make_copies_engine(Slow(500), 5, scheduler, int(threads))
    engine.reset({c: c for c in range(5)})
    return engine
def step(engine, work):
    engine.step(np.full((5, 500, 1), work), np.ones((5, 500), bool))
    return [engine.digest(c) for c in range(5)]
engine, twin = begun(), begun()
before = step(engine, 10.0)
step(twin, 10.0)
sent = interrupt_after(0.2)
try:
    step(engine, 8e5)
    late = -1.0
except KeyboardInterrupt:
    late = time.perf_counter() - sent[0]
unchanged = [engine.digest(c) for c in range(5)] == before
print(json.dumps({"late": late, "unchanged": unchanged, "goes_on": step(engine, 5.0) == step(twin, 5.0)}))
"""


@pytest.mark.parametrize(("scheduler", "threads"), [("serial", 1), ("seer", 2)])
def test_ctrl_c_ends_a_long_step_of_copies_within_a_second(scheduler, threads):
    result = run(LONG_STEP, arguments=(scheduler, threads), patience=60.0)
    assert 0.0 <= result["late"] <= 1.0
    assert result["unchanged"]
    assert result["goes_on"]


# -- going back ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0, 10**9], ids=["checkpoints each step", "one checkpoint for all"])
@pytest.mark.parametrize(("scheduler", "threads"), [("serial", 1), ("seer", 2)])
def test_failures_in_every_step_change_nothing_later(scheduler, threads, share, monkeypatch):
    monkeypatch.setattr(compiled_copies, "CHECKPOINT_SHARE", share)
    engine, separate, live = begun(Faulty(16), 4, scheduler, threads)
    still = np.stack([orders(engine.model)] * 4)
    for k in range(10):
        broken = still.copy()
        broken[k % 4] = orders(engine.model, (3, Fault.SOON, 0.0))
        with pytest.raises(ContractBreach, match=f"^copy {k % 4}: "):
            engine.step(broken, live)
        if k % 3 == 2:
            engine.reset({k % 4: k})
            separate[k % 4].reset(k)
        busy = still.copy()
        busy[k % 4] = orders(engine.model, (5, Fault.BURST, 0.0, 40.0 * k))
        assert step(engine, separate, busy, live), f"step {k}"


def test_copies_without_a_live_agent_are_not_replayed(monkeypatch):
    monkeypatch.setattr(compiled_copies, "CHECKPOINT_SHARE", 10**9)
    engine, separate, live = begun(Faulty(16), 2, "serial", 1)
    still = np.stack([orders(engine.model)] * 2)
    for moves in ([True, False], [True, True], [False, True]):
        assert step(engine, separate, still, live & np.array(moves)[:, None])
    before = [engine.digest(c) for c in range(2)]
    broken = still.copy()
    broken[1] = orders(engine.model, (3, Fault.SOON, 0.0))
    with pytest.raises(ContractBreach):
        engine.step(broken, live)
    assert [engine.digest(c) for c in range(2)] == before
    assert engine.steps.tolist() == [2, 2]


def test_a_second_thread_of_the_program_is_refused():
    engine, _, live = begun(Ring(6), 2)
    refused = []

    def intrude():
        for use in (
            lambda: engine.digest(0),
            lambda: engine.reset({0: 1}),
            lambda: engine.step(np.zeros((2, 6, 2)), live),
        ):
            with pytest.raises(SeerError, match="another thread"):
                use()
            refused.append(use)

    user = engine._claim()  # as a step does
    thread = threading.Thread(target=intrude)
    thread.start()
    thread.join(30.0)
    engine._user = user
    assert len(refused) == 3
