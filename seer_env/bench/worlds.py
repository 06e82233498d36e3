"""`seer-env bench worlds`: every world at its sizes, by arrays and by dicts; battle beside MAgent2's.

Copies in one engine are measured beside as many envs stepped one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from seer_env.bench.copies import CASES, GAIN, SEPARATE, TOGETHER, Case, Pair, seconds_per_step
from seer_env.bench.experiment import Claim, Contender, Experiment, Group, Measure
from seer_env.bench.magent2 import MAgent2Battle, equal_terms, why_absent
from seer_env.bench.options import check_seconds, check_threads
from seer_env.bench.players import ArrayPlayer, DictPlayer, Player, pace
from seer_env.commands.output import CommandError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from seer_env.bench.results import Results

#: Agents of each world. PCS: the sizes of the SEER paper (arXiv 2611.07996), as for Aircraft its smallest
#: and largest; battle: those at which MAgent2 is measured.
SIZES = {
    "aircraft_v0": (206, 400, 800, 1426),
    "pcs_v0": (400, 800, 900, 1600, 2500, 3600, 4900),
    "battle_v0": (200, 400, 800, 1600),
    "epidemic_v0": (1000, 10000),
    "flock_v0": (500, 5000),
}
RIVAL, RIVAL_WORLD = Contender("MAgent2"), "battle_v0"
HEAP = Contender("heap")
MS, STEPS, EVENTS = "ms/step", "M agent-steps/s", "M events/s"
OVER_RIVAL, OVER_HEAP = "it / MAgent2", "heap / it"
#: Times MAgent2's agent-steps that ours should make.
AT_LEAST = {"arrays": 5.0, "dicts": 3.0}


@dataclass
class WorldsExperiment(Experiment):
    """Steps, agent-steps and events of every world with random actions; MAgent2's battle; copies."""

    name: ClassVar[str] = "worlds"
    columns: ClassVar[Mapping[str, str]] = {
        MS: ".3f", STEPS: ".3f", EVENTS: ".2f", OVER_HEAP: ".2f", OVER_RIVAL: ".2f", GAIN: ".2f"
    }  # fmt: skip

    worlds: tuple[str, ...] = tuple(SIZES)
    """Worlds to measure."""
    agents: tuple[int, ...] = ()
    """Numbers of agents, for every world; without it each world has its own."""
    threads: tuple[int, ...] = (1, 2)
    """Thread counts: 1 is `serial`, more are `seer`."""
    seconds: float = 0.2
    """Wall seconds of steps per measurement."""
    copies: bool = True
    """Copies in one engine are measured too, unless this leaves them out."""

    def groups(self) -> Sequence[Group]:
        unknown = [world for world in self.worlds if world not in SIZES]
        if unknown:
            raise CommandError(f"--worlds: no world {unknown[0]!r}; there are {' '.join(SIZES)}")
        check_seconds(self.seconds)
        check_threads(self.threads)
        sizes = {world: self.agents or SIZES[world] for world in self.worlds}
        cases = CASES if self.copies else ()
        if self.quick:
            sizes, cases = {world: few[:1] for world, few in sizes.items()}, cases[:1]
        return [
            *(
                Group(f"{world}, {n} agents", partial(self.play, world, n), {})
                for world, several in sizes.items()
                for n in several
            ),
            *(Group(str(case), partial(self.copy, case)) for case in cases),
        ]

    @property
    def span(self) -> float:
        """Wall seconds of a measurement."""
        return 0.02 if self.quick else self.seconds

    def play(self, world: str, n: int, stack: ExitStack) -> dict[Contender, Measure]:
        """All schedulers and APIs on `n` agents of a world, and MAgent2 where it is installed."""
        arguments: dict[str, Any] = equal_terms(n) if world == RIVAL_WORLD else {"n_agents": n}
        arguments["seed"] = self.seed
        players: dict[Contender, Player] = {
            HEAP: ArrayPlayer(world, threads=1, scheduler="heap", **arguments)
        }
        for threads in self.threads:
            players[ours("arrays", threads)] = ArrayPlayer(world, threads=threads, **arguments)
            players[ours("dicts", threads)] = DictPlayer(world, threads=threads, **arguments)
        if world == RIVAL_WORLD and why_absent() is None:
            players[RIVAL] = MAgent2Battle(n, self.seed)
        for player in players.values():
            stack.callback(player.close)
            pace(player, 0.0001)  # compiles, and begins an episode
        return {contender: partial(self.measure, player) for contender, player in players.items()}

    def measure(self, player: Player) -> dict[str, float]:
        """Step a while with random actions, which are drawn outside the measured time."""
        p = pace(player, self.span)
        rates = {MS: 1e3 * p.seconds / p.steps, STEPS: p.agent_steps / p.seconds / 1e6}
        return {**rates, EVENTS: p.events / p.seconds / 1e6} if p.events else rates

    def copy(self, case: Case, stack: ExitStack) -> dict[Contender, Measure]:
        """Copies in one engine, and as many envs.

        Raises:
            CommandError: a copy does not end an episode as its env does.
        """
        pair = Pair(case, self.seed)
        stack.callback(pair.close)
        if not pair.equal_after_an_episode():
            raise CommandError(f"{case}: not equal to separate envs")
        steppers = {
            Contender(SEPARATE, case.threads): (pair.reset_envs, pair.step_envs),
            Contender(TOGETHER, case.threads): (pair.reset_copies, pair.step_copies),
        }

        def measure(reset, step) -> dict[str, float]:
            seconds = seconds_per_step(reset, step, self.span)
            return {MS: 1e3 * seconds, STEPS: case.copies * case.agents / seconds / 1e6}

        return {contender: partial(measure, *both) for contender, both in steppers.items()}

    def derived(self, results: Results, group: Group, contender: Contender) -> Mapping[str, float]:
        here = results.contenders(group.name)
        figures = {}
        if HEAP in here:
            figures[OVER_HEAP] = results.ratio(group.name, HEAP, contender, MS)
        if RIVAL in here:
            figures[OVER_RIVAL] = results.ratio(group.name, contender, RIVAL, STEPS)
        if contender.name == TOGETHER:
            figures[GAIN] = results.ratio(group.name, here[0], contender, MS)
        return figures

    def claims(self, results: Results) -> Sequence[Claim]:
        claims = []
        for group in results.groups():
            here = results.contenders(group)
            arrays = [c for c in here if c.name == "arrays"]
            if HEAP in here and arrays:
                gain = results.ratio(group, HEAP, results.best(group, arrays, MS), MS)
                claims.append(Claim(f"{group}: times as fast as heap", gain, "at least", 1.0))
            if RIVAL in here:
                for api, limit in AT_LEAST.items():
                    best = results.best(group, [c for c in here if c.name == api], MS)
                    gain = results.ratio(group, best, RIVAL, STEPS)
                    claims.append(Claim(f"{group}: by {api}, times MAgent2", gain, "at least", limit))
        return claims

    def notes(self, results: Results) -> Sequence[str]:
        absent = why_absent() if RIVAL_WORLD in self.worlds else None
        return [] if absent is None else [f"MAgent2 was left out: {absent}"]

    def draw(self, results: Results, figure: Figure) -> None:
        axes = figure.subplots()
        groups = results.groups()
        for contender in dict.fromkeys(c for group in groups for c in results.contenders(group)):
            places = [i for i, group in enumerate(groups) if results.values(group, contender, STEPS)]
            rates = [results.median(groups[i], contender, STEPS) for i in places]
            axes.plot(rates, np.array(places), "o", label=str(contender), alpha=0.7)
        axes.set_yticks(range(len(groups)), groups, fontsize="x-small")
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.grid(axis="y", alpha=0.3)
        axes.set(xlabel="million agent-steps per second", title="Worlds, random actions")
        axes.legend(fontsize="small")


def ours(api: str, threads: int) -> Contender:
    """An env stepped by arrays or by dicts: `serial` on one thread, else `seer`."""
    return Contender(api, threads)
