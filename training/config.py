"""`TrainConfig`: every setting of a training run; read from YAML, overridden from the command line."""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import tyro

from seer_env.commands.output import CommandError
from seer_env.commands.world import parse_setting

__all__ = ["ConfigError", "TrainConfig", "dump_config", "load_config", "parse_arguments"]

#: `--world KEY=VALUE ...`: only what is named changes; see `parse_arguments`.
SETTINGS = tyro.constructors.PrimitiveConstructorSpec[dict[str, Any]](
    nargs="*",
    metavar="KEY=VALUE ...",
    instance_from_str=lambda arguments: dict(map(parse_setting, arguments)),
    is_instance=lambda value: isinstance(value, dict),
    str_from_instance=lambda settings: [f"{key}={value}" for key, value in settings.items()],
)


class ConfigError(CommandError):
    """A setting that does not exist or cannot work; names it, its value and the fix."""


@dataclass(frozen=True)
class TrainConfig:
    """Train agents with MAPPO (Yu et al., arXiv 2103.01955); Ctrl-C saves, `--resume` goes on.

    A step of a world is a decision of all its live agents. The run folder gets config.yaml, progress.csv,
    TensorBoard's files, and the last two checkpoints.
    """

    env: str = "flock_v0"
    """World: a registered name, or module:function or file.py:function of an EventModel or of any PettingZoo
    ParallelEnv whose agents have the same spaces."""

    world: Annotated[dict[str, Any], SETTINGS] = field(default_factory=dict)
    """The world's own arguments."""

    max_cycles: int | None = None
    """Steps of an episode; the world's own number if None."""

    copies: int = 4
    """Worlds that are stepped together."""

    ring: int = 1
    """Groups of worlds: while the policy infers for one, another is stepped. 1 does one after the other."""

    micro_batches: int = 1
    """Parts of an update's worlds: each is rolled out and trained on by itself, and training on the first
    begins while the next is rolled out."""

    staleness: int = 0
    """Updates that the acting policy is behind the trained one: rollouts go on while training works on an
    earlier one. 0 does one after the other."""

    workers: int = 1
    """Shares of the worlds, which are rolled out by themselves, each with groups and parts of its own. They
    are worth it with `engine` process or ray."""

    engine: Literal["local", "process", "ray"] = "local"
    """Where workers are: local in this process, one after the other; process in a process each on this
    machine, so that with `staleness` rollouts and training share no Python lock; ray in a process each, on
    the machines of a Ray cluster (RAY_ADDRESS names it, or one is started here). What comes of a run is the
    same."""

    threads: int | None = None
    """Threads of a world's step; None chooses by the size of the work."""

    torch_threads: int | None = None
    """Threads of the networks; None is 1. Small networks gain little from a second."""

    elastic: bool = False
    """Split the effective CPUs between `threads` and `torch_threads` as the run goes: a core moves to the
    stage that stays behind. Needs `staleness`, which lets stages overlap. How torch adds depends on its
    threads, so the run does not repeat bit for bit."""

    device: Literal["cpu", "cuda"] = "cpu"
    """Where the networks are: cpu, or cuda for an NVIDIA GPU. Worlds are stepped on the CPU."""

    seed: int = 1
    """Of everything: worlds, initial weights, sampled actions, minibatches."""

    run: Path = Path("runs/mappo")
    """Folder of the run."""

    updates: int = 100
    """Rollouts, each followed by a policy update."""

    rollout_steps: int = 64
    """Steps of each world in a rollout."""

    epochs: int = 4
    """Passes over a rollout."""

    minibatch_size: int = 8192
    """Decisions in a minibatch: whole steps of a world, as many as fit."""

    group_size: int = 1024
    """Agents of a world in a minibatch at most. Larger worlds are split at random, and the critic then pools
    a sample of the world's agents: memory does not grow with the agents."""

    hidden: tuple[int, ...] = (64, 64)
    """Units of each hidden layer, of actor and critic."""

    normalise_observations: bool = True
    """Normalise observations by their running mean and deviation."""

    learning_rate: float = 5e-4
    """Of Adam, at the start."""

    learning_rate_end: float = 0.0
    """Of Adam, at the last update; linear in between."""

    discount: float = 0.99
    """Weight of a reward one step later (gamma)."""

    neighbour_reward: float = 0.0
    """Weight of the neighbours' rewards, added to an agent's own, where the world is a graph of agents, as
    pcs_v0 is: what an agent does to its neighbours then counts for it (Chu, Chinchali and Katti, *Multi-agent
    Reinforcement Learning for Networked System Control*, 2020). Figures show the agents' own rewards."""

    gae_lambda: float = 0.95
    """Of generalised advantage estimation."""

    clip: float = 0.2
    """How far an update may move the probability ratio, and the normalised value, of a decision."""

    entropy: float = 0.01
    """Weight of the entropy bonus at the start."""

    entropy_end: float = 0.0
    """Weight of the entropy bonus at the last update; linear in between."""

    value_weight: float = 1.0
    """Weight of the value loss. Actor and critic share no parameters."""

    max_gradient: float = 0.5
    """Largest norm of the actor's and of the critic's gradient; longer ones are scaled to it."""

    log_std: float = -0.5
    """Initial logarithm of the standard deviation of continuous actions, in half widths of their box."""

    checkpoint_every: int = 20
    """Updates from one checkpoint to the next; the last update and Ctrl-C save too."""

    def __post_init__(self):
        for name, (low, high) in RANGES.items():
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                possible = f"at least {low:g}" if high == math.inf else f"from {low:g} to {high:g}"
                raise ConfigError(f"{name} must be {possible}, got {value!r}")
        groups = self.workers * self.micro_batches * self.ring
        if groups > self.copies:
            raise ConfigError(
                f"ring={self.ring} groups of each of micro_batches={self.micro_batches} parts of each of "
                f"workers={self.workers} shares need at least {groups} copies, got {self.copies}"
            )
        if not self.hidden or min(self.hidden) < 1:
            raise ConfigError(f"hidden must be one or more layers of at least one unit, got {self.hidden!r}")
        if self.elastic:
            self._require_elastic()

    def _require_elastic(self) -> None:
        """Refuse `elastic` where there are no cores to split."""
        if self.staleness < 1:
            raise ConfigError(
                "elastic: with staleness=0 rollouts and training take turns, so each has all cores; set "
                "staleness=1 to let them overlap"
            )
        for name in ("threads", "torch_threads"):
            if getattr(self, name) is not None:
                raise ConfigError(
                    f"elastic: it decides {name}, which must be left out, got {getattr(self, name)!r}"
                )
        if self.engine != "local":
            raise ConfigError(
                f"elastic: workers of engine={self.engine} have cores of their own; use engine=local"
            )
        if self.device == "cuda":
            raise ConfigError(
                "elastic: training on device=cuda leaves its cores to the worlds; set elastic=false"
            )

    def scheduled(self, update: int, start: float, end: float) -> float:
        """The value, at an update counted from 0, of what goes linearly from `start` to `end`."""
        return start + (end - start) * update / max(self.updates - 1, 1)


#: Smallest and largest value of the numbers.
RANGES: dict[str, tuple[float, float]] = {
    "max_cycles": (1, math.inf),
    "copies": (1, 1_000_000),
    "ring": (1, 1024),
    "workers": (1, 65536),
    "micro_batches": (1, 1024),
    "staleness": (0, 64),
    "threads": (1, 1024),
    "torch_threads": (1, 1024),
    "seed": (0, 2**31 - 1),
    "updates": (1, math.inf),
    "rollout_steps": (1, 1_000_000),
    "epochs": (1, 1000),
    "minibatch_size": (1, math.inf),
    "group_size": (1, math.inf),
    "learning_rate": (0.0, 1.0),
    "learning_rate_end": (0.0, 1.0),
    "discount": (0.0, 1.0),
    "neighbour_reward": (0.0, 1.0),
    "gae_lambda": (0.0, 1.0),
    "clip": (1e-6, math.inf),
    "entropy": (0.0, math.inf),
    "entropy_end": (0.0, math.inf),
    "value_weight": (0.0, math.inf),
    "max_gradient": (1e-6, math.inf),
    "log_std": (-20.0, 5.0),
    "checkpoint_every": (1, math.inf),
}


def load_config(path: Path) -> TrainConfig:
    """Read a YAML file of settings; those that it does not name have their defaults.

    Raises:
        ConfigError: there is no such file, it is no YAML mapping, or a setting is unknown, of the wrong
            type or out of range.
    """
    import yaml

    try:
        settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error  # its text would name the file once more
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: {error}") from error
    if not isinstance(settings, dict):
        raise ConfigError(f"{path}: expected settings, a line `name: value` each")
    hints = get_type_hints(TrainConfig)
    for name in settings:
        if name not in hints:
            near = difflib.get_close_matches(str(name), hints, n=1)
            meant = f"did you mean {near[0]}?" if near else "`seer-env train --help` lists all"
            raise ConfigError(f"{path}: there is no setting {name!r}; {meant}")
    try:
        return TrainConfig(**{name: _typed(name, hints[name], value) for name, value in settings.items()})
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def dump_config(config: TrainConfig) -> str:
    """All settings as YAML that `load_config` reads back."""
    import yaml

    settings = dataclasses.asdict(config) | {"run": str(config.run), "hidden": list(config.hidden)}
    return yaml.safe_dump(settings, sort_keys=False)


def parse_arguments(arguments: Sequence[str], base: TrainConfig, prog: str) -> TrainConfig:
    """`base` with what the command line changes; of `--world` only the keys that it names.

    Raises:
        ConfigError: a value is out of range.
        SystemExit: tyro has printed help, or an error that names the nearest options.
    """
    config = tyro.cli(
        TrainConfig, args=arguments, default=base, prog=prog, config=(tyro.conf.FlagCreatePairsOff,)
    )
    return dataclasses.replace(config, world=base.world | config.world)


def _typed(name: str, hint: Any, value: Any) -> Any:
    """A YAML value as its field has it: integers may stand for floats, lists for tuples."""
    if hint is Path and isinstance(value, str):
        return Path(value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if hint == tuple[int, ...] and isinstance(value, list) and all(type(size) is int for size in value):
        return tuple(value)
    if hint == dict[str, Any] and isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return value
    if type(value) is hint or (hint == int | None and (value is None or type(value) is int)):
        return value
    if get_origin(hint) is Literal:
        if value in get_args(hint):
            return value
        raise ConfigError(f"{name} must be one of {', '.join(get_args(hint))}, got {value!r}")
    kind = getattr(hint, "__name__", str(hint))
    raise ConfigError(f"{name} must be of type {kind}, got {value!r}")
