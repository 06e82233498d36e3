"""`seer-env bench regret`: how much longer steps take with the threads that STPA chose than with the best."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from seer_env.bench.experiment import Claim, Contender, Experiment, Group
from seer_env.bench.options import check_seconds
from seer_env.bench.stepping import MOST_STEPS, STPA, Stepping, World, stpa
from seer_env.commands.output import CommandError
from seer_env.stpa.machine import describe, ladder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from seer_env.bench.results import Results

GOSSIP = "seer_env.bench.gossip:Gossip"
#: An episode begins anew when fewer than this share of the agents live.
LIVING = 0.7
#: Steps before anything is measured: at least so many, and for at most so many seconds of one contender.
WARM_UP_STEPS, WARM_UP_S = 40, 1.0


def worlds() -> Iterator[World]:
    """The configurations: worlds, sizes, costs of events, and for gossip how far apart in time nodes are."""
    for n in (60, 700, 9000):
        for work in (0, 500, 5000):
            for lookahead in (0.05, 0.5):
                if n * work < 20_000_000:
                    yield World(GOSSIP, "random", {"n_agents": n, "work": work, "lookahead": lookahead})
    for n in (90, 450, 1800, 7000):
        yield World("flock_v0", "random", {"n_agents": n})
    for n in (40, 220, 700):
        for complexity in (2, 20):
            yield World("aircraft_v0", "goal", {"n_agents": n, "complexity": complexity})
    yield World("aircraft_v0", "goal", {"n_agents": 400, "complexity": 8, "communication": False})
    for n in (36, 324, 1764):
        for complexity in (2, 20):
            yield World("pcs_v0", "guard", {"n_agents": n, "complexity": complexity})
    yield World("pcs_v0", "guard", {"n_agents": 900, "link_delay": 2.0})
    for n in (130, 800, 3600):
        yield World("battle_v0", "random", {"n_agents": n})
    for n in (250, 2500, 20_000):
        yield World("epidemic_v0", "random", {"n_agents": n})


class Player(Stepping):
    """A world under fixed threads or STPA, stepped through one episode after another."""

    def __init__(self, world: World, scheduler: str, threads: int | str, seed: int):
        super().__init__(world, scheduler, threads, seed)
        self._seed = seed

    def step(self) -> tuple[float, float]:
        if np.count_nonzero(self.env.live) < LIVING * self.env.model.n_agents:
            self.env.reset_arrays(self._seed)
        return super().step()

    def __call__(self) -> dict[str, float]:
        report = self.env.stpa_report
        return {**super().__call__(), "preflight ms": 1e3 * report.preflight_s}


def contest(world: World, candidates: Sequence[Contender], seed: int, seconds: float, stack: ExitStack):
    """All candidates and STPA on the same steps, behind the steps on which STPA refines its choice."""
    forget(world)
    players = {c: Player(world, c.name, c.threads, seed) for c in candidates}
    players[stpa()] = chosen = Player(world, "auto", "auto", seed)
    for player in players.values():
        stack.callback(player.env.close)
    steps, spent = 0, 0.0
    while steps < WARM_UP_STEPS or (chosen.env.stpa_report.searching and spent < WARM_UP_S):
        spent += chosen.step()[0]
        steps += 1
        if spent > WARM_UP_S:
            break
    for contender in candidates:
        for _ in range(steps):
            players[contender].step()
    for player in players.values():
        player.steps = min(MOST_STEPS, max(2, round(seconds * steps / spent)))
    return players


def forget(world: World) -> None:
    """Forget what was chosen for a world earlier: here the first reset is what is measured."""
    from seer_env.registration import make

    env = make(world.name, **world.arguments)
    env.forget_threads()
    env.close()


@dataclass
class RegretExperiment(Experiment):
    """Regret of the chosen threads, over worlds, sizes, event costs and lookahead."""

    name: ClassVar[str] = "regret"
    columns: ClassVar[Mapping[str, str]] = {
        "ms/step": ".3f", "regret %": ".1f", "beside serial %": ".1f", "beside cores %": ".1f",
        "threads used": ".0f", "preflight ms": ".0f",
    }  # fmt: skip

    repeats: int = 10
    """Measurements of each contender: a random half of them chooses the best candidate, the others score."""
    seconds: float = 0.06
    """Wall seconds of steps per measurement, two steps at least."""

    def groups(self) -> Sequence[Group]:
        check_seconds(self.seconds)
        if self.repeats < 2:
            raise CommandError(f"--repeats {self.repeats}: at least 2, half to choose and half to score")
        seconds = self.seconds / 6 if self.quick else self.seconds
        chosen = list(worlds())[:: 12 if self.quick else 1]
        return [
            Group(_name(world), partial(contest, world, self.candidates, self.seed, seconds))
            for world in chosen
        ]

    @property
    def candidates(self) -> tuple[Contender, ...]:
        """What STPA chooses from on this machine."""
        return tuple(Contender("serial" if k == 1 else "seer", k) for k in ladder(describe()))

    def derived(self, results: Results, group: Group, contender: Contender) -> Mapping[str, float]:
        if contender.name != STPA:
            return {}
        serial, cores = self.candidates[0], self.candidates[-1]
        return {
            "regret %": self.beside(results, group.name, self.best(results, group.name)),
            "beside serial %": self.beside(results, group.name, serial),
            "beside cores %": self.beside(results, group.name, cores),
        }

    def halves(self, results: Results, group: str) -> tuple[list[int], list[int]]:
        """Turns that choose the best candidate, and turns that score it: a random half each."""
        turns = results.turns(group)
        order = np.random.default_rng((self.seed, turns)).permutation(turns).tolist()
        return sorted(order[: turns // 2]), sorted(order[turns // 2 :])

    def best(self, results: Results, group: str) -> Contender:
        """The candidate with the least median over the turns that choose."""
        chooses, _ = self.halves(results, group)

        def median(contender: Contender) -> float:
            values = results.values(group, contender, "ms/step")
            return statistics.median(values[turn] for turn in chooses)

        return min(self.candidates, key=median)

    def beside(self, results: Results, group: str, other: Contender) -> float:
        """Percent by which STPA's steps take longer than another's: a median over the turns that score."""
        _, scores = self.halves(results, group)
        mine, others = (results.values(group, c, "ms/step") for c in (stpa(), other))
        return 100.0 * (statistics.median(mine[turn] / others[turn] for turn in scores) - 1.0)

    def claims(self, results: Results) -> Sequence[Claim]:
        groups = [g for g in results.groups() if results.turns(g) > 1]
        if not groups:
            return ()
        regret = [self.beside(results, g, self.best(results, g)) for g in groups]
        serial, cores = ([self.beside(results, g, self.candidates[end]) for g in groups] for end in (0, -1))
        within = float(np.mean([r <= 5.0 for r in regret]))
        return (
            Claim("configurations measured", len(groups), "at least", 40),
            Claim("share of configurations with a regret of 5 % or less", within, "at least", 0.95),
            Claim("largest regret, %", max(regret), "at most", 12.0),
            Claim("most that steps take longer than serial's, %", max(serial), "at most", 5.0),
            Claim("most that steps take longer than with a thread per core, %", max(cores), "at most", 5.0),
        )

    def notes(self, results: Results) -> Sequence[str]:
        return (
            "Regret: by how much steps with the chosen threads take longer than with the best candidate. A "
            "random half of the turns says which one is best, the others by how much; medians of the turns' "
            "own ratios. Nothing was remembered; steps count behind those on which the choice is refined.",
        )

    def draw(self, results: Results, figure: Figure) -> None:
        axes = figure.subplots()
        groups = [g for g in results.groups() if results.turns(g) > 1]
        curves = {
            "the best candidate": [self.beside(results, g, self.best(results, g)) for g in groups],
            "serial": [self.beside(results, g, self.candidates[0]) for g in groups],
            "a thread per core": [self.beside(results, g, self.candidates[-1]) for g in groups],
        }
        share = np.arange(1, len(groups) + 1) / max(1, len(groups))
        for label, values in curves.items():
            axes.step(np.sort(values), share, where="post", label=f"beside {label}")
        axes.axvline(5.0, color="grey", linestyle=":")
        axes.set(xlabel="longer steps with the chosen threads, %", ylabel="share of configurations")
        axes.legend()


def _name(world: World) -> str:
    name = world.name.split(":")[-1].lower().removesuffix("_v0")
    return ", ".join([name, *(f"{k} {v}" for k, v in world.arguments.items())])
