"""`seer-env bench worlds`: every world at its sizes, by arrays and by dicts; battle beside MAgent2's.

All that is measured of one world and size is measured in turn, in the same process. A second table shows
what stepping copies in one engine gains over stepping as many envs one by one.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import tyro

from seer_env.bench.copies import CASES, compare_copies, print_copies
from seer_env.bench.cores import worth_of_second_core
from seer_env.bench.magent2 import MAgent2Battle, equal_terms, why_absent
from seer_env.bench.options import check_measurement
from seer_env.bench.players import ArrayPlayer, DictPlayer, Pace, Player, pace
from seer_env.bench.report import print_table, progress_bar
from seer_env.bench.timing import interleaved, machine, medians
from seer_env.commands.output import CommandError, write_json

#: Agents of each world. PCS: the sizes of the SEER paper (arXiv 2611.07996), as for Aircraft its smallest
#: and largest; battle: those at which MAgent2 is measured.
SIZES = {
    "aircraft_v0": (206, 400, 800, 1426),
    "pcs_v0": (400, 800, 900, 1600, 2500, 3600, 4900),
    "battle_v0": (200, 400, 800, 1600),
    "epidemic_v0": (1000, 10000),
    "flock_v0": (500, 5000),
}
APIS = {"arrays": ArrayPlayer, "dicts": DictPlayer}
RIVAL, RIVAL_WORLD = "magent2", "battle_v0"


@dataclass
class Args:
    """Steps, agent-steps and events per second of every world, and MAgent2's battle in the same run."""

    worlds: tuple[str, ...] = tuple(SIZES)
    """Worlds to measure."""
    agents: tuple[int, ...] = ()
    """Numbers of agents, for every world; without it each world has its own."""
    threads: tuple[int, ...] = (1, 2)
    """Thread counts: 1 is `serial`, more are `seer`."""
    repeats: int = 5
    """Measurements per contender, in turn with the others'."""
    seconds: float = 0.2
    """Wall seconds of steps per measurement."""
    seed: int = 0
    """Seed of the worlds and of the actions."""
    copies: bool = True
    """Copies in one engine are measured too, unless this leaves them out."""
    quick: bool = False
    """A smoke test: one measurement of 0.02 seconds, the smallest size of each. Its figures say little."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """Write the list of results here."""

    def main(self) -> int:
        """See `main`."""
        return main(self)


def main(args: Args) -> int:
    """Run, print the tables, write JSON; 1 if copies and separate envs differ, else 0.

    Raises:
        CommandError: an option out of its range, or a JSON file that cannot be written.
    """
    _check(args)
    sizes = {world: args.agents or SIZES[world] for world in args.worlds}
    copies = CASES if args.copies else ()
    if args.quick:
        args.repeats, args.seconds = 1, 0.02
        sizes, copies = {world: few[:1] for world, few in sizes.items()}, copies[:1]
    absent = why_absent() if RIVAL_WORLD in sizes else None
    pairs = [(world, n) for world, several in sizes.items() for n in several]
    results, gains = [], []
    with progress_bar() as progress:
        task = progress.add_task("", total=len(pairs) + len(copies))
        for world, n in pairs:
            progress.update(task, description=f"{world}, {n} agents", refresh=True)
            results += measure(world, n, args, with_rival=world == RIVAL_WORLD and absent is None)
            progress.update(task, advance=1, refresh=True)
        for case in copies:
            progress.update(task, description=f"{case.copies} copies of {case.world}", refresh=True)
            gains.append(compare_copies(case, args.repeats, args.seconds, args.seed))
            progress.update(task, advance=1, refresh=True)
    _print(results)
    if absent is not None:
        print(f"MAgent2 was left out: {absent}")
    if gains:
        print_copies(gains)
    write_json(args.json, results + gains)
    wrong = [r for r in gains if not r["equal"]]
    for r in wrong:
        print(f"{r['copies']} copies of {r['world']}: not equal to separate envs")
    return 1 if wrong else 0


def _check(args: Args) -> None:
    unknown = [world for world in args.worlds if world not in SIZES]
    if unknown:
        raise CommandError(f"--worlds: no world {unknown[0]!r}; there are {' '.join(SIZES)}")
    check_measurement(args.repeats, args.seconds, args.threads, args.json)


def measure(world: str, n: int, args: Args, with_rival: bool) -> list[dict]:
    """One row per contender on `n` agents of a world: all APIs and thread counts, and MAgent2 if asked."""
    arguments = equal_terms(n) if world == RIVAL_WORLD else {"n_agents": n}
    makers: dict[tuple[str, int], Callable[[], Player]] = {
        (api, threads): partial(player, world, threads=threads, seed=args.seed, **arguments)
        for api, player in APIS.items()
        for threads in args.threads
    }
    if with_rival:
        makers[RIVAL, 1] = partial(MAgent2Battle, n, args.seed)
    players = {key: make() for key, make in makers.items()}
    paces: dict[tuple[str, int], list[Pace]] = {key: [] for key in players}

    def case(key: tuple[str, int]) -> float:
        paces[key].append(pace(players[key], args.seconds))
        return paces[key][-1].seconds

    for player in players.values():  # compiles, and begins an episode
        pace(player, 0.0001)
    cases: dict[Any, Callable[[], float]] = {key: partial(case, key) for key in players}
    times = medians(interleaved({**cases, "second core": worth_of_second_core}, args.repeats))
    second_core = times["second core"]
    rows = [_row(world, players[key].agents, *key, paces[key], second_core) for key in players]
    for player in players.values():
        player.close()
    rival = next((r["agent_steps_per_s"] for r in rows if r["api"] == RIVAL), None)
    for r in rows:
        r["times_magent2"] = None if rival is None else r["agent_steps_per_s"] / rival
    return rows


def _row(world: str, agents: int, api: str, threads: int, paces: list[Pace], second_core: float) -> dict:
    def median(figure: Callable[[Pace], float]) -> float:
        return statistics.median(map(figure, paces))

    return {
        "world": world,
        "agents": agents,
        "api": api,
        "threads": threads,
        "ms_per_step": 1e3 * median(lambda p: p.seconds / p.steps),
        "steps_per_s": median(lambda p: p.steps / p.seconds),
        "agent_steps_per_s": median(lambda p: p.agent_steps / p.seconds),
        "events_per_s": median(lambda p: p.events / p.seconds),
        "second_core": second_core,
    }


def _print(results: list[dict[str, Any]]) -> None:
    rates = ("ms/step", "steps/s", "M agent-steps/s", "M events/s", "x MAgent2", "2nd core")
    lines = [
        (
            r["world"],
            f"{r['agents']}",
            r["api"],
            f"{r['threads']}",
            f"{r['ms_per_step']:.3f}",
            f"{r['steps_per_s']:.0f}",
            f"{r['agent_steps_per_s'] / 1e6:.3f}",
            f"{r['events_per_s'] / 1e6:.2f}" if r["events_per_s"] else "",
            f"{r['times_magent2']:.2f}" if r["times_magent2"] else "",
            f"{r['second_core']:.2f}",
        )
        for r in results
    ]
    print_table(
        "Worlds, random actions", ("world", "agents", "by", "threads", *rates), lines, f"medians; {machine()}"
    )
