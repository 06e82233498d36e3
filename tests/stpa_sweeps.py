"""Made-up sweeps for tests: the time of a step as a function of the threads, no noise unless asked for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from seer_env.stpa.dataset import SERIAL, Configuration, Profile, Sweep, ladder
from seer_env.stpa.features import METRICS, StaticFeatures


def made_up(
    index: int = 0,
    cpus: int = 4,
    seconds: Callable[[int], float] = lambda k: 1e-3 / k,
    world: str = "phold",
    simulated: bool = False,
    entities: float = 1000.0,
    noise: float = 0.0,
    source: int | None = None,
) -> Sweep:
    """A sweep over `serial` and the ladder up to twice the CPUs, whose trace shows the serial time."""
    rng = np.random.default_rng(index)
    candidates = (SERIAL, *ladder(2 * cpus))
    times = np.array([seconds(max(1, k)) for k in candidates])
    turns = times * np.exp(rng.normal(0.0, noise, (6, len(candidates)))) if noise else np.tile(times, (6, 1))
    trace = np.full((len(METRICS), 8, 3), np.nan, np.float32)
    for name, value in (("entities", entities), ("step_ns", 1e9 * times[0]), ("events", entities)):
        trace[METRICS.index(name)] = [np.log10(1.0 + value), 0.0, 0.0]
    static = StaticFeatures(
        entities=entities, agents=0.0, queued=1.0, lookahead_share=1.0, entity_bytes=16.0, payload_words=4.0,
        observation_size=1.0, reads_public=0.0, cpus=cpus, cores=cpus, logical=cpus, trace_threads=cpus,
    )  # fmt: skip
    arguments = {} if source is None else {"source": source}
    configuration = Configuration(index, world, int(entities), arguments, index)
    profile = Profile(entities, 1.0, float(times[0]), 0.0)
    return Sweep(configuration, simulated, static, profile, candidates, turns, trace)
