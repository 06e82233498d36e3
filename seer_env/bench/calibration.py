"""How much work per event gives a wanted event time: measured, fitted, and measured again.

The work of an event is an argument of the world: `complexity` of Aircraft and PCS, `work` of PHOLD. The
time of an event is nearly linear in it, but the slope is the machine's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from seer_env.bench.experiment import Contender, Group, Measure
from seer_env.bench.stepping import Stepping, World, contest
from seer_env.envs.phold import Phold
from seer_env.runtime.engine import make_engine

__all__ = ["NOTE", "Calibration", "calibrate", "calibrated_group", "phold_event_us", "world_event_us"]

#: What a reader of calibrated experiments must know.
NOTE = (
    "Event time: processor time of serial's windows per event, all kinds of event together, set by the "
    "world's complexity; 'error %' is how far the calibration missed the wanted time."
)

#: A second measurement that is far enough from work 1 for a slope.
PROBE = 1000
#: Relative error that ends the search, and measurements at fitted values that it may take.
CLOSE, FITS = 0.05, 3
#: Steps and seconds that a measurement takes at least, unless a step takes longer than `LONG` seconds.
FEWEST, SECONDS, LONG = 3, 0.15, 0.5


class Calibration(NamedTuple):
    """A fitted amount of work, and what an event took with it.

    Attributes:
        work: the argument of the world, an integer from 1 up.
        wanted_us, measured_us: event time, microseconds; the second was measured with `work` itself.
    """

    work: int
    wanted_us: float
    measured_us: float

    @property
    def error(self) -> float:
        """Relative error of the event time."""
        return self.measured_us / self.wanted_us - 1.0


def calibrate(measure: Callable[[int], float], wanted_us: float) -> Calibration:
    """The work that gives a wanted event time.

    A line through the two measurements nearest to the wanted time says where to measure next. An event
    that takes longer than wanted with the least work keeps that.

    Args:
        measure: microseconds per event with an amount of work.
        wanted_us: microseconds, above 0.

    Returns:
        The closest of the amounts that were measured.
    """
    measured = {1: measure(1)}
    if measured[1] < wanted_us:
        measured[PROBE] = measure(PROBE)
    for _ in range(FITS):
        nearest = sorted(measured, key=lambda work: abs(measured[work] / wanted_us - 1.0))
        if len(nearest) == 1 or abs(measured[nearest[0]] / wanted_us - 1.0) <= CLOSE:
            break
        a, b = nearest[:2]
        slope = (measured[b] - measured[a]) / (b - a)
        if slope <= 0.0:  # noise: they differ by less than a measurement
            break
        fitted = max(1, round(a + (wanted_us - measured[a]) / slope))
        if fitted in measured:
            break
        measured[fitted] = measure(fitted)
    work = min(measured, key=lambda work: abs(measured[work] / wanted_us - 1.0))
    return Calibration(work, wanted_us, measured[work])


def calibrated_group(
    name: str,
    world: World,
    contenders: Sequence[Contender],
    us: float,
    seed: int,
    seconds: float,
    facts: Mapping[str, Any],
) -> Group:
    """Contenders on a world whose `complexity` is found first, so that an event takes `us` microseconds.

    See `stepping.contest` for `seed` and `seconds`.
    """

    def make(stack: ExitStack, found: Mapping[str, float]) -> Mapping[Contender, Measure]:
        complexity = int(found["complexity"])
        return contest(world.but(complexity=complexity), contenders, seed, seconds, stack)

    return Group(name, make, facts, partial(_prepare, world, us, seed))


def _prepare(world: World, us: float, seed: int) -> Mapping[str, float]:
    found = calibrate(lambda work: world_event_us(world.but(complexity=work), seed), us)
    return {"complexity": found.work, "us/event": found.measured_us, "error %": 100.0 * found.error}


def world_event_us(world: World, seed: int) -> float:
    """Microseconds per event of a world under `serial`: processor time of its windows by their events."""
    stepping = Stepping(world, "serial", 1, seed)
    try:
        return _event_us(stepping.step, lambda: stepping.env.last_step_stats)
    finally:
        stepping.close()


def phold_event_us(work: int, seed: int = 0, **arguments: Any) -> float:
    """Microseconds per event of `Phold(work=work, **arguments)` under `serial`."""
    model = Phold(work=work, **arguments)
    engine = make_engine(model, "serial")
    engine.reset(seed)
    actions, nobody = np.zeros((0, model.action_size)), np.zeros(0, bool)
    try:
        return _event_us(lambda: engine.step(actions, nobody), lambda: engine.stats)
    finally:
        engine.close()


def _event_us(step: Callable[[], object], stats: Callable[[], Any]) -> float:
    """Median over steps; the first, which may compile, counts only if it is long.

    `serial` runs in the calling thread, whose processor time a busy machine does not lengthen.
    """
    times: list[float] = []
    begun = time.thread_time()
    while len(times) < FEWEST or time.thread_time() - begun < SECONDS:
        start = time.thread_time()
        step()
        step_s, found = time.thread_time() - start, stats()
        window_share = found.window_s / (found.window_s + found.outputs_s)
        times.append(1e6 * step_s * window_share / max(found.events, 1))
        if step_s > LONG:
            break
    return float(np.median(times[1:] or times))
