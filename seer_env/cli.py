"""The command line, `seer-env`. Commands import what is heavy when they run, so that help is instant."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_type_hints

import tyro

from seer_env import __version__
from seer_env.commands.doctor import Doctor
from seer_env.commands.make_env import MakeEnv
from seer_env.commands.output import CommandError
from seer_env.commands.run import INTERRUPTED, Run
from seer_env.commands.tracks import Tracks
from seer_env.commands.warmup import Warmup
from seer_env.errors import SeerError

#: Benchmarks: modules with `main(args) -> int`, `args` being a dataclass of options.
BENCHES = {
    "phold": "seer_env.bench.phold",
    "flock": "seer_env.bench.flock",
    "worlds": "seer_env.bench.worlds",
}


@dataclass
class Bench:
    """Measure against a yardstick; `seer-env bench NAME --help` explains each one's options."""

    name: tyro.conf.Positional[Literal["phold", "flock", "worlds"]]
    """phold: events beside a sequential heap of events. flock: agents beside a plain loop. worlds: every
    world at its sizes, battle beside MAgent2, copies beside separate envs."""

    def main(self) -> int:
        """Run the benchmark with its default options."""
        return run_bench(self.name, [])


COMMANDS = {
    "run": Run,
    "make-env": MakeEnv,
    "doctor": Doctor,
    "warmup": Warmup,
    "bench": Bench,
    "tracks": Tracks,
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
    choices = tuple(Annotated[kind, tyro.conf.subcommand(name)] for name, kind in COMMANDS.items())
    commands: Any = Union[choices]  # noqa: UP007 - made at run time, for which there is no other form
    return tyro.cli(commands, args=arguments, prog="seer-env", description=DESCRIPTION, config=CONFIG).main()


def run_bench(name: str, arguments: list[str]) -> int:
    """Run one benchmark with its own options; no other is imported, as each compiles kernels."""
    bench = importlib.import_module(BENCHES[name])
    options = get_type_hints(bench.main)["args"]
    return bench.main(tyro.cli(options, args=arguments, prog=f"seer-env bench {name}", config=CONFIG))


if __name__ == "__main__":
    sys.exit(main())
