"""What the predictor sees of a world: a trace `F`, and what is known of it without running it.

`F` is float32 `[metrics, T, 3]`: per metric and trace step the mean, variance and range over workers (the
SEER paper, arXiv 2611.07996, section on STPA). What belongs to the process as a whole has no variance and
no range. NaN is a masked entry: this machine has no such source, or nobody had anything to measure.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from seer_env.machine import CpuLimits, cpu_limits, physical_cores

if TYPE_CHECKING:
    from seer_env.model import EventModel

__all__ = ["AGGREGATES", "METRICS", "StaticFeatures", "aggregate", "channels", "static_features"]

#: Metrics of `F`, in order. Costs and counts are log10(1 + x) per env step; shares are of wall time.
METRICS = (
    "entities",  # environment scale
    "step_ns",
    "events",
    "rounds",
    "shared_rounds",  # share of the rounds
    "event_ns",  # of the window, per event: rises where cores fight over cache lines
    "outputs_ns",  # of the outputs
    "worker_events",  # by worker
    "worker_busy_ns",  # by worker: not waiting
    "worker_idle",  # by worker: share of the step spent waiting
    "lost_claims",  # by worker: compare-and-swaps lost
    "run_share",  # by thread: on a CPU
    "delay_share",  # by thread: ready, and waiting for a CPU
    "voluntary",  # by thread: context switches
    "involuntary",
    "resident_bytes",
    "page_faults",
    "instructions_per_cycle",  # by thread
    "cache_misses",  # by thread: share of the references
)
AGGREGATES = ("mean", "variance", "range")


def aggregate(columns: Mapping[str, np.ndarray]) -> np.ndarray:
    """One trace step: `[len(METRICS), 3]` from a 1-D array of values over workers per metric.

    A metric that is not in `columns`, or has no value that is a number, is masked.
    """
    step = np.full((len(METRICS), len(AGGREGATES)), np.nan, np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # "mean of empty slice" is what NaN is for
        for row, name in zip(step, METRICS):
            values = np.atleast_1d(columns.get(name, np.nan))
            if np.isfinite(values).any():
                row[:] = np.nanmean(values), np.nanvar(values), np.nanmax(values) - np.nanmin(values)
    return step


def channels(trace: np.ndarray) -> np.ndarray:
    """`F` `[metrics, T, 3]` as the encoder's `[T, 3 * metrics]`."""
    return np.ascontiguousarray(trace.transpose(1, 0, 2).reshape(trace.shape[1], -1))


@dataclass(frozen=True)
class StaticFeatures:
    """What is known without a trace: scale, queues, communication, machine.

    Attributes:
        entities, agents: of the world, all copies together.
        queued: pending events per entity when the trace began: the mean queue length.
        lookahead_share: lookahead per step window, at most 1.
        entity_bytes, payload_words, observation_size: of a row, an event, an observation.
        reads_public: 1 if entities look at others' state of the last boundary, else 0.
        cpus: effective CPUs. cores, logical: physical cores and CPUs in the affinity mask.
        trace_threads: threads that the trace was recorded with.
    """

    entities: float
    agents: float
    queued: float
    lookahead_share: float
    entity_bytes: float
    payload_words: float
    observation_size: float
    reads_public: float
    cpus: float
    cores: float
    logical: float
    trace_threads: float

    def vector(self) -> np.ndarray:
        """float32 `[len(fields)]`: log2 of sizes and counts, so that a doubling is one step anywhere."""
        plain = ("lookahead_share", "reads_public")
        values = [
            getattr(self, f.name) if f.name in plain else np.log2(1.0 + getattr(self, f.name))
            for f in fields(self)
        ]
        return np.array(values, np.float32)


def static_features(
    model: EventModel,
    pending: int,
    trace_threads: int,
    copies: int = 1,
    limits: CpuLimits | None = None,
    cores: int | None = None,
) -> StaticFeatures:
    """`StaticFeatures` of a world on this machine.

    Args:
        model: the world, of which there are `copies`.
        pending: events pending in all of them.
        trace_threads: threads that the trace was recorded with.
        limits, cores: of the machine; asked of the operating system by default.
    """
    limits = limits or cpu_limits()
    entities = float(model.n_entities * copies)
    return StaticFeatures(
        entities=entities,
        agents=float(model.n_agents * copies),
        queued=pending / max(entities, 1.0),
        lookahead_share=min(1.0, model.lookahead / model.dt),
        entity_bytes=float(model.entity.itemsize),
        payload_words=float(model.payload_words),
        observation_size=float(model.observation_size),
        reads_public=float(bool(model.public)),
        cpus=float(limits.effective),
        cores=float(min(physical_cores() if cores is None else cores, limits.effective)),
        logical=float(limits.affinity),
        trace_threads=float(trace_threads),
    )
