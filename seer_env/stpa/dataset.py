"""Sweeps: how long a step of a world takes under each candidate, with the trace that the predictor would see.

Two gzipped CSV files hold them. `sweeps.csv.gz` has a row per configuration and candidate; `traces.csv.gz` a
row per configuration, trace step and metric. A sweep is real (measured) or simulated, and says so.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from seer_env.files import write_whole
from seer_env.stpa.features import AGGREGATES, METRICS, StaticFeatures

__all__ = ["SERIAL", "Configuration", "Profile", "Sweep", "ladder", "read_sweeps", "write_sweeps"]

#: The candidate "scheduler `serial`"; all others are `seer` with that many threads.
SERIAL = 0
SWEEPS, TRACES = "sweeps.csv.gz", "traces.csv.gz"
_STATIC = tuple(f.name for f in fields(StaticFeatures))


def ladder(most: int) -> tuple[int, ...]:
    """Thread counts worth trying, up to `most`: 1, 2, 3, 4, 6, 8, 12, ..., steps of at most a half."""
    powers = [2**p for p in range(most.bit_length() + 1)]
    return tuple(k for k in sorted({*powers, *(3 * p for p in powers)}) if k <= most)


@dataclass(frozen=True)
class Configuration:
    """A world that is measured.

    Attributes:
        index: its place in the plan; identifies it in a data set.
        world: a key of `plan.WORLDS`.
        size: entities or agents asked for.
        arguments: the world's other arguments.
        seed: of the episode and of the actions.
    """

    index: int
    world: str
    size: int
    arguments: dict[str, Any]
    seed: int


@dataclass(frozen=True)
class Profile:
    """A step under `serial`, on average: events, rounds, wall seconds of the window and of the outputs."""

    events: float
    rounds: float
    window_s: float
    outputs_s: float


@dataclass(frozen=True)
class Sweep:
    """What was measured, or simulated, of one configuration.

    Attributes:
        configuration: the world.
        simulated: by `simulate`, not measured.
        static, trace: what the predictor sees; the trace is `F`, float32 `[metrics, T, 3]`.
        profile: of a serial step.
        candidates: thread counts, `SERIAL` among them.
        seconds: float64 `[turns, candidates]`, wall seconds of a step. Each turn measured all in turn.
    """

    configuration: Configuration
    simulated: bool
    static: StaticFeatures
    profile: Profile
    candidates: tuple[int, ...]
    seconds: np.ndarray
    trace: np.ndarray

    @property
    def cpus(self) -> int:
        """Effective CPUs of the machine."""
        return int(self.static.cpus)

    def times(self, turns: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Median over some turns of a step's time, float64 `[candidates]`."""
        return np.median(self.seconds[turns], axis=0)


# -- files -----------------------------------------------------------------------------------------


def write_sweeps(folder: Path, sweeps: Iterable[Sweep]) -> None:
    """Write all sweeps to `folder`, which exists; each file whole or not at all."""
    ordered = sorted(sweeps, key=lambda s: s.configuration.index)
    write_whole(folder / TRACES, _gzipped(("index", "step", "metric", *AGGREGATES), _trace_rows(ordered)))
    write_whole(folder / SWEEPS, _gzipped(_sweep_columns(ordered), _sweep_rows(ordered)))


def read_sweeps(folder: Path) -> list[Sweep]:
    """The sweeps of a folder, by index; none if it has no files of them yet."""
    if not (folder / SWEEPS).exists():
        return []
    traces = _read_traces(folder / TRACES)
    groups: dict[int, list[dict[str, str]]] = {}
    for row in _rows(folder / SWEEPS):
        groups.setdefault(int(row["index"]), []).append(row)
    return [_sweep(rows, traces[index]) for index, rows in groups.items()]


def _sweep_columns(sweeps: Sequence[Sweep]) -> tuple[str, ...]:
    turns = max((len(s.seconds) for s in sweeps), default=0)
    profile = (f.name for f in fields(Profile))
    named = ("index", "world", "size", "arguments", "seed", "simulated", *_STATIC, *profile, "threads")
    return (*named, *(f"seconds_{t}" for t in range(turns)))


def _sweep_rows(sweeps: Iterable[Sweep]) -> Iterator[tuple]:
    for sweep in sweeps:
        c, static = sweep.configuration, (f"{getattr(sweep.static, name):.7g}" for name in _STATIC)
        profile = (f"{value:.6g}" for value in vars(sweep.profile).values())
        head = (c.index, c.world, c.size, json.dumps(c.arguments), c.seed, int(sweep.simulated))
        common = (*head, *static, *profile)
        for candidate, seconds in zip(sweep.candidates, sweep.seconds.T):
            yield (*common, candidate, *(f"{s:.5g}" for s in seconds))


def _trace_rows(sweeps: Iterable[Sweep]) -> Iterator[tuple]:
    """Masked metrics have no row."""
    for sweep in sweeps:
        for name, steps in zip(METRICS, sweep.trace):
            for t, values in enumerate(steps):
                if np.isfinite(values[0]):
                    yield (sweep.configuration.index, t, name, *(f"{v:.5g}" for v in values))


def _sweep(rows: list[dict[str, str]], trace: np.ndarray) -> Sweep:
    first = rows[0]
    turns = [name for name in first if name.startswith("seconds_") and first[name]]
    return Sweep(
        Configuration(
            int(first["index"]),
            first["world"],
            int(first["size"]),
            json.loads(first["arguments"]),
            int(first["seed"]),
        ),
        first["simulated"] == "1",
        StaticFeatures(**{name: float(first[name]) for name in _STATIC}),
        Profile(**{f.name: float(first[f.name]) for f in fields(Profile)}),
        tuple(int(row["threads"]) for row in rows),
        np.array([[float(row[t]) for row in rows] for t in turns]),
        trace,
    )


def _read_traces(path: Path) -> dict[int, np.ndarray]:
    place = {name: m for m, name in enumerate(METRICS)}
    entries: dict[int, list[tuple[int, int, list[float]]]] = {}
    for row in _rows(path):
        values = [float(row[name]) for name in AGGREGATES]
        entries.setdefault(int(row["index"]), []).append((place[row["metric"]], int(row["step"]), values))
    traces = {}
    for index, cells in entries.items():
        steps = 1 + max(t for _, t, _ in cells)
        traces[index] = np.full((len(METRICS), steps, len(AGGREGATES)), np.nan, np.float32)
        for metric, t, values in cells:
            traces[index][metric, t] = values
    return traces


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with gzip.open(path, "rt", newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)


def _gzipped(columns: Sequence[str], rows: Iterable[tuple]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return gzip.compress(text.getvalue().encode(), mtime=0)
