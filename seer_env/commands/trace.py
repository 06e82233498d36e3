"""`seer-env trace`: record one step, and show what every worker did when."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from seer_env.commands.output import CommandError, print_table
from seer_env.commands.run import find_policy
from seer_env.commands.world import World, make_world

if TYPE_CHECKING:
    from seer_env.env import SeerParallelEnv
    from seer_env.tracing import StepTrace


@dataclass
class Trace(World):
    """Record one step and show what every worker did when.

    Writes `trace.json`, which https://ui.perfetto.dev and chrome://tracing open, and `gantt.png`: a row per
    worker, a colour per kind of work. Then prints the step's statistics. Example:
    seer-env trace aircraft_v0 --agents 400 --threads 2 --output look
    """

    step: int = 10
    """Which step of the episode to record. In the first ones the engine learns what is worth sharing."""

    policy: Annotated[str, tyro.conf.arg(metavar="NAME")] = "random"
    """Who chooses the actions: random, or a policy of the world; see `seer-env run --help`."""

    seed: int = 0
    """Seed of the world and of the random policy."""

    output: Annotated[Path, tyro.conf.arg(metavar="DIR")] = Path("trace")
    """Folder for the files; it is made if it does not exist."""

    events: bool = False
    """Write `events.csv` too: each executed event's key, target and kind. The step is executed a second time
    for it, in plain Python, which takes its time in large worlds."""

    capacity: int = 100_000
    """Spans to keep of each worker, and rounds; what does not fit is counted, and said."""

    def main(self) -> int:
        """Step, record, write the files and say where they are."""
        for name in ("step", "capacity"):
            if getattr(self, name) < 1:
                raise CommandError(f"--{name} {getattr(self, name)}: at least 1")
        if self.scheduler in ("python", "heap"):
            raise CommandError(
                f"--scheduler {self.scheduler}: it executes one event after the other, and has no workers or "
                "rounds to show; take serial, seer, or leave it out"
            )
        make_folder(self.output)
        env = make_world(self)
        trace = recorded(self, env)
        files = written(trace, env, self.output)
        print_table(trace.title, ("", "figure"), trace.facts())
        head, *rows = trace.stats.worker_facts()
        print_table("workers", head, rows)
        for what, file in files.items():
            print(f"{what}: {file.absolute()}")
        env.close()
        return 0


def make_folder(path: Path) -> None:
    """Make a folder, unless it is there.

    Raises:
        CommandError: it cannot be made, or written into.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"--output {path}: no folder can be made there ({error.strerror})") from error
    if not os.access(path, os.W_OK):
        raise CommandError(f"--output {path}: this folder is not writable")


def recorded(args: Trace, env: SeerParallelEnv) -> StepTrace:
    """Go to the step, and record it."""
    from rich.console import Console

    from seer_env.tracing import record

    policy = find_policy(env, args.policy)
    with Console(stderr=True).status(f"compiling {args.env}") as status:
        env.warmup()
        env.reset_arrays(seed=args.seed)
        for step in range(1, args.step):
            status.update(f"step {step} of {args.step}")
            env.step_arrays(policy(env))
            if not env.agents:
                raise CommandError(
                    f"--step {args.step}: the episode ended after {step} steps; choose an earlier one, or "
                    "raise --max-cycles"
                )
        status.update(f"recording step {args.step}")
        return record(env, policy(env), events=args.events, capacity=args.capacity)


def written(trace: StepTrace, env: SeerParallelEnv, folder: Path) -> dict[str, Path]:
    """Write the files; by what they are."""
    from seer_env.tracing.events import write_events

    files = {"trace, for https://ui.perfetto.dev": folder / "trace.json", "picture": folder / "gantt.png"}
    json_file, picture = files.values()
    trace.to_chrome(json_file)
    trace.gantt().savefig(picture)
    if trace.events is not None:
        files["events"] = folder / "events.csv"
        with files["events"].open("w", newline="") as file:
            write_events(file, trace.events, env.model.Kind)
    return files
