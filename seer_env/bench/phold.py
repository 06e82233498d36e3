"""`seer-env bench phold`: the engine against a numba heap that runs PHOLD and nothing else.

Per row and repeat every contender runs the same windows `[k*dt, (k+1)*dt)` of the same world, in
turn; window 0 is a warm-up. State digests after the last window must agree.
"""

from __future__ import annotations

import hashlib
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import tyro

from seer_env.bench.cores import busy_core, worth_of_second_core
from seer_env.bench.heap import HeapPhold
from seer_env.bench.report import print_table, progress_bar
from seer_env.bench.timing import interleaved, machine, median_interval
from seer_env.commands.output import CommandError, check_writable, write_json
from seer_env.envs.phold import Phold
from seer_env.runtime.engine import make_engine


@dataclass(frozen=True)
class Row:
    """One PHOLD configuration; see `Phold` for the fields. `dt` makes a window of about a second."""

    n: int
    population: int
    work: int
    lookahead: float
    mean: float
    remote: float
    dt: float


#: A..H: delay 0.1 + Exp(0.9). 1..8: delay lookahead + Exp(1), every target drawn from all.
ROWS = {
    "A": Row(1024, 1, 0, 0.1, 0.9, 0.5, 1000.0),
    "B": Row(1024, 16, 0, 0.1, 0.9, 0.5, 100.0),
    "C": Row(4096, 4, 0, 0.1, 0.9, 0.5, 100.0),
    "D": Row(16384, 1, 0, 0.1, 0.9, 0.5, 100.0),
    "E": Row(1024, 4, 0, 0.1, 0.9, 0.1, 400.0),
    "F": Row(1024, 4, 0, 0.1, 0.9, 0.9, 400.0),
    "G": Row(1024, 1, 4100, 0.1, 0.9, 0.5, 100.0),
    "H": Row(1024, 1, 41000, 0.1, 0.9, 0.5, 10.0),
    "1": Row(1000, 1, 0, 0.5, 1.0, 1.0, 1000.0),
    "2": Row(5000, 1, 0, 0.5, 1.0, 1.0, 400.0),
    "3": Row(5000, 4, 0, 0.5, 1.0, 1.0, 100.0),
    "4": Row(5000, 1, 500, 0.5, 1.0, 1.0, 100.0),
    "5": Row(5000, 1, 5000, 0.5, 1.0, 1.0, 20.0),
    "6": Row(5000, 1, 0, 0.01, 1.0, 1.0, 200.0),
    "7": Row(5000, 1, 0, 0.0, 1.0, 1.0, 20.0),
    "8": Row(100000, 1, 0, 0.5, 1.0, 1.0, 20.0),
}
#: `--quick` divides windows by this.
QUICK = 20.0

JSON_KEYS = ("row", "scheduler", "threads", "ns_per_event", "events", "digest")

Contender = tuple[str, int]
#: Measured in turn with the contenders.
SECOND_CORE: Contender = ("second core", 2)


Name = Literal["heap", "python", "serial", "seer", "ross-t", "ross-t:round-robin", "nbse", "root-sim"]
ONE_THREAD = ("heap", "python", "serial")


@dataclass
class Args:
    """Time PHOLD under a numba heap (the yardstick), `serial` and `seer`."""

    rows: tuple[str, ...] = tuple(ROWS)
    """Rows to run: A..H and 1..8."""
    schedulers: tuple[Name, ...] = ("heap", "serial", "seer")
    """Contenders."""
    threads: tuple[int, ...] = (1, 2, 4)
    """Thread counts of `seer` and of the systems to compare it with."""
    repeats: int = 5
    """Timed windows per contender."""
    seed: int = 0
    """Seed of the random streams."""
    busy: bool = False
    """Let another process hold a core while measuring: what an oversubscribed machine costs."""
    quick: bool = False
    """A smoke test: windows a twentieth as long. Its figures say little."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """Write a list of {row, scheduler, threads, ns_per_event, events, digest} here."""


def main(args: Args) -> int:
    """Run, print the table, write JSON; 1 if two contenders disagree about a digest, else 0.

    Raises:
        CommandError: no such row, no repeats, or a JSON file that cannot be written.
    """
    unknown = [name for name in args.rows if name not in ROWS]
    if unknown:
        raise CommandError(f"--rows: no row {unknown[0]!r}; there are {' '.join(ROWS)}")
    if args.repeats < 1:
        raise CommandError(f"--repeats {args.repeats}: at least 1")
    check_writable(args.json)
    contenders = _contenders(args)
    results = []
    with progress_bar() as progress, busy_core(args.busy):
        task = progress.add_task(
            "phold", total=len(args.rows) * (len(contenders) * (args.repeats + 1) + args.repeats)
        )
        for name in args.rows:
            done = partial(progress.update, task, advance=1, refresh=True, description=f"row {name}")
            results += run_row(name, contenders, args, done)
    _print(results)
    write_json(
        args.json, [{k: v for k, v in r.items() if k not in ("windows", "second_core")} for r in results]
    )
    differing = [n for n in args.rows if len({r["digest"] for r in results if r["row"] == n}) > 1]
    if differing:
        print(f"Digests differ on {' '.join(differing)}: contenders disagree about the final state.")
    return 1 if differing else 0


def _contenders(args: Args) -> list[Contender]:
    """`(scheduler, threads)`, each once."""
    return [(s, t) for s in args.schedulers for t in ((1,) if s in ONE_THREAD else args.threads)]


def run_row(name: str, contenders: list[Contender], args: Args, done: Callable[[], object]) -> list[dict]:
    """Measure one row: a dict per contender as in the JSON, `windows`, ns per event
    of each, and `second_core`, what it was worth in those turns."""
    row = ROWS[name]
    dt = row.dt / QUICK if args.quick else row.dt
    worlds = {}
    for contender in contenders:
        worlds[contender] = World(Phold(**{**vars(row), "dt": dt}), *contender, seed=args.seed)
        worlds[contender].window()
        done()
    cases: dict[Contender, Callable[[], float]] = {c: worlds[c].window for c in contenders}
    windows = interleaved({**cases, SECOND_CORE: worth_of_second_core}, args.repeats, done)
    second_core = statistics.median(windows[SECOND_CORE])
    return [
        {
            "row": name,
            "scheduler": scheduler,
            "threads": threads,
            "ns_per_event": statistics.median(windows[scheduler, threads]),
            "events": worlds[scheduler, threads].events,
            "digest": worlds[scheduler, threads].digest(),
            "windows": windows[scheduler, threads],
            "second_core": second_core,
        }
        for scheduler, threads in contenders
    ]


class World:
    """A PHOLD world under one contender: `heap`, or a scheduler of the engine with its threads."""

    def __init__(self, model: Phold, scheduler: str, threads: int, seed: int):
        self.events = 0
        """Events executed so far, the warm-up's too."""
        if scheduler == "heap":
            heap = HeapPhold(model, seed)
            self._step, self._state = heap.step, lambda: heap.state
            return
        engine = make_engine(model, scheduler, threads)
        engine.reset(seed)
        actions, live = np.zeros((0, model.action_size)), np.zeros(0, bool)

        def step() -> int:
            engine.step(actions, live)
            return engine.stats.events

        self._step, self._state = step, lambda: engine.state

    def window(self) -> float:
        """Run the next window; wall nanoseconds per event."""
        start = time.perf_counter_ns()
        events = self._step()
        elapsed = time.perf_counter_ns() - start
        self.events += events
        return elapsed / max(events, 1)

    def digest(self) -> str:
        """Hex digest of the entities' rows."""
        return hashlib.blake2b(self._state().tobytes(), digest_size=16).hexdigest()


def _print(results: list[dict]) -> None:
    heap = {r["row"]: r["ns_per_event"] for r in results if r["scheduler"] == "heap"}
    lines = []
    for r in results:
        low, high, _ = median_interval(r["windows"])
        base = heap.get(r["row"])
        lines.append(
            (
                r["row"],
                r["scheduler"],
                str(r["threads"]),
                f"{r['ns_per_event']:.1f}",
                f"{low:.1f} .. {high:.1f}",
                f"{r['ns_per_event'] / base:.2f}" if base else "",
                f"{r['events']}",
                f"{r['second_core']:.2f}",
                r["digest"][:8],
            )
        )
    coverage = median_interval(results[0]["windows"]).coverage if results else 0.0
    print_table(
        "PHOLD",
        (
            "row",
            "scheduler",
            "threads",
            "ns/event",
            "interval",
            "time / heap",
            "events",
            "2nd core",
            "digest",
        ),
        lines,
        f"medians; intervals cover the median with {coverage:.0%}; 2nd core: speed of two threads of plain "
        f"arithmetic over one, 2.0 on free cores; {machine()}",
    )
