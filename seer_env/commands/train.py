"""`seer-env train`: train agents with MAPPO."""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from seer_env.commands.output import CommandError
from seer_env.commands.world import import_from_here

if TYPE_CHECKING:
    from seer_env.training.config import TrainConfig

EXTRA = ("torch", "safetensors", "yaml", "tensorboard")


@dataclass
class Source:
    """Where the settings come from; options override them, see `seer-env train --config FILE --help`."""

    config: Annotated[Path | None, tyro.conf.arg(metavar="FILE.yaml", help_behavior_hint="")] = None
    """Settings to start from, such as configs/train/mappo_pcs.yaml."""

    resume: Annotated[Path | None, tyro.conf.arg(metavar="RUN", help_behavior_hint="")] = None
    """Go on with this run, or from this checkpoint, with its own settings."""


@dataclass
class Train(Source):
    """Train agents with MAPPO: `seer-env train --config configs/train/mappo_pcs.yaml`."""

    def main(self) -> int:
        """Train with the settings of the file alone."""
        chosen = {"--config": self.config, "--resume": self.resume}
        return train([part for name, path in chosen.items() if path for part in (name, str(path))])


def train(arguments: Sequence[str]) -> int:
    """Run the command: `--config` or `--resume`, and settings that override theirs.

    Raises:
        CommandError: what it needs is not installed, or a setting is not possible.
    """
    require_training()
    import_from_here()
    from seer_env.commands.run import INTERRUPTED
    from seer_env.training.config import parse_arguments

    source, rest = tyro.cli(Source, args=list(arguments), add_help=False, return_unknown_args=True)
    base, checkpoint = start_of(source)
    config = parse_arguments(rest, base, "seer-env train [--config FILE | --resume RUN]")
    from seer_env.training.checkpoints import saved_progress
    from seer_env.training.trainer import train as run
    from seer_env.training.worlds import count_agents

    if checkpoint is not None and saved_progress(checkpoint).updates == config.updates:
        done = f"{config.updates} of {config.updates} updates"
        print(f"{checkpoint} is finished: {done}; --updates N goes on to N")
        return 0
    if checkpoint is None and any(config.run.glob("checkpoint_*")):
        raise CommandError(
            f"{config.run} has a run already: --resume {config.run} goes on, --run names another"
        )
    sizes = f"{count_agents(config):,} agents, copies={config.copies}, updates={config.updates}"
    print(f"{config.env}: {sizes}, run={config.run}", file=sys.stderr, flush=True)
    progress = run(config, checkpoint)
    print(f"{progress.updates} of {config.updates} updates, {progress.decisions:,} decisions: {config.run}")
    if progress.updates < config.updates:
        print(f"go on with: seer-env train --resume {config.run}", file=sys.stderr)
        return INTERRUPTED
    return 0


def start_of(source: Source) -> tuple[TrainConfig, Path | None]:
    """The settings to start from, and the checkpoint to go on from if there is one.

    Raises:
        CommandError: both are named, or the settings are missing or damaged.
        CheckpointError: there is no checkpoint.
    """
    from seer_env.training.config import TrainConfig, load_config

    if source.config and source.resume:
        raise CommandError("--config and --resume: a run goes on with its own settings; name one")
    if source.config is not None:
        return load_config(source.config), None
    if source.resume is None:
        return TrainConfig(), None
    from seer_env.training.checkpoints import checkpoint_config, find_checkpoint

    checkpoint = find_checkpoint(source.resume)
    return dataclasses.replace(checkpoint_config(checkpoint), run=checkpoint.parent), checkpoint


def require_training() -> None:
    """Refuse to begin without the packages of the extra `train`."""
    missing = missing_packages()
    if missing is not None:
        raise CommandError(missing)


def missing_packages() -> str | None:
    """Which packages of the extra `train` are not installed and what to do, or None if all are."""
    missing = [name for name in EXTRA if importlib.util.find_spec(name) is None]
    return f'training needs {", ".join(missing)}: pip install "seer-env[train]"' if missing else None
