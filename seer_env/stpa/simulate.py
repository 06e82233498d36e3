"""Sweeps of machines that are not at hand, from a model of our own scheduler: simulated, and marked so."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from seer_env.stpa.dataset import SERIAL, Configuration, Profile, Sweep, ladder
from seer_env.stpa.features import StaticFeatures, aggregate
from seer_env.stpa.scheduler_model import COUNTS, Costs, step_ns
from seer_env.stpa.trace import LENGTH

__all__ = ["Step", "candidate_ns", "model_error", "simulated_sweep", "step_of", "synthesise", "varied"]

#: Share of the phases that the engine does the way that was slower lately, to learn whether it still is.
EXPLORED = 0.025
#: Spread of the logarithm of a simulated measurement, and of another machine's costs around this one's.
NOISE, SPREAD = 0.02, 0.35
#: Machines that are simulated, by cores.
MACHINES = (2, 4, 8, 16, 32, 64)
#: How many times as many items as the measured phases simulated ones have, and how many times as dear ones.
LARGER, DEARER = (0.3, 30.0), (0.3, 10.0)
#: Indices of simulated configurations begin here.
FIRST_INDEX = 1_000_000


@dataclass(frozen=True)
class Step:
    """The phases of a step, in order.

    Attributes:
        items: int64 `[P]`, what can be shared of each. cost: float64 `[P]`, nanoseconds of an item.
        events: of the whole step. rounds: phases that are rounds.
    """

    items: np.ndarray
    cost: np.ndarray
    events: float
    rounds: int

    @property
    def serial_ns(self) -> float:
        """What one thread takes that shares nothing."""
        return float((self.items * self.cost).sum())


def step_of(profile: Profile, static: StaticFeatures) -> Step:
    """The phases of a world of which a serial step was measured: actions, rounds, outputs.

    Every event of a window is taken to cost the same, and every round to hold as many.
    """
    agents, rounds = int(static.agents), round(profile.rounds)
    in_rounds = max(profile.events - agents, 0.0) if rounds else 0.0
    event_ns = 1e9 * profile.window_s / max(profile.events, 1.0)
    phases: list[tuple[int, float]] = []
    if agents:
        phases.append((agents, event_ns * (profile.events - in_rounds) / agents))
    for _ in range(rounds):
        ready = max(1, round(min(static.entities, in_rounds / rounds)))
        phases.append((ready, event_ns * in_rounds / rounds / ready))
    if agents:
        phases.append((agents, 1e9 * profile.outputs_s / agents))
    items, cost = zip(*phases)
    return Step(np.array(items, np.int64), np.maximum(cost, 1.0), profile.events, rounds)


def candidate_ns(
    step: Step, threads: int, cpus: int, costs: Costs, rng: np.random.Generator
) -> tuple[float, np.ndarray]:
    """Nanoseconds of a step under one candidate, and by worker `COUNTS`, float64 `[3, workers]`.

    As the engine learns which way is sooner, a step is shared or not as is better, but for some trials.
    """
    alone, counts = step.serial_ns, np.zeros((len(COUNTS), max(1, threads)))
    shared = np.inf
    if threads > 1:
        shared = step_ns(step.items, step.cost, threads, cpus, costs, rng, counts)
    if alone < shared:
        counts[:] = 0.0
        counts[1, 0] = step.items.sum()
    tried = 0.0 if np.isinf(shared) else EXPLORED * min(abs(shared - alone), alone)
    return min(alone, shared) + tried, counts


def simulated_sweep(
    configuration: Configuration, step: Step, static: StaticFeatures, costs: Costs, turns: int = 6
) -> Sweep:
    """What a sweep would show on `static.cpus` cores: `SERIAL` and the ladder up to twice as many.

    The trace has what a model of a scheduler can know; what an operating system would say is masked.
    """
    rng, cpus = np.random.default_rng(configuration.seed), int(static.cpus)
    candidates = (SERIAL, *ladder(2 * cpus))
    times = np.array([candidate_ns(step, k, cpus, costs, rng)[0] for k in candidates])
    seconds = 1e-9 * times * np.exp(rng.normal(0.0, NOISE, (turns, len(candidates))))
    trace = np.stack([_trace_step(step, static, costs, rng) for _ in range(LENGTH)], axis=1)
    profile = Profile(step.events, float(step.rounds), 1e-9 * step.serial_ns, 0.0)
    return Sweep(configuration, True, static, profile, candidates, seconds, trace)


def _trace_step(step: Step, static: StaticFeatures, costs: Costs, rng: np.random.Generator) -> np.ndarray:
    ns, (busy, items, lost) = candidate_ns(step, int(static.trace_threads), int(static.cpus), costs, rng)
    ns *= float(np.exp(rng.normal(0.0, NOISE)))
    columns = {
        "entities": np.log10(1.0 + static.entities),
        "step_ns": np.log10(1.0 + ns),
        "events": np.log10(1.0 + step.events),
        "rounds": np.log10(1.0 + step.rounds),
        "shared_rounds": float(busy.any()),
        "event_ns": np.log10(1.0 + ns / max(step.events, 1.0)),
        "worker_events": np.log10(1.0 + items * step.events / items.sum()),
        "worker_busy_ns": np.log10(1.0 + busy),
        "worker_idle": 1.0 - np.minimum(1.0, busy / ns),
        "lost_claims": np.log10(1.0 + lost),
    }
    return aggregate({name: np.asarray(values) for name, values in columns.items()})


def model_error(real: list[Sweep], costs: Costs) -> dict[int, float]:
    """How far the model is from real sweeps: by thread count, the median of |log2| of predicted over measured
    time relative to `serial`."""
    errors: dict[int, list[float]] = {}
    for sweep in real:
        times = dict(zip(sweep.candidates, sweep.times()))
        for k in (k for k in sweep.candidates if k > 1):
            error = np.log2(_model_ratio(sweep, k, costs) * times[SERIAL] / times[k])
            errors.setdefault(k, []).append(abs(float(error)))
    return {k: float(np.median(values)) for k, values in errors.items()}


def _model_ratio(sweep: Sweep, threads: int, costs: Costs) -> float:
    """Time of a step over that of a serial one, by the model."""
    step, rng = step_of(sweep.profile, sweep.static), np.random.default_rng(0)
    return candidate_ns(step, threads, sweep.cpus, costs, rng)[0] / step.serial_ns


def varied(costs: Costs, rng: np.random.Generator) -> Costs:
    """Another machine's costs: each one times a log-normal factor."""
    return Costs(*(value * float(np.exp(rng.normal(0.0, SPREAD))) for value in costs))


def synthesise(real: list[Sweep], costs: Costs, count: int, seed: int = 0) -> list[Sweep]:
    """`count` simulated sweeps: steps of real configurations, scaled, on machines of any size.

    Args:
        real: sweeps whose serial steps are taken, in turn.
        costs: of this machine; other machines' vary around them.
    """
    rng, sweeps = np.random.default_rng(seed), []
    for i in range(count):
        source = real[int(rng.integers(len(real)))]
        cpus = MACHINES[i % len(MACHINES)]
        larger, dearer = (float(np.exp(rng.uniform(*np.log(bounds)))) for bounds in (LARGER, DEARER))
        step = step_of(source.profile, source.static)
        step = replace(
            step,
            items=np.maximum(1, (step.items * larger).astype(np.int64)),
            cost=step.cost * dearer,
            events=step.events * larger,
        )
        static = replace(
            source.static,
            entities=round(source.static.entities * larger),
            agents=round(source.static.agents * larger),
            cpus=cpus,
            cores=cpus,
            logical=cpus,
            trace_threads=cpus,
        )
        named = Configuration(
            FIRST_INDEX + i,
            f"simulated {source.configuration.world}",
            int(static.entities),
            {"source": source.configuration.index, "cpus": cpus},
            int(rng.integers(1 << 31)),
        )
        sweeps.append(simulated_sweep(named, step, static, varied(costs, rng)))
    return sweeps
