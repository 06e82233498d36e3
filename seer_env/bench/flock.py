"""`seer-env bench flock`: `step_arrays` of the world `flock` against the loop a user would write.

Also what `step`'s dicts cost against the plainest way to build them, and the fixed cost of a step.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numba
import numpy as np

from seer_env.bench.experiment import Claim, Contender, Experiment, Group, Measure
from seer_env.bench.flock_loop import FlockLoop
from seer_env.bench.options import check_seconds, check_threads
from seer_env.bench.tick import Tick
from seer_env.bench.timing import seconds_per_call
from seer_env.commands.output import CommandError
from seer_env.env import SeerParallelEnv
from seer_env.envs.flock_v0 import Flock

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from seer_env.bench.results import Results

#: Most that an observation or a reward may differ from the loop's.
TOLERANCE = 1e-6
#: Times as long as the loop that a step may take: on one thread, and on more.
AT_MOST = {1: 1.15, 2: 1.1}
#: Blocks of actions, drawn beforehand and used in turn.
BLOCKS = 16
DICT_AGENTS, FIXED_ENTITIES = 5000, 100
PLAIN, OURS = Contender("plain dicts"), Contender("dicts of step")
MS, RATIO, RATE = "ms/step", "it / yardstick", "M agent-steps/s"


@dataclass
class FlockExperiment(Experiment):
    """The world `flock` beside a hand-written numba loop with the same rules; dicts; the fixed cost."""

    name: ClassVar[str] = "flock"
    columns: ClassVar[Mapping[str, str]] = {MS: ".4f", RATIO: ".2f", RATE: ".2f"}

    agents: tuple[int, ...] = (500, 5000, 100000)
    """Numbers of agents."""
    threads: tuple[int, ...] = (1, 2)
    """Thread counts: 1 compares `serial` with the serial loop, more compare `seer` with `prange`."""
    repeats: int = 7
    seconds: float = 0.3
    """Wall seconds per measurement."""

    def groups(self) -> Sequence[Group]:
        if min(self.agents, default=18) < 18:
            raise CommandError(f"--agents {min(self.agents)}: the loop needs at least 18")
        check_seconds(self.seconds)
        check_threads(self.threads)
        return [
            *(
                Group(f"{n} agents, {t} threads", partial(self.beside_the_loop, n, t), {"agents": n})
                for n in self.agents
                for t in self.threads
            ),
            Group("dicts", self.dicts, {"agents": DICT_AGENTS}),
            Group("fixed cost", self.fixed_cost, {"agents": FIXED_ENTITIES}),
        ]

    @property
    def span(self) -> float:
        """Wall seconds of a measurement."""
        return 0.02 if self.quick else self.seconds

    def beside_the_loop(
        self, n: int, threads: int, stack: ExitStack, scheduler: str = ""
    ) -> dict[Contender, Measure]:
        """`step_arrays` and the loop, after ten steps of both.

        Raises:
            CommandError: they do not show the same.
        """
        pair = Pair(n, threads, self.seed, scheduler)
        stack.callback(pair.env.close)
        difference = max(pair.difference() for _ in range(10))
        if difference > TOLERANCE:
            raise CommandError(f"{n} agents, {threads} threads: env and loop differ by {difference:.3g}")

        def env() -> dict[str, float]:
            seconds = seconds_per_call(pair.step_env, self.span)
            return {MS: 1e3 * seconds, RATE: n / seconds / 1e6}

        return {
            loop_on(threads): lambda: {MS: 1e3 * pair.time_loop(self.span)},
            Contender(pair.env.scheduler, threads): env,
        }

    def dicts(self, stack: ExitStack, n: int = DICT_AGENTS, scheduler: str = "") -> dict[Contender, Measure]:
        """What `step` spends on dicts beside the plainest code that gathers and builds the same."""
        env = make_flock(n, 1, scheduler)
        stack.callback(env.close)
        env.reset(self.seed)
        names = list(env.agents)
        actions, still = dict(zip(names, action_blocks(n, self.seed)[0])), np.zeros((n, 2), np.float32)

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

        return {
            PLAIN: lambda: {MS: 1e3 * median_of(plain, self.span)},
            OURS: lambda: {MS: 1e3 * median_of(ours, self.span)},
        }

    def fixed_cost(self, stack: ExitStack, scheduler: str = "serial") -> dict[Contender, Measure]:
        """`step_arrays` where there is next to nothing to do: 100 entities, one trivial event each."""
        env = SeerParallelEnv(Tick(FIXED_ENTITIES), scheduler=scheduler, threads=1)
        stack.callback(env.close)
        env.reset_arrays(self.seed)
        actions = np.zeros((FIXED_ENTITIES, 1), np.float32)
        env.step_arrays(actions)

        def measure() -> dict[str, float]:
            return {MS: 1e3 * seconds_per_call(lambda: env.step_arrays(actions), self.span, batch=20)}

        return {Contender(scheduler): measure}

    def derived(self, results: Results, group: Group, contender: Contender) -> Mapping[str, float]:
        yardstick = results.contenders(group.name)[0]
        if contender == yardstick:
            return {}
        return {RATIO: results.ratio(group.name, contender, yardstick, MS)}

    def claims(self, results: Results) -> Sequence[Claim]:
        claims = []
        for group in results.groups():
            yardstick, *others = results.contenders(group)
            for contender in others:
                ratio = results.ratio(group, contender, yardstick, MS)
                if yardstick.name == "loop":
                    limit = AT_MOST[min(2, contender.threads)]
                    claims.append(Claim(f"{group}: times as long as the loop", ratio, "at most", limit))
        return claims

    def draw(self, results: Results, figure: Figure) -> None:
        axes = figure.subplots()
        for threads in self.threads:
            groups = [f"{n} agents, {threads} threads" for n in self.agents]
            measured = [group for group in groups if results.turns(group)]
            for contender in results.contenders(measured[0]) if measured else ():
                rates = [n / results.median(g, contender, MS) / 1e3 for n, g in zip(self.agents, measured)]
                style = "--" if contender.name == "loop" else "-"
                axes.plot(self.agents[: len(rates)], rates, style, marker="o", label=str(contender))
        axes.set_xscale("log")
        axes.set_ylim(bottom=0.0)
        axes.set(xlabel="agents", ylabel="million agent-steps per second", title="flock beside a numba loop")
        axes.legend()


def loop_on(threads: int) -> Contender:
    """The loop, on as many threads as the env."""
    return Contender("loop", threads)


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


def median_of(case: Callable[[], float], at_least_s: float) -> float:
    """The median of a self-timing case, run for a time."""
    values, start = [case()], time.perf_counter()
    while time.perf_counter() - start < at_least_s:
        values.append(case())
    return statistics.median(values)
