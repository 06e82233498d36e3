"""Programs in processes of their own: there a hang is a timeout, and an abort an exit status.

`run` starts one; what follows is what these programs are made of. They import this module.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import warnings
from enum import IntEnum
from pathlib import Path

import numpy as np
from gymnasium import spaces

from seer_env.envs.phold import Phold
from seer_env.model import EventModel, handles, output

TESTS = Path(__file__).parent
#: Seconds after which a program counts as hung: a step takes milliseconds, a cold compilation some seconds.
PATIENCE = 180.0


def run(code: str, *, patience: float = PATIENCE, arguments: tuple = (), **environment: str):
    """Run `code` in a new interpreter; returns the JSON value on the last line that it printed.

    Raises:
        AssertionError: it hung, or ended with another status than 0.
    """
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    settings = {**os.environ, "PYTHONPATH": path, **environment}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    try:
        done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=patience)
    except subprocess.TimeoutExpired as hung:
        output = (hung.stderr or b"").decode(errors="replace")
        raise AssertionError(f"no end after {patience} s; standard error: {output}") from None
    assert done.returncode == 0, f"exit status {done.returncode}; standard error: {done.stderr}"
    return json.loads(done.stdout.splitlines()[-1])


# -- a world that has work for a pool ------------------------------------------------------------------

NOBODY = np.zeros((0, 1)), np.zeros(0, bool)


def phold(scheduler: str, threads: int):
    """An engine at boundary 0 of a world whose rounds are all shared, where there are threads to."""
    from runtime_worlds import share_everything

    from seer_env.runtime.engine import make_engine

    engine = make_engine(Phold(2000, work=200, dt=1.0), scheduler, threads)
    if scheduler == "seer":
        share_everything(engine)
    engine.reset(7)
    return engine


def stepped(engine, steps: int = 4) -> str:
    """The digest after some steps."""
    for _ in range(steps):
        engine.step(*NOBODY)
    return engine.digest()


def phold_digest(scheduler: str, threads: int, steps: int = 4) -> str:
    """As a function of its own, for the workers of `multiprocessing`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return stepped(phold(scheduler, threads), steps)


def pool_runs() -> list[int]:
    """A list that grows with every call that numba's layer ran: the pool was really entered."""
    from seer_env.runtime.schedulers import compiled

    runs: list[int] = []
    run_pool = compiled.run_pool

    def counted(threads, *arguments):
        ran = run_pool(threads, *arguments)
        runs.extend([threads] * ran)
        return ran

    compiled.run_pool = counted
    return runs


def in_python_threads(count: int, steps: int, threads: int = 2) -> list[str]:
    """Digests of engines of their own, stepped at once by `count` threads of this program."""
    engines = [phold("seer", threads) for _ in range(count)]
    start, digests = threading.Barrier(count), [""] * count

    def drive(k: int) -> None:
        start.wait()
        digests[k] = stepped(engines[k], steps)

    drivers = [threading.Thread(target=drive, args=(k,)) for k in range(count)]
    for driver in drivers:
        driver.start()
    for driver in drivers:
        driver.join()
    return digests


# -- a world whose steps take as long as an action says ------------------------------------------------


class Kind(IntEnum):
    SET = 0
    TICK = 1


class Slow(EventModel):
    """Entities tick once per 0.1; agent 0's action says how many iterations each of them works.

    Args:
        lookahead: with 1.0, a step is one safe window, and all ticks of an entity are one item of it.
        where: what works: "ticks", the "action" handler, or the "outputs".
    """

    name = "slow"
    Kind = Kind
    entity = np.dtype([("work", "f8"), ("acc", "f8"), ("ticks", "i8")])
    action_kind = Kind.SET
    action_space = spaces.Box(0.0, np.inf, (1,), np.float64)
    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)

    def __init__(self, n: int = 32, lookahead: float = 0.1, where: str = "ticks"):
        self.lookahead = float(lookahead)
        places = {"ticks": 0, "action": 1, "outputs": 2}
        super().__init__(n, params={"where": places[where]})

    def reset(self, state, schedule, rng):
        schedule(np.arange(self.n_entities), 0.001 * np.arange(self.n_entities) / self.n_entities, Kind.TICK)

    @handles(Kind.SET)
    def set(me, event, sim):
        me.work = event.payload[0]
        if sim.params.where == 1:
            for _ in range(int(me.work)):
                me.acc = me.acc * 0.999999 + 0.5

    @handles(Kind.TICK)
    def tick(me, event, sim):
        me.ticks += 1
        if sim.params.where == 0:
            for _ in range(int(me.work)):
                me.acc = me.acc * 0.999999 + 0.5
        sim.emit(sim.me, 0.1, Kind.TICK)

    @output
    def observe(me, obs, info, sim):
        x = me.acc
        if sim.params.where == 2:
            for _ in range(int(me.work)):
                x = x * 0.999999 + 0.5
        obs[0] = x


def slow(scheduler: str, threads: int, **arguments):
    """An engine at boundary 0 of `Slow`, and a function that steps it with some work per tick."""
    from seer_env.runtime.engine import make_engine

    engine = make_engine(Slow(**arguments), scheduler, threads)
    engine.reset(3)
    live = np.ones(engine.model.n_agents, bool)

    def step(work: float) -> str:
        engine.step(np.full((engine.model.n_agents, 1), float(work)), live)
        return engine.digest()

    return engine, step


def interrupt_after(*seconds: float) -> list[float]:
    """Send this process SIGINT after each number of seconds; a list that gets the times of sending."""
    import signal

    sent: list[float] = []

    def send():
        for wait in seconds:
            time.sleep(wait)
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=send, daemon=True).start()
    return sent
