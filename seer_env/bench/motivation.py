"""`seer-env bench motivation`: `battle_v0` beside MAgent2's, end to end, over entities and event time.

Fig. 3 of the SEER paper (arXiv 2611.07996). Both play the same game with the same policy, MAPPO's actor. More
work per action means the same arithmetic on both sides: ours in the handler, MAgent2's in a compiled
loop before its step, on the one thread that it has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from seer_env.bench.calibration import calibrate
from seer_env.bench.end_to_end import ActorPolicy, ByArrays, ByDicts, measure_parts, torch_missing
from seer_env.bench.experiment import Claim, Contender, Experiment, Group, Measure
from seer_env.bench.magent2 import MAgent2Battle, equal_terms, why_absent
from seer_env.bench.options import check_seconds
from seer_env.bench.slow_battle import SlowBattle, burn_all
from seer_env.registration import make

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from seer_env.bench.results import Results

#: Agents without extra work, and microseconds of work per action for one number of them.
AGENTS, MANY, WORK_US = (200, 400, 800, 1600), 800, (0.0, 1.0, 10.0, 100.0)
RIVAL, DICTS, ARRAYS = Contender("MAgent2"), Contender("ours, dicts", 2), Contender("ours, arrays", 2)
WORK = Contender("the work alone")


@dataclass
class MotivationExperiment(Experiment):
    """The game of battle end to end, with MAPPO's policy, beside MAgent2's."""

    name: ClassVar[str] = "motivation"
    columns: ClassVar[Mapping[str, str]] = {
        "total": ".3f", "inference": ".3f", "steps/s": ".0f", "us of work": ".2f", "MAgent2 / it": ".2f"
    }  # fmt: skip

    seconds: float = 0.5
    """Wall seconds per measurement."""

    def missing(self) -> str | None:
        return torch_missing()

    def groups(self) -> Sequence[Group]:
        check_seconds(self.seconds)
        cells = [*((n, 0.0) for n in AGENTS), *((MANY, us) for us in WORK_US if us)]
        if self.quick:
            cells = [cells[0], cells[-2]]
        return [
            Group(cell(n, us), partial(self.make, n), {"agents": n}, partial(work_that_takes, us))
            for n, us in cells
        ]

    def make(self, n: int, stack: ExitStack, found: Mapping[str, float]) -> dict[Contender, Measure]:
        """The same game under the same policy, with the work per action that was found."""
        units, terms = int(found["units"]), equal_terms(n)
        span = 0.05 if self.quick else self.seconds
        agents = terms.pop("n_agents")
        contenders: dict[Contender, Measure] = {}

        def add(contender: Contender, kind: Callable[..., Any], env: Any) -> None:
            space = env.action_space(env.possible_agents[0])
            size = int(np.prod(env.observation_space(env.possible_agents[0]).shape))
            loop = kind(env, ActorPolicy(size, space, self.seed), self.seed)
            stack.callback(env.close)
            measure_parts(loop, 0.05)
            contenders[contender] = partial(measure_parts, loop, span)

        if why_absent() is None:
            add(RIVAL, ByDicts, Working(MAgent2Battle(n).env, units))
        for contender, kind in ((DICTS, ByDicts), (ARRAYS, ByArrays)):
            model = SlowBattle(agents, units, **terms)
            add(contender, kind, make(model, scheduler="seer", threads=contender.threads))
        if units:
            contenders[WORK] = partial(work_alone, agents, units)
        return contenders

    def derived(self, results: Results, group: Group, contender: Contender) -> Mapping[str, float]:
        if RIVAL not in results.contenders(group.name) or contender == WORK:
            return {}
        return {"MAgent2 / it": results.ratio(group.name, RIVAL, contender, "total")}

    def claims(self, results: Results) -> Sequence[Claim]:
        return [
            Claim(
                f"{group}: times as fast as MAgent2, end to end",
                results.ratio(group, RIVAL, ARRAYS, "total"),
                "at least",
                1.0,
            )
            for group in results.groups()
            if RIVAL in results.contenders(group)
        ]

    def notes(self, results: Results) -> Sequence[str]:
        absent = why_absent()
        told = ["Times are milliseconds per step; the work is what an action's extra arithmetic takes alone."]
        return told if absent is None else [*told, f"MAgent2 was left out: {absent}"]

    def draw(self, results: Results, figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        sizes, times = [cell(n, 0.0) for n in AGENTS], [cell(MANY, us) for us in WORK_US]
        for axes, groups, x in ((left, sizes, AGENTS), (right, times, WORK_US)):
            for contender in (RIVAL, DICTS, ARRAYS):
                points = [
                    (at, results.median(group, contender, "total"))
                    for at, group in zip(x, groups)
                    if results.values(group, contender, "total")
                ]
                axes.plot(*zip(*points), marker="o", label=str(contender)) if points else None
            axes.set_yscale("log")
            axes.set_ylabel("milliseconds per step, policy included")
        left.set(xlabel="agents", title="no extra work", xscale="log")
        right.set(xlabel="microseconds of work per action", title=f"{MANY} agents")
        right.set_xscale("symlog", linthresh=1.0)
        left.legend()


class Working:
    """An env that does the work of its agents' actions before each step, on one thread.

    Args:
        env: a PettingZoo ParallelEnv.
        units: of work per action, see `slow_battle.burn`.
    """

    def __init__(self, env: Any, units: int):
        self._env, self._units = env, units
        self._values = np.zeros(len(env.possible_agents))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)

    def step(self, actions: dict) -> Any:
        """Work for each action, then step."""
        burn_all(self._values[: len(actions)], self._units)
        return self._env.step(actions)


def cell(n: int, us: float) -> str:
    """Name of a group."""
    return f"{n} agents, {us:g} us"


def work_that_takes(us: float) -> dict[str, float]:
    """The units of work that take so many microseconds, and how far they are from it; none for 0."""
    if us == 0.0:
        return {"units": 0.0}
    found = calibrate(lambda units: work_alone(MANY, units)["us of work"], us)
    return {"units": found.work, "us/action": found.measured_us, "error %": 100.0 * found.error}


def work_alone(agents: int, units: int) -> dict[str, float]:
    """Milliseconds of a step's extra work on one thread, and microseconds of it per action."""
    values = np.zeros(agents)
    burn_all(values[:1], 1)
    started = perf_counter()
    burn_all(values, units)
    seconds = perf_counter() - started
    return {"total": 1e3 * seconds, "us of work": 1e6 * seconds / agents}
