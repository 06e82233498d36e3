"""The benchmarks of `seer-env bench`: names, what each shows, and where it is."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

__all__ = ["BENCHES", "EXPERIMENTS", "load_bench"]


class Place(NamedTuple):
    """A dataclass of options with `main() -> int`, and what it does in a few words."""

    module: str
    kind: str
    about: str


EXPERIMENTS = {
    "phold": Place("phold", "PholdExperiment", "events beside a sequential heap of events"),
    "flock": Place("flock", "FlockExperiment", "agents beside a plain loop"),
    "worlds": Place("worlds", "WorldsExperiment", "every world at its sizes beside a heap; MAgent2; copies"),
    "breakdown": Place("breakdown", "BreakdownExperiment", "where the time of a step with a policy goes"),
    "scaling": Place("scaling", "ScalingExperiment", "over entities, over threads; the efficiency of two"),
    "motivation": Place("motivation", "MotivationExperiment", "battle beside MAgent2, end to end"),
    "throughput": Place(
        "throughput", "ThroughputExperiment", "Aircraft over event time: ross-t, seer, seer with STPA"
    ),
    "latency": Place(
        "latency", "LatencyExperiment", "a step's time over entities; two threads over event time"
    ),
    "pcs": Place("pcs", "PcsExperiment", "PCS with a hot spot and without, all systems"),
    "balance": Place("balance", "BalanceExperiment", "how evenly a hot spot's work falls on the workers"),
    "ablation": Place("ablation", "AblationExperiment", "ross-t, seer with fixed threads, seer with STPA"),
    "regret": Place(
        "regret", "RegretExperiment", "threads that STPA chose beside the best, 40 and more worlds"
    ),
    "pipeline": Place(
        "pipeline", "PipelineExperiment", "training: plain loop, environment ring, asynchronous"
    ),
    "memory": Place("memory", "MemoryExperiment", "peak memory of each scheduler, in processes of their own"),
}
BENCHES = {
    **EXPERIMENTS,
    "profile": Place("profile", "ProfileExperiment", "where the time of every scheduler goes; not in `all`"),
    "all": Place("all", "All", "every experiment in turn, then the report"),
    "report": Place("page", "Report", "one HTML page of what has been measured so far"),
}


def load_bench(name: str) -> Any:
    """The dataclass behind a name."""
    place = BENCHES[name]
    return getattr(importlib.import_module(f"seer_env.bench.{place.module}"), place.kind)
