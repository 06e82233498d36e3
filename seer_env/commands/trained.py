"""What `evaluate` and `play` share: a checkpoint, the world it was trained in, and its policy."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from seer_env.commands.output import CommandError
from seer_env.commands.train import require_training
from seer_env.commands.world import OWN_NUMBER, World, import_from_here, make_model, parse_setting

if TYPE_CHECKING:
    from seer_env.env import SeerParallelEnv
    from seer_env.episode import Policy
    from seer_env.model import EventModel
    from seer_env.training.config import TrainConfig
    from seer_env.training.parallel import ParallelEpisode


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

    def foreign(self, render: bool = False) -> ParallelEpisode | None:
        """The world if it is a PettingZoo env, which draws itself if asked; None if it is seer_env's.

        Raises:
            CommandError: it cannot be made with these options, or training is not installed.
        """
        config = self.config()
        import_from_here()
        from seer_env.training.parallel import ParallelEpisode
        from seer_env.training.worlds import foreign_env

        make_env = foreign_env(config)
        if make_env is None:
            return None
        if self.agents is not None:
            raise CommandError(
                f"--agents {self.agents}: {config.env} has arguments of its own, --world KEY=VALUE"
            )
        try:
            return ParallelEpisode(
                make_env(**({"render_mode": "rgb_array"} if render else {})), config.max_cycles
            )
        except TypeError as error:
            raise CommandError(f"{config.env}: {error}") from error

    def config(self) -> TrainConfig:
        """The settings of the training, but for what is named here.

        Raises:
            CommandError: there is no checkpoint, a number is not possible, or training is not installed.
        """
        require_training()
        check_count("--seed", self.seed, least=0)
        from seer_env.training.checkpoints import checkpoint_config, find_checkpoint

        config = checkpoint_config(find_checkpoint(self.checkpoint))
        cycles = config.max_cycles if self.max_cycles is None else self.max_cycles
        world = config.world | dict(map(parse_setting, self.world))
        return dataclasses.replace(config, max_cycles=cycles, world=world)

    def options(self) -> World:
        """The options of a world of seer_env; whether the policy can act in it is seen before it is compiled.

        Raises:
            CommandError: the world is not possible.
            CheckpointError: as `policy`.
        """
        config = self.config()
        settings = dict(config.world)
        trained = settings.pop("n_agents", None)
        world = World(
            config.env,
            agents=trained if self.agents is None else self.agents,
            max_cycles=config.max_cycles,
            world=tuple(f"{key}={value!r}" for key, value in settings.items()),
        )
        self.policy(make_model(world))
        return world

    def policy(self, env: SeerParallelEnv | EventModel | ParallelEpisode) -> Policy:
        """The checkpoint's policy.

        Raises:
            CheckpointError: it is damaged, or not of a world with these spaces.
        """
        from seer_env.training.checkpoints import checkpoint_config, find_checkpoint
        from seer_env.training.policies import load_policy

        folder = find_checkpoint(self.checkpoint)
        return load_policy(folder, checkpoint_config(folder), getattr(env, "model", env), self.sample)


def check_count(option: str, value: int, least: int = 1) -> None:
    """Refuse a number below `least`."""
    if value < least:
        raise CommandError(f"{option} {value}: at least {least}")
