"""The same steps of the same world under several schedulers: what most experiments contend in."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from seer_env.bench.experiment import Claim, Contender
from seer_env.bench.players import ENDLESS
from seer_env.machine import effective_cpus
from seer_env.registration import make

if TYPE_CHECKING:
    from seer_env.bench.results import Results

__all__ = ["STPA", "Stepping", "World", "choice", "choice_claims", "contest", "stpa"]

#: Name of the contender that chooses scheduler and threads on reset.
STPA = "seer, STPA"
#: A measurement has no more steps than this.
MOST_STEPS = 1000
#: Steps of an episode, which then begins anew: no world has lost many of its agents by then.
EPISODE = 50


@dataclass(frozen=True)
class World:
    """What is stepped.

    Attributes:
        name: of a registered world.
        policy: one of its baselines, or `random`; it chooses all actions.
        arguments: the world's own, `n_agents` among them.
    """

    name: str
    policy: str
    arguments: Mapping[str, Any]

    def but(self, **arguments: Any) -> World:
        """The same with other arguments."""
        return replace(self, arguments={**self.arguments, **arguments})


def stpa() -> Contender:
    """The contender that chooses its threads; it may take as many as there are cores."""
    return Contender(STPA, effective_cpus())


def choice(threads: int) -> tuple[Contender, Contender, Contender]:
    """`ross-t` and `seer` on so many threads, and `seer` with threads of its choice."""
    return Contender("ross-t", threads), Contender("seer", threads), stpa()


def choice_claims(results: Results, contenders: tuple[Contender, Contender, Contender]) -> list[Claim]:
    """In every group, choosing threads loses to neither of the others of `choice`."""
    ross, fixed, chosen = contenders
    claims = []
    for group in results.groups():
        for other, name, least in ((ross, "ross-t", 1.0), (fixed, "fixed threads", 0.97)):
            gain = results.ratio(group, other, chosen, "ms/step")
            claims.append(Claim(f"{group}: {STPA}, times as fast as {name}", gain, "at least", least))
    return claims


def contest(
    world: World, contenders: Iterable[Contender], seed: int, seconds: float, stack: ExitStack
) -> dict[Contender, Stepping]:
    """Contenders on a world, warmed up by one step or two; all are to take the same number of steps.

    Args:
        seed: of the episode that all of them play.
        seconds: of steps that a measurement of the first contender takes, about; one step at least.
        stack: closes them.
    """
    made = {}
    for contender in contenders:
        name, threads = ("auto", "auto") if contender.name == STPA else contender
        made[contender] = Stepping(world, name, threads, seed)
        stack.callback(made[contender].close)
    first, *others = made.values()
    ms = first()["ms/step"]
    warmups = 1 if ms > 1e3 * seconds else 2  # the first step has costs of its own, small beside a long one
    if warmups == 2:
        ms = first()["ms/step"]
    for stepping in others:
        for _ in range(warmups):
            stepping()
    for stepping in made.values():
        stepping.steps = min(MOST_STEPS, max(1, round(1e3 * seconds / ms)))
    return made


class Stepping:
    """A world under a scheduler, from its reset on; calling it runs the next steps.

    Actions are chosen before each step, from the state that is the same for all, and are not part of a
    step's time.
    """

    def __init__(self, world: World, scheduler: str, threads: int | str, seed: int):
        arguments: dict[str, Any] = {"scheduler": scheduler, "threads": threads, "max_cycles": ENDLESS}
        self.env: Any = make(world.name, **arguments, **world.arguments)
        self._policy, self._seed = self.env.policies[world.policy], seed
        self.env.reset_arrays(seed)
        self.steps = 1

    def step(self) -> tuple[float, float]:
        """One step; seconds that it took, and seconds that the policy took before."""
        if self.env.steps == EPISODE:
            self.env.reset_arrays(self._seed)
        before = time.perf_counter()
        actions = self._policy(self.env)
        start = time.perf_counter()
        self.env.step_arrays(actions)
        return time.perf_counter() - start, start - before

    def __call__(self) -> dict[str, float]:
        """Run `steps` steps: their latency, rates, threads in use, and a digest of where they end.

        Of the workers: percent of the windows' wall time in which the busiest and the idlest executed
        actions and events, and the variance of these percentages over the workers.
        """
        stepping = choosing = window = 0.0
        events, executing = 0, np.zeros(max(self.env.threads, effective_cpus()))  # STPA may change them
        for _ in range(self.steps):
            took, chose = self.step()
            stats = self.env.last_step_stats
            stepping, choosing = stepping + took, choosing + chose
            events, window = events + stats.events, window + stats.window_s
            executing[: len(stats.workers)] += [worker.busy_s - worker.outputs_s for worker in stats.workers]
        shares = 100.0 * executing / window
        return {
            "ms/step": 1e3 * stepping / self.steps,
            "steps/s": self.steps / stepping,
            "end-to-end steps/s": self.steps / (stepping + choosing),
            "k events/s": 1e-3 * events / stepping,
            "threads used": self.env.threads,
            "busiest %": shares.max(),
            "idlest %": shares.min(),
            "variance": shares.var(),
            "digest": self.digest(),
        }

    def digest(self) -> int:
        """48 bits of the env's digest: a whole number that a float holds exactly."""
        return int(self.env.digest()[:12], 16)

    def close(self) -> None:
        """Release the env."""
        self.env.close()
