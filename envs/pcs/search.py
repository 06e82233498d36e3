"""Find the best static number of guard channels: `python -m seer_env.envs.pcs.search --help`.

Every number from 0 to `max_guard` is tried in the same episodes, with the same new calls as far as the
calls' fates allow, and the one with the highest mean reward wins.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import tyro

from seer_env.commands.output import CommandError, print_table
from seer_env.commands.world import parse_setting
from seer_env.envs.pcs.measures import Served
from seer_env.envs.pcs.policies import POLICIES, with_guards
from seer_env.errors import SeerError
from seer_env.registration import make

__all__ = ["Result", "evaluate", "search_guard"]


class Result(NamedTuple):
    """Means over all steps, stations and episodes.

    Attributes:
        reward: per station and step.
        blocked: share of new calls. dropped: share of handoffs. outages: share of completed calls.
    """

    reward: float
    blocked: float
    dropped: float
    outages: float


def evaluate(policy: Callable[[Any], np.ndarray], world: dict[str, Any], seeds: Sequence[int]) -> Result:
    """Run a policy for one episode per seed in a `pcs_v0` made with the arguments `world`."""
    env = make("pcs_v0", **world)
    reward, steps, served = 0.0, 0, Served()
    for seed in seeds:
        env.reset_arrays(seed=seed)
        while env.agents:
            reward += float(env.step_arrays(policy(env)).rewards.mean())
            steps += 1
            served.step(env)
    env.close()
    return Result(reward / steps, **served.figures())


def search_guard(world: dict[str, Any], seeds: Sequence[int]) -> tuple[int, list[Result]]:
    """The best number of guard channels, and what every number from 0 on achieves."""
    env = make("pcs_v0", **world)
    numbers = range(env.model.params["max_guard"] + 1)
    env.close()
    results = [evaluate(_static(guard), world, seeds) for guard in numbers]
    return int(np.argmax([result.reward for result in results])), results


def _static(guard: int) -> Callable[[Any], np.ndarray]:
    return lambda env: with_guards(env.model, np.full(env.model.n_agents, guard))


@dataclass
class Search:
    """Try every static number of guard channels in pcs_v0, and compare with the heuristics."""

    agents: int = 400
    """Cells."""

    steps: int = 360
    """Steps of an episode."""

    seeds: tuple[int, ...] = (1, 2, 3)
    """Episodes, one for each seed."""

    world: Annotated[tuple[str, ...], tyro.conf.arg(metavar="KEY=VALUE ...", help_behavior_hint="")] = ()
    """Further options of the world, such as skew=4 tour=0."""

    def main(self) -> int:
        """Search and print a table."""
        world = {"n_agents": self.agents, "max_cycles": self.steps, **dict(map(parse_setting, self.world))}
        best, results = search_guard(world, self.seeds)
        named = {f"{guard} guard channels": result for guard, result in enumerate(results)}
        named["threshold"] = evaluate(POLICIES["threshold"], world, self.seeds)
        rows = [
            (name, f"{r.reward:.4f}", f"{r.blocked:.2%}", f"{r.dropped:.2%}", f"{r.outages:.2%}")
            for name, r in named.items()
        ]
        heading = ("policy", "reward", "blocked", "dropped", "outages")
        print_table(f"best static number of guard channels: {best}", heading, rows)
        return 0


def main() -> int:
    """The command line; 1 with a message on stderr if the world is not possible."""
    try:
        return tyro.cli(Search, prog="python -m seer_env.envs.pcs.search").main()
    except (CommandError, SeerError) as error:
        print(f"search: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
