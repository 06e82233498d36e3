"""Checkpoints: folders of safetensors, JSON and boundary files. Loading one never runs code.

A run's folder holds `checkpoint_<updates>`, which has:

- `config.yaml`, the settings;
- `model.safetensors`, actor and critic with their running moments: all that playing needs;
- `state.safetensors`, the optimiser, the generators and the rollouts' state;
- `state.json`, the counters;
- what the worlds save (`Rollouts.save`).
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from seer_env.errors import BoundaryFileError, SeerError
from seer_env.training.config import TrainConfig, dump_config, load_config
from seer_env.training.mappo import Learner
from seer_env.training.networks import Actor
from seer_env.training.rollouts import Rollouts, TrainingError, named, under

__all__ = [
    "CheckpointError",
    "Progress",
    "checkpoint_config",
    "find_checkpoint",
    "load_actor",
    "observation_size",
    "restore",
    "save_checkpoint",
    "saved_progress",
]

FORMAT = 3

#: Settings that decide what a checkpoint holds: a run keeps them when it goes on. `seed` and `log_std` count
#: at the beginning alone: another would be written into config.yaml, and change nothing.
KEPT = (
    "env", "copies", "workers", "ring", "micro_batches", "staleness", "device", "hidden",
    "normalise_observations", "seed", "log_std",
)  # fmt: skip


class CheckpointError(SeerError, ValueError):
    """A checkpoint is missing, damaged, or of other networks."""


@dataclass
class Progress:
    """What has been done: updates, decisions of agents, and seconds of training."""

    updates: int = 0
    decisions: int = 0
    seconds: float = 0.0


COUNTERS = tuple(field.name for field in fields(Progress))


def find_checkpoint(path: Path) -> Path:
    """The checkpoint that `path` is, or the last one in the run folder that it is.

    Raises:
        CheckpointError: there is none.
    """
    if not path.exists():
        raise CheckpointError(f"there is no folder {path}")
    if (path / "model.safetensors").is_file():
        return path
    found = _numbered(path)
    if not found:
        raise CheckpointError(f"{path}: no checkpoint, and no run's folder with one")
    return found[-1]


def save_checkpoint(config: TrainConfig, learner: Learner, rollouts: Rollouts, progress: Progress) -> Path:
    """Write a checkpoint into `config.run`, whole or not at all.

    The one before it stays, as another process may be reading it. Earlier ones are removed, and later ones
    too: they are of updates that are made again, as the run went on from before them.

    Raises:
        CheckpointError: it cannot be written, as on a full disk.
    """
    with written(config.run):
        return _save(config, learner, rollouts, progress)


@contextmanager
def written(run: Path) -> Iterator[None]:
    """A run's folder is written into; what the system has against it becomes a `CheckpointError`."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{run}: cannot be written: {error}") from error


def _save(config: TrainConfig, learner: Learner, rollouts: Rollouts, progress: Progress) -> Path:
    folder = config.run / f"checkpoint_{progress.updates:06}"
    partial = config.run / "checkpoint.partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    (partial / "config.yaml").write_text(dump_config(config), encoding="utf-8")
    save_file(learner.networks.state_dict(), partial / "model.safetensors")
    save_file(_state(learner) | named("rollouts", rollouts.save(partial)), partial / "state.safetensors")
    (partial / "state.json").write_text(json.dumps({"format": FORMAT, **asdict(progress)}), encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)
    found = _numbered(config.run)
    last = found.index(folder)
    for other in found[: max(last - 1, 0)] + found[last + 1 :]:
        shutil.rmtree(other)
    return folder


def load_actor(folder: Path, actor: Actor) -> None:
    """Load the actor of a checkpoint, which is all that playing needs.

    Raises:
        CheckpointError: the file is damaged, or of an actor with other spaces or layers.
    """
    tensors = _tensors(folder / "model.safetensors")
    _load(folder, actor, under("actor", tensors))


def saved_progress(folder: Path) -> Progress:
    """What had been done when a checkpoint was saved.

    Raises:
        CheckpointError: its counters are missing or damaged, or it is of another format.
    """
    try:
        counters = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        version, progress = counters["format"], Progress(**{name: counters[name] for name in COUNTERS})
        if not all(isinstance(count, int) for count in (progress.updates, progress.decisions)):
            raise ValueError(f"{progress} counts in fractions")
        if min(asdict(progress).values()) < 0:
            raise ValueError(f"{progress} is below 0")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{folder}/state.json: damaged: {error!r}") from error
    if version != FORMAT:
        raise CheckpointError(f"{folder}: of another format than {FORMAT}")
    return progress


def observation_size(folder: Path) -> int:
    """How many numbers an observation has that the actor of a checkpoint was trained on.

    Raises:
        CheckpointError: the file is damaged.
    """
    path = folder / "model.safetensors"
    try:
        return _tensors(path)["actor.body.0.weight"].shape[1]
    except (KeyError, IndexError) as error:
        raise CheckpointError(f"{path}: has no actor: {error!r}") from error


def restore(folder: Path, learner: Learner, rollouts: Rollouts) -> Progress:
    """Bring a learner, the rollouts and their worlds to where a checkpoint left them.

    Raises:
        CheckpointError: the checkpoint is damaged, or of other networks or worlds.
        BoundaryFileError: a world's file is.
    """
    _require_kept(folder, learner.config)
    progress = saved_progress(folder)
    updates = learner.config.updates
    if progress.updates > updates:
        raise CheckpointError(f"{folder}: has had {progress.updates} updates, more than --updates {updates}")
    _load(folder, learner.networks, _tensors(folder / "model.safetensors"))
    state = _tensors(folder / "state.safetensors")
    try:
        _restore_learner(state, learner)
        rollouts.load(folder, under("rollouts", state), seed=learner.config.seed + progress.updates)
    except (BoundaryFileError, TrainingError):
        raise
    except OSError as error:
        raise CheckpointError(f"{folder}: a file is missing or cannot be read: {error}") from error
    except (KeyError, ValueError, RuntimeError) as error:
        raise CheckpointError(f"{folder}/state.safetensors: not of this run: {error!r}") from error
    return progress


def checkpoint_config(folder: Path) -> TrainConfig:
    """The settings that a checkpoint was trained with.

    Raises:
        ConfigError: they are missing or damaged.
    """
    return load_config(folder / "config.yaml")


def _require_kept(folder: Path, config: TrainConfig) -> None:
    saved = checkpoint_config(folder)
    for name in KEPT:
        before, now = getattr(saved, name), getattr(config, name)
        if before != now:
            raise CheckpointError(f"{folder}: of {name}={before!r}, and cannot go on with {name}={now!r}")


def _numbered(run: Path) -> list[Path]:
    """The checkpoints of a run, by their number of updates."""
    found = [folder for folder in run.glob("checkpoint_*") if re.fullmatch(r"checkpoint_\d+", folder.name)]
    return sorted(found, key=lambda folder: int(folder.name.removeprefix("checkpoint_")))


def _state(learner: Learner) -> dict[str, Tensor]:
    state = {"generator.learner": learner.generator.get_state()}
    for network, descent in (("actor", learner.actor), ("critic", learner.critic)):
        for index, moments in descent.optimiser.state_dict()["state"].items():
            state |= named(f"adam.{network}.{index}", moments)
    return state


def _restore_learner(state: dict[str, Tensor], learner: Learner) -> None:
    learner.generator.set_state(state["generator.learner"])
    for network, descent in (("actor", learner.actor), ("critic", learner.critic)):
        moments: dict[int, dict[str, Tensor]] = {}
        for key, tensor in under(f"adam.{network}", state).items():
            index, name = key.split(".")
            moments.setdefault(int(index), {})[name] = tensor
        groups = descent.optimiser.state_dict()["param_groups"]
        descent.optimiser.load_state_dict({"state": moments, "param_groups": groups})


def _load(folder: Path, module: nn.Module, tensors: dict[str, Tensor]) -> None:
    try:
        module.load_state_dict(tensors)
    except RuntimeError as error:  # torch's report of missing, foreign and differently shaped tensors
        first = str(error).splitlines()[1].strip()
        raise CheckpointError(f"{folder}: not of these networks: {first}") from error


def _tensors(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path}: missing or damaged: {error}") from error
