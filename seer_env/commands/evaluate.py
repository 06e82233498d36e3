"""`seer-env evaluate`: a trained policy beside the world's baselines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from seer_env.commands.output import CommandError, check_writable, print_table, write_json
from seer_env.commands.trained import Trained, check_count
from seer_env.commands.world import make_world

if TYPE_CHECKING:
    from seer_env.env import SeerParallelEnv
    from seer_env.episode import Policy
    from seer_env.training.parallel import ParallelEpisode

TRAINED = "trained"
"""Name of the checkpoint's policy in tables."""


@dataclass
class Evaluate(Trained):
    """Compare a trained policy with its world's baselines, in the same episodes; 95 % confidence intervals.

    Where a world has two sides, the policy plays against each baseline instead, on either side in turn.
    """

    episodes: int = 10
    """Episodes of each policy, or battles against each baseline."""

    json_file: Annotated[Path | None, tyro.conf.arg(name="json", metavar="FILE", help_behavior_hint="")] = (
        None
    )
    """Write the figures here too."""

    def main(self) -> int:
        """Play, and print the table."""
        check_count("--episodes", self.episodes)
        check_writable(self.json_file)
        name = self.config().env
        env = self.foreign() or endless_refused(make_world(self.options()))
        policy = self.policy(env)
        seeds = range(self.seed, self.seed + self.episodes)
        compare = fights if hasattr(getattr(env, "model", None), "sides") else episodes
        title = f"{name}, {len(env.possible_agents)} agents, seeds {seeds[0]} to {seeds[-1]}"
        figures = compare(env, policy, seeds, title)
        env.close()
        write_json(self.json_file, {"checkpoint": str(self.checkpoint), "env": name, **figures})
        return 0


def endless_refused(env: SeerParallelEnv) -> SeerParallelEnv:
    """The env, if its episodes may end.

    Raises:
        CommandError: its model terminates no agent, and there is no `max_cycles`.
    """
    from seer_env.model import EventModel

    if env.max_cycles is None and env.model.terminated is EventModel.terminated:
        raise CommandError(f"{env}: its episodes never end; name their steps with --max-cycles")
    return env


def episodes(
    env: SeerParallelEnv | ParallelEpisode, policy: Policy, seeds: range, title: str
) -> dict[str, Any]:
    """Every policy in the same episodes, and how far the trained one is ahead, episode by episode."""
    from seer_env.training.evaluate import bootstrap, play_episode

    if len(seeds) < 2:
        raise CommandError(f"--episodes {len(seeds)}: an interval needs at least 2")
    policies = {TRAINED: policy, **env.policies}
    played = progress_of({name: partial(play_episode, env, p) for name, p in policies.items()}, seeds)
    measures = list(played[TRAINED][0])
    intervals = {
        name: {measure: bootstrap([result[measure] for result in results]) for measure in measures}
        for name, results in played.items()
    }
    ahead = {
        name: bootstrap([mine["reward"] - other["reward"] for mine, other in zip(played[TRAINED], results)])
        for name, results in played.items()
        if name != TRAINED
    }
    rows = [(measure, *(spanned(intervals[name][measure]) for name in played)) for measure in measures]
    rows.append(("trained is ahead by", *(spanned(ahead[name]) if name in ahead else "" for name in played)))
    print_table(title, ("", *played), rows)
    return {"policies": intervals, "trained_ahead": ahead}


def fights(env: SeerParallelEnv, policy: Policy, seeds: range, title: str) -> dict[str, Any]:
    """The trained policy against every baseline."""
    from seer_env.training.evaluate import Battles, fight, wilson

    opponents = {name: partial(fight, env, policy, opponent) for name, opponent in env.policies.items()}
    fought = progress_of(opponents, seeds)
    rows, figures = [], {}
    for name, results in fought.items():
        battles = Battles(*map(sum, zip(*results)))
        share = wilson(battles.won, len(seeds))
        rows.append((name, *battles, f"{share.estimate:.1%} [{share.low:.1%}, {share.high:.1%}]"))
        figures[name] = {**battles._asdict(), "share_won": share}
    print_table(title, ("opponent", *Battles._fields, "won"), rows)
    return {"opponents": figures}


def progress_of(play: Mapping[str, Callable[[int], Any]], seeds: range) -> dict[str, list[Any]]:
    """What each of `play` returns for every seed, under a progress bar."""
    from rich.console import Console
    from rich.progress import track

    rounds = [(name, seed) for name in play for seed in seeds]
    results: dict[str, list[Any]] = {name: [] for name in play}
    for name, seed in track(rounds, "episodes", console=Console(stderr=True), transient=True):
        results[name].append(play[name](seed))
    return results


def spanned(interval: Any) -> str:
    """An interval as text."""
    return f"{interval.estimate:.4g}\n[{interval.low:.4g}, {interval.high:.4g}]"
