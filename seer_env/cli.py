"""The command line, `seer-env`. Commands import what is heavy when they run, so that help is instant."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Union

import tyro

from seer_env import __version__
from seer_env.bench.names import BENCHES, load_bench
from seer_env.commands.curves import Curves
from seer_env.commands.doctor import Doctor
from seer_env.commands.evaluate import Evaluate
from seer_env.commands.make_env import MakeEnv
from seer_env.commands.output import CommandError
from seer_env.commands.play import Play
from seer_env.commands.run import INTERRUPTED, Run
from seer_env.commands.stpa import Stpa
from seer_env.commands.trace import Trace
from seer_env.commands.tracks import Tracks
from seer_env.commands.train import Train, train
from seer_env.commands.warmup import Warmup
from seer_env.errors import SeerError


@dataclass
class Bench:
    """Measure against a yardstick; `seer-env bench NAME --help` explains each one's options.

    Each writes a folder of CSV, PNG and JSON, and goes on where it was interrupted.
    """

    name: Annotated[
        tyro.conf.Positional[str],
        tyro.conf.arg(help="; ".join(f"{n}: {place.about}" for n, place in BENCHES.items())),
    ]

    def main(self) -> int:
        """Never reached by a benchmark's name, which has options of its own.

        Raises:
            CommandError: there is no such benchmark.
        """
        raise CommandError(f"bench: no benchmark {self.name!r}; there are {', '.join(BENCHES)}")


COMMANDS = {
    "run": Run,
    "trace": Trace,
    "make-env": MakeEnv,
    "doctor": Doctor,
    "warmup": Warmup,
    "bench": Bench,
    "tracks": Tracks,
    "train": Train,
    "evaluate": Evaluate,
    "play": Play,
    "curves": Curves,
    "stpa": Stpa,
}
CONFIG = (tyro.conf.FlagCreatePairsOff,)
DESCRIPTION = f"""seer_env {__version__}: many-agent environments in one shared world.

Start with: seer-env run aircraft_v0 --agents 400 --steps 300 --policy goal --picture flight.png"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit status, 1 with a message on stderr if it could not do what was asked."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return _dispatch(arguments)
    except (CommandError, SeerError) as error:
        print(f"seer-env: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("seer-env: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader, such as `head`, has what it wanted; Python would complain again when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _dispatch(arguments: list[str]) -> int:
    if arguments == ["--version"]:
        print(__version__)
        return 0
    if arguments[:1] == ["bench"] and arguments[1:2] and arguments[1] in BENCHES:
        return run_bench(arguments[1], arguments[2:])
    if arguments[:1] == ["train"]:
        return train(arguments[1:])
    choices = tuple(Annotated[kind, tyro.conf.subcommand(name)] for name, kind in COMMANDS.items())
    commands: Any = Union[choices]  # noqa: UP007 - made at run time, for which there is no other form
    return tyro.cli(commands, args=arguments, prog="seer-env", description=DESCRIPTION, config=CONFIG).main()


def run_bench(name: str, arguments: list[str]) -> int:
    """Run one benchmark with its own options; no other is imported, as each compiles kernels."""
    options = load_bench(name)
    return tyro.cli(options, args=arguments, prog=f"seer-env bench {name}", config=CONFIG).main()


if __name__ == "__main__":
    sys.exit(main())
