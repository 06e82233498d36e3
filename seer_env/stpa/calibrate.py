"""Measuring this machine: what a claim, a wake-up, a pool, an idle spin and an event cost here."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

import numba
import numpy as np
from numba import int64, njit, prange

from seer_env.envs.phold import Phold
from seer_env.runtime.atomics import compare_and_swap, exchange, load
from seer_env.runtime.engine import make_engine
from seer_env.runtime.entry import start_layer
from seer_env.runtime.layout import STRIDE
from seer_env.runtime.schedulers.compiled import CompiledEngine
from seer_env.runtime.waiting import SPINS, block_while_equal, clock_ns, pause, wake_all
from seer_env.stpa.scheduler_model import Costs

__all__ = ["EventCosts", "calibrate", "event_costs"]

#: Measurements of each figure; the median counts.
REPEATS = 5
CLAIMS, WAKES, STEPS = 200_000, 100, 60
#: A worker that has waited for so long has gone to sleep.
ASLEEP_NS = int64(200_000)
#: How long workers that outnumber the cores look at the clock, and from when a gap means another one ran.
SLICES_NS, GAP_NS = int64(60_000_000), int64(300_000)


class EventCosts(dict[str, float]):
    """Nanoseconds of an event without work, of an iteration of PHOLD's work, and of a round of one event."""


def calibrate(cpus: int) -> Costs:
    """Measure the costs of the scheduler's operations; with one CPU, what needs two is taken as on one.

    Takes a few seconds once its kernels are compiled.
    """
    start_layer()
    together = min(cpus, 2)
    claim = _median(lambda: _claims(np.zeros(STRIDE, np.int64), CLAIMS) / CLAIMS)
    both = _median(lambda: _shared_claims(np.zeros(STRIDE, np.int64), CLAIMS, together) / CLAIMS)
    wake, latency = _wakes()
    single = _shared_rounds(1)
    pair, wide = _shared_rounds(together), _shared_rounds(cpus)
    return Costs(
        claim=claim,
        contended=max(0.0, both - claim),
        wake=wake,
        latency=latency,
        launch=pair.entering_ns,
        launch_each=max(0.0, (wide.entering_ns - pair.entering_ns) / max(1, cpus - 2)),
        transition=pair.transition_ns,
        spin=_median(lambda: _spin(SPINS)),
        time_slice=_slice(cpus),
        inflation=max(0.0, pair.event_ns / single.event_ns - 1.0),
    )


def _wakes() -> tuple[float, float]:
    """What waking costs, and until the woken worker runs; zeros where the pool has one thread."""
    if numba.get_num_threads() < 2:
        return 0.0, 0.0
    wakes = [_wake_ups(np.zeros(2 * STRIDE, np.int64), WAKES) for _ in range(REPEATS)]
    wake, latency = np.median(wakes, axis=0).tolist()
    return wake, latency


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


class SharedRounds(NamedTuple):
    """Of steps whose rounds are all shared: a transition between phases, an event, and what the step takes
    beside its busiest worker, which is what entering and leaving the pool costs."""

    transition_ns: float
    event_ns: float
    entering_ns: float


def _shared_rounds(threads: int) -> SharedRounds:
    model = Phold(512, 2, 200, 1.0, 1.0, 0.5, 4.0)
    engine = make_engine(model, "seer", threads)
    assert isinstance(engine, CompiledEngine)
    engine._memory.control["share_ns"] = engine._memory.control["clearly_ns"] = -1.0  # share everything
    engine.reset(0)
    step, measured = _stepper(engine), []
    for _ in range(STEPS):
        step()
        stats = engine.stats
        alone_s = sum(w.alone_s for w in stats.workers)
        claimed_s = sum(w.busy_s - w.alone_s for w in stats.workers)
        busiest_s = max(w.busy_s for w in stats.workers)
        phases = max(1, 2 * stats.rounds)  # each round is executed and settled
        measured.append((alone_s / phases, claimed_s / stats.events, stats.running_s - busiest_s))
    engine.close()
    return SharedRounds(*(1e9 * np.median(measured, axis=0)).tolist())


def _stepper(engine: CompiledEngine) -> Callable[[], object]:
    actions, live = np.zeros((0, engine.model.action_size)), np.zeros(0, bool)
    return lambda: engine.step(actions, live)


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
def _wake_ups(words, count):
    """One worker wakes another that blocks; what waking costs it, and until the other runs, on average."""
    times = np.zeros((2, STRIDE))
    for me in prange(2):
        for turn in range(1, count + 1):
            if me == 0:
                begun = clock_ns()
                while load(words, STRIDE) != turn - 1 or clock_ns() - begun < ASLEEP_NS:
                    pause()
                called = clock_ns()
                times[1, 1] -= called
                exchange(words, 0, int64(turn))
                wake_all(words, 0)
                times[0, 0] += clock_ns() - called
            else:
                while load(words, 0) != turn:
                    block_while_equal(words, 0, int64(turn - 1), int64(50))
                times[1, 0] += clock_ns()
                exchange(words, STRIDE, int64(turn))
    return times[0, 0] / count, (times[1, 0] + times[1, 1]) / count


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
