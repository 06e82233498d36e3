"""Measuring this machine: what a claim, a wake-up, a pool, an idle spin and an event cost here."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import numba
import numpy as np
from numba import int64, njit, prange

from seer_env.envs.phold import Phold
from seer_env.runtime.atomics import add, compare_and_swap, exchange, load
from seer_env.runtime.engine import make_engine
from seer_env.runtime.layout import STRIDE
from seer_env.runtime.schedulers.compiled import CompiledEngine
from seer_env.runtime.waiting import SPINS, block_while_equal, clock_ns, pause, wake_all
from seer_env.stpa.scheduler_model import Costs

__all__ = ["EventCosts", "calibrate", "event_costs"]

#: Measurements of each figure; the median counts.
REPEATS = 5
CLAIMS, PINGS, LAUNCHES = 200_000, 300, 200
#: How long workers that outnumber the cores look at the clock, and from when a gap means another one ran.
SLICES_NS, GAP_NS = int64(60_000_000), int64(300_000)


class EventCosts(dict[str, float]):
    """Nanoseconds of an event without work, of an iteration of PHOLD's work, and of a round of one event."""


def calibrate(cpus: int) -> Costs:
    """Measure the costs of the scheduler's operations; with one CPU, what needs two is not contended.

    Takes about two seconds once its kernels are compiled.
    """
    claim = _median(lambda: _claims(np.zeros(STRIDE, np.int64), CLAIMS) / CLAIMS)
    together = min(cpus, 2)
    both = _median(lambda: _shared_claims(np.zeros(STRIDE, np.int64), CLAIMS, together) / CLAIMS)
    rounds = np.array([_ping_pong(np.zeros(3 * STRIDE, np.int64), PINGS) for _ in range(REPEATS)])
    there_and_back, wake = np.median(rounds, axis=0) / PINGS
    empty, pair, wide = (_median(partial(_launch, k, LAUNCHES)) / LAUNCHES for k in (1, together, cpus))
    transition, inflation = _sharing(cpus)
    return Costs(
        claim=claim,
        contended=max(0.0, both - claim),
        wake=wake,
        latency=max(0.0, there_and_back / 2.0 - wake),
        launch=max(0.0, pair - empty),
        launch_each=max(0.0, (wide - pair) / max(1, cpus - 2)),
        transition=transition,
        spin=_median(lambda: _spin(SPINS)),
        time_slice=_slice(cpus),
        inflation=inflation,
    )


def event_costs() -> EventCosts:
    """What events cost under `serial` here, by PHOLD."""
    many, worked, sparse = (
        _ns_per_event(Phold(1024, 4, work, lookahead, 1.0, 0.5, dt), "serial", 1)
        for work, lookahead, dt in ((0, 1.0, 8.0), (1000, 1.0, 1.0), (0, 0.0, 2.0))
    )
    return EventCosts(event=many, iteration=(worked - many) / 1000.0, sparse_round=sparse - many)


def _median(measure: Callable[[], float]) -> float:
    measure()  # compiles
    return statistics.median(measure() for _ in range(REPEATS))


def _sharing(cpus: int) -> tuple[float, float]:
    """Nanoseconds that sharing a round costs, and how much dearer events are when two cores share them."""
    model = Phold(1024, 4, 0, 1.0, 1.0, 0.5, 4.0)
    alone, rounds = _ns_per_step(model, 1, shared=False)
    published, _ = _ns_per_step(model, 1, shared=True)
    transition = max(0.0, published - alone) / rounds
    if cpus < 2:
        return transition, 0.0
    engine = _engine(model, 2, shared=True)
    step = _stepper(engine)
    ratios = []
    for _ in range(4 * REPEATS):
        step()
        stats = engine.stats
        claimed_s = sum(w.busy_s - w.outputs_s - w.alone_s for w in stats.workers)
        ratios.append(1e9 * claimed_s / max(1, stats.events))
    engine.close()
    single = _ns_per_event(model, "seer", 1)
    return transition, max(0.0, statistics.median(ratios) / single - 1.0)


def _engine(model: Phold, threads: int, shared: bool) -> CompiledEngine:
    """An engine that shares every phase, or none."""
    engine = make_engine(model, "seer", threads)
    assert isinstance(engine, CompiledEngine)
    limit = -1.0 if shared else np.inf
    engine._memory.control["share_ns"] = engine._memory.control["clearly_ns"] = limit
    engine.reset(0)
    return engine


def _stepper(engine: CompiledEngine) -> Callable[[], object]:
    actions, live = np.zeros((0, engine.model.action_size)), np.zeros(0, bool)
    return lambda: engine.step(actions, live)


def _ns_per_step(model: Phold, threads: int, shared: bool) -> tuple[float, int]:
    engine = _engine(model, threads, shared)
    step = _stepper(engine)
    ns = 1e9 * _median(lambda: _timed(step))
    rounds = max(1, engine.stats.rounds)
    engine.close()
    return ns, rounds


def _ns_per_event(model: Phold, scheduler: str, threads: int) -> float:
    engine = make_engine(model, scheduler, threads)
    assert isinstance(engine, CompiledEngine)
    engine.reset(0)
    step = _stepper(engine)
    ns = _median(lambda: 1e9 * _timed(step) / max(1, engine.stats.events))
    engine.close()
    return ns


def _timed(step: Callable[[], object]) -> float:
    begun = time.perf_counter()
    step()
    return time.perf_counter() - begun


# -- kernels: all times in nanoseconds ---------------------------------------------------------------


@njit
def _claims(word, count):
    """Claim by compare-and-swap, alone."""
    begun = clock_ns()
    for _ in range(count):
        seen = load(word, 0)
        compare_and_swap(word, 0, seen, seen + 1)
    return float(clock_ns() - begun)


@njit(parallel=True)
def _shared_claims(word, count, workers):
    """Claim by compare-and-swap until all claims are made, `count` per worker."""
    begun = clock_ns()
    for _ in prange(workers):
        made = 0
        while made < count:
            seen = load(word, 0)
            if compare_and_swap(word, 0, seen, seen + 1) == seen:
                made += 1
    return float(clock_ns() - begun)


@njit(parallel=True)
def _ping_pong(words, count):
    """Two workers block and wake each other in turn; the whole time, and that of waking."""
    waking = np.zeros(2 * STRIDE)
    begun = clock_ns()
    for me in prange(2):
        for turn in range(count):
            awaited = int64(2 * turn + me)
            while load(words, 0) != awaited:
                seen = load(words, 0)
                if seen != awaited:
                    block_while_equal(words, 0, seen, int64(5))
            exchange(words, 0, awaited + 1)
            called = clock_ns()
            wake_all(words, 0)
            waking[me * STRIDE] += clock_ns() - called
    return float(clock_ns() - begun), waking.sum() / 2.0


@njit(parallel=True)
def _pool(workers, words):
    for _ in prange(workers):
        add(words, 0, int64(1))


def _launch(workers: int, count: int) -> float:
    """Enter and leave the pool with some workers."""
    words, before = np.zeros(STRIDE, np.int64), numba.get_num_threads()
    numba.set_num_threads(min(workers, numba.config.NUMBA_NUM_THREADS))
    try:
        _pool(workers, words)
        begun = time.perf_counter_ns()
        for _ in range(count):
            _pool(workers, words)
        return float(time.perf_counter_ns() - begun)
    finally:
        numba.set_num_threads(before)


@njit
def _spin(spins):
    """Spin as an idle worker does."""
    begun = clock_ns()
    for _ in range(spins):
        pause()
    return float(clock_ns() - begun)


@njit(parallel=True)
def _gaps(workers, gaps, counts):
    """Look at the clock all the time; sum and count of the gaps in which another worker ran."""
    for me in prange(workers):
        begun = clock_ns()
        before, now = begun, begun
        while now - begun < SLICES_NS:
            now = clock_ns()
            if now - before > GAP_NS:
                gaps[me * STRIDE] += now - before
                counts[me * STRIDE] += 1
            before = now


def _slice(cpus: int) -> float:
    """How long a worker runs while another one waits for its core: with twice as many, the mean gap."""
    workers = min(2 * cpus, numba.config.NUMBA_NUM_THREADS)
    gaps, counts = np.zeros(workers * STRIDE), np.zeros(workers * STRIDE)
    _gaps(workers, gaps, counts)
    gaps[:], counts[:] = 0.0, 0.0
    _gaps(workers, gaps, counts)
    return float(gaps.sum() / counts.sum()) if counts.any() else float(SLICES_NS)
