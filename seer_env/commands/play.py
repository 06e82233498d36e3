"""`seer-env play`: watch a trained policy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from seer_env.commands.output import CommandError
from seer_env.commands.run import Run, find_policy
from seer_env.commands.trained import Trained
from seer_env.commands.watch import Watch

if TYPE_CHECKING:
    from seer_env.env import SeerParallelEnv
    from seer_env.episode import Policy
    from seer_env.training.parallel import ParallelEpisode


@dataclass
class Play(Trained):
    """Let a trained policy act in its world, and film it; prints the table of `seer-env run`."""

    steps: int = 300
    """Steps to run."""

    opponent: Annotated[str | None, tyro.conf.arg(metavar="NAME", help_behavior_hint="")] = None
    """In a world with two sides: the baseline that plays the second one. The trained policy plays both if
    none is named."""

    picture: Annotated[Path | None, tyro.conf.arg(metavar="FILE.png", help_behavior_hint="")] = None
    """Draw the last step."""

    video: Annotated[Path | None, tyro.conf.arg(metavar="FILE.gif|mp4", help_behavior_hint="")] = None
    """Film the run, a frame per step."""

    video_every: Annotated[int, tyro.conf.arg(metavar="K")] = 1
    """Film every K-th step."""

    def main(self) -> int:
        """Play, report, and draw; 130 after Ctrl-C."""
        foreign = self.foreign(render=bool(self.picture or self.video))
        if foreign is not None:
            return self._watch(foreign)
        world = self.options()
        run = Run(
            world.env,
            agents=world.agents,
            max_cycles=world.max_cycles,
            world=world.world,
            steps=self.steps,
            policy="trained" if self.opponent is None else f"trained against {self.opponent}",
            seed=self.seed,
            arrays=True,
            picture=self.picture,
            video=self.video,
            video_every=self.video_every,
        )
        return run.run(self._players)

    def _watch(self, env: ParallelEpisode) -> int:
        if self.opponent is not None:
            raise CommandError(f"--opponent {self.opponent}: {env.env} has no sides")
        watch = Watch(self.steps, self.seed, self.picture, self.video, self.video_every)
        return watch.run(env, self.policy(env))

    def _players(self, env: SeerParallelEnv) -> Policy:
        from seer_env.training.policies import facing

        policy = self.policy(env)
        return policy if self.opponent is None else facing(env, policy, find_policy(env, self.opponent), 0)
