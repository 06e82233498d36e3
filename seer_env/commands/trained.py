"""What `evaluate` and `play` share: a checkpoint, the world it was trained in, and its policy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from seer_env.commands.output import CommandError
from seer_env.commands.train import require_training
from seer_env.commands.world import OWN_NUMBER, World

if TYPE_CHECKING:
    from seer_env.env import SeerParallelEnv
    from seer_env.episode import Policy


@dataclass
class Trained:
    """A trained policy, and the world that it acts in: that of its training, but for what is named here."""

    checkpoint: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="CHECKPOINT")]
    """Folder of a checkpoint, or of a run, whose last checkpoint is taken."""

    agents: Annotated[
        int | None, tyro.conf.arg(metavar="INT", help_behavior_hint="(default: as trained)")
    ] = None
    """Agents in the world: any number, whatever it was trained with."""

    max_cycles: Annotated[int | None, OWN_NUMBER] = None
    """Steps after which an episode is cut off."""

    seed: int = 1000
    """Seed of the first episode; the next ones count on."""

    sample: bool = False
    """Draw actions, as training does, instead of taking the likeliest."""

    world: Annotated[tuple[str, ...], tyro.conf.arg(metavar="KEY=VALUE ...", help_behavior_hint="")] = ()
    """Options of the world that differ from those of the training."""

    def options(self) -> World:
        """The options of the world.

        Raises:
            CommandError: the checkpoint is of a PettingZoo env, which has no baselines and pictures of its
                own; or training is not installed.
        """
        require_training()
        from seer_env.commands.world import parse_setting
        from seer_env.training.checkpoints import checkpoint_config, find_checkpoint

        config = checkpoint_config(find_checkpoint(self.checkpoint))
        settings = config.world | dict(map(parse_setting, self.world))
        agents = settings.pop("n_agents", None) if self.agents is None else self.agents
        settings.pop("n_agents", None)
        return World(
            config.env,
            agents=agents,
            max_cycles=config.max_cycles if self.max_cycles is None else self.max_cycles,
            world=tuple(f"{key}={value!r}" for key, value in settings.items()),
        )

    def policy(self, env: SeerParallelEnv) -> Policy:
        """The checkpoint's policy.

        Raises:
            CheckpointError: it is damaged, or not of a world with these spaces.
        """
        from seer_env.training.checkpoints import checkpoint_config, find_checkpoint
        from seer_env.training.policies import load_policy

        folder = find_checkpoint(self.checkpoint)
        return load_policy(folder, checkpoint_config(folder), env.model, self.sample)


def check_count(option: str, value: int) -> None:
    """Refuse a count below 1."""
    if value < 1:
        raise CommandError(f"{option} {value}: at least 1")
