"""`seer-env bench flock`: `step_arrays` of the world `flock` against the loop a user would write.

Also what `step`'s dicts cost against the plainest way to build them, and the fixed cost of a step.
Every pair is measured in turn, in the same process.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numba
import numpy as np
import tyro

from seer_env.bench.cores import worth_of_second_core
from seer_env.bench.flock_loop import FlockLoop
from seer_env.bench.options import check_measurement
from seer_env.bench.report import print_table, progress_bar
from seer_env.bench.tick import Tick
from seer_env.bench.timing import interleaved, machine, medians, seconds_per_call
from seer_env.commands.output import CommandError, write_json
from seer_env.env import SeerParallelEnv
from seer_env.envs.flock_v0 import Flock

#: Most that an observation or a reward may differ from the loop's.
TOLERANCE = 1e-6
#: Blocks of actions, drawn beforehand and used in turn.
BLOCKS = 16
DICT_AGENTS, FIXED_ENTITIES = 5000, 100


@dataclass
class Args:
    """Time the world `flock` against a hand-written numba loop with the same rules."""

    agents: tuple[int, ...] = (500, 5000, 100000)
    """Numbers of agents."""
    threads: tuple[int, ...] = (1, 2)
    """Thread counts: 1 compares `serial` with the serial loop, more compare `seer` with `prange`."""
    repeats: int = 7
    """Measurements per contender, in turn with the other's."""
    seconds: float = 0.3
    """Wall seconds per measurement."""
    seed: int = 0
    """Seed of the worlds and of the actions."""
    quick: bool = False
    """A smoke test: one measurement of 0.02 seconds. Its figures say little."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """Write the list of results here."""

    def main(self) -> int:
        """See `main`."""
        return main(self)


def main(args: Args) -> int:
    """Run, print the tables, write JSON; 1 if env and loop differ by more than 1e-6, else 0.

    Raises:
        CommandError: an option out of its range, or a JSON file that cannot be written.
    """
    if min(args.agents, default=18) < 18:
        raise CommandError(f"--agents {min(args.agents)}: the loop needs at least 18")
    check_measurement(args.repeats, args.seconds, args.threads, args.json)
    if args.quick:
        args.repeats, args.seconds = 1, 0.02
    pairs = [(n, t) for n in args.agents for t in args.threads]
    results = []
    with progress_bar() as progress:
        task = progress.add_task("", total=args.repeats * (3 * len(pairs) + 3))
        done = partial(progress.update, task, advance=1, refresh=True)
        for n, threads in pairs:
            progress.update(task, description=f"{n} agents, threads {threads}", refresh=True)
            results.append(compare_arrays(n, threads, args, done))
        progress.update(task, description="dicts", refresh=True)
        results.append(compare_dicts(DICT_AGENTS, args, done))
        progress.update(task, description="fixed cost", refresh=True)
        results.append(fixed_cost(args, done))
    _print(results)
    write_json(args.json, results)
    wrong = [r for r in results if r.get("largest_difference", 0.0) > TOLERANCE]
    for r in wrong:
        print(f"{r['agents']} agents, threads {r['threads']}: differs by {r['largest_difference']:.3g}")
    return 1 if wrong else 0


def compare_arrays(n: int, threads: int, args: Args, done: Callable[[], object], scheduler: str = "") -> dict:
    """`step_arrays` beside the loop: ms of both, their ratio, and their largest difference."""
    pair = Pair(n, threads, args.seed, scheduler)
    difference = max(pair.difference() for _ in range(10))
    cases = {
        "loop": lambda: pair.time_loop(args.seconds),
        "seer": lambda: seconds_per_call(pair.step_env, args.seconds),
        "second core": worth_of_second_core,
    }
    times = medians(interleaved(cases, args.repeats, done))
    pair.env.close()
    return {
        "measure": "step_arrays",
        "agents": n,
        "threads": threads,
        "yardstick_ms": 1e3 * times["loop"],
        "seer_ms": 1e3 * times["seer"],
        "ratio": times["seer"] / times["loop"],
        "agent_steps_per_s": n / times["seer"],
        "largest_difference": difference,
        "second_core": times["second core"],
    }


class Pair:
    """An env and a loop that start from the same flock and are given the same actions."""

    def __init__(self, n: int, threads: int, seed: int, scheduler: str = ""):
        self._threads, self._env_steps, self._loop_steps = threads, 0, 0
        self.env = make_flock(n, threads, scheduler)
        self.env.reset_arrays(seed)
        side = self.env.model.params["side"]
        self.loop = FlockLoop(self.env.entities, side, parallel=threads > 1)
        self._actions = action_blocks(n, seed)

    def time_loop(self, at_least_s: float) -> float:
        """Seconds per step of the loop, on as many threads as the env."""
        numba.set_num_threads(self._threads)
        return seconds_per_call(self.step_loop, at_least_s)

    def step_loop(self) -> None:
        """One step of the loop."""
        self.loop.step(self._actions[self._loop_steps % BLOCKS])
        self._loop_steps += 1

    def step_env(self) -> Any:
        """One step of the env; what `step_arrays` returned."""
        self._env_steps += 1
        return self.env.step_arrays(self._actions[(self._env_steps - 1) % BLOCKS])

    def difference(self) -> float:
        """Step both (which must have made equally many steps); the largest absolute difference."""
        self.step_loop()
        shown = self.step_env()
        observed = np.abs(shown.observations - self.loop.observations).max()
        return float(max(observed, np.abs(shown.rewards - self.loop.rewards).max()))


def make_flock(n: int, threads: int, scheduler: str = "") -> SeerParallelEnv:
    """The env on `serial` for one thread, else on `seer`; or on the scheduler named."""
    scheduler = scheduler or ("serial" if threads == 1 else "seer")
    return SeerParallelEnv(Flock(n), scheduler=scheduler, threads=threads)


def action_blocks(n: int, seed: int) -> list[np.ndarray]:
    """`BLOCKS` blocks of random actions, float32 `[n, 2]` in -1..1."""
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1.0, 1.0, (n, 2)).astype(np.float32) for _ in range(BLOCKS)]


def compare_dicts(n: int, args: Args, done: Callable[[], object], scheduler: str = "") -> dict:
    """What `step` spends on dicts beside the plainest code that gathers and builds the same."""
    env = make_flock(n, 1, scheduler)
    env.reset(args.seed)
    names = list(env.agents)
    actions, still = dict(zip(names, action_blocks(n, args.seed)[0])), np.zeros((n, 2), np.float32)

    def ours() -> float:
        env.step(actions)
        return env.last_step_stats.actions_s + env.last_step_stats.dicts_s

    def plain() -> float:
        shown = env.step_arrays(still)
        info: Any = env.info_arrays
        start = time.perf_counter()
        built = gather(names, actions), plain_dicts(names, shown, info)
        elapsed = time.perf_counter() - start
        del built  # after the clock, as in `step`
        return elapsed

    cases = {
        name: partial(_median_of, case, args.seconds) for name, case in (("plain", plain), ("seer", ours))
    }
    times = medians(interleaved(cases, args.repeats, done))
    env.close()
    return {
        "measure": "dicts",
        "agents": n,
        "threads": 1,
        "yardstick_ms": 1e3 * times["plain"],
        "seer_ms": 1e3 * times["seer"],
        "ratio": times["seer"] / times["plain"],
    }


def gather(names: list[str], actions: dict[str, np.ndarray]) -> np.ndarray:
    """The plainest way from an action dict to a block `[M, A]`; checks nothing."""
    return np.concatenate([actions[name] for name in names]).reshape(len(names), -1)


def plain_dicts(names: list[str], shown: Any, info: np.ndarray) -> tuple[dict, dict, dict, dict, dict]:
    """The plainest way to the five dicts of a step of `flock`."""
    counts, nearest = info["neighbours"].tolist(), info["nearest"].tolist()
    return (
        dict(zip(names, shown.observations)),
        dict(zip(names, shown.rewards.tolist())),
        dict(zip(names, shown.terminated.tolist())),
        dict(zip(names, shown.truncated.tolist())),
        {name: {"neighbours": c, "nearest": q} for name, c, q in zip(names, counts, nearest)},
    )


def fixed_cost(args: Args, done: Callable[[], object], scheduler: str = "serial") -> dict:
    """`step_arrays` where there is next to nothing to do: 100 entities, one trivial event each."""
    env = SeerParallelEnv(Tick(FIXED_ENTITIES), scheduler=scheduler, threads=1)
    env.reset_arrays(args.seed)
    actions = np.zeros((FIXED_ENTITIES, 1), np.float32)
    env.step_arrays(actions)
    cases = {"seer": lambda: seconds_per_call(lambda: env.step_arrays(actions), args.seconds, batch=20)}
    times = medians(interleaved(cases, args.repeats, done))
    env.close()
    return {"measure": "fixed", "agents": FIXED_ENTITIES, "threads": 1, "seer_ms": 1e3 * times["seer"]}


def _median_of(case: Callable[[], float], at_least_s: float) -> float:
    """The median of a self-timing case, run for a time."""
    values, start = [case()], time.perf_counter()
    while time.perf_counter() - start < at_least_s:
        values.append(case())
    return statistics.median(values)


def _print(results: list[dict]) -> None:
    yardsticks = {"step_arrays": "numba loop", "dicts": "plain dicts", "fixed": ""}
    lines = [
        (
            r["measure"],
            f"{r['agents']}",
            f"{r['threads']}",
            yardsticks[r["measure"]],
            f"{r['yardstick_ms']:.4f}" if "yardstick_ms" in r else "",
            f"{r['seer_ms']:.4f}",
            f"{r['ratio']:.2f}" if "ratio" in r else "",
            f"{r['agent_steps_per_s'] / 1e6:.2f}" if "agent_steps_per_s" in r else "",
            f"{r['largest_difference']:.0e}" if "largest_difference" in r else "",
            f"{r['second_core']:.2f}" if "second_core" in r else "",
        )
        for r in results
    ]
    columns = (
        "measure",
        "agents",
        "threads",
        "yardstick",
        "its ms",
        "our ms",
        "ratio",
        "M agents/s",
        "difference",
        "2nd core",
    )
    note = "2nd core: speed of two threads of plain arithmetic over one, 2.0 on free cores"
    print_table("Flock", columns, lines, f"medians; {note}; {machine()}")
