"""The command line, `seer-env`. Commands import what is heavy when they run, so that help is instant."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_type_hints

import tyro

from seer_env import __version__
from seer_env.commands.doctor import Doctor
from seer_env.commands.output import CommandError
from seer_env.commands.run import Run
from seer_env.commands.warmup import Warmup
from seer_env.errors import SeerError

#: Benchmarks: modules with `main(args) -> int`, `args` being a dataclass of options.
BENCHES = {"phold": "seer_env.bench.phold", "flock": "seer_env.bench.flock"}


@dataclass
class Bench:
    """Measure against yardsticks; `seer-env bench NAME --help` explains each.

    phold: event throughput beside a sequential binary heap over all events.
    flock: a step-synchronous world beside the plain loop that a user would write for it.
    """


COMMANDS: dict[str, type] = {"run": Run, "doctor": Doctor, "warmup": Warmup, "bench": Bench}
DESCRIPTION = f"""seer_env {__version__}: many-agent environments in one shared world.

Start with: seer-env run aircraft_v0 --agents 400 --steps 300 --policy goal --picture flight.png"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit status, 1 with a message on stderr if it could not do what was asked."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        if arguments[:1] == ["--version"]:
            print(__version__)
            return 0
        if arguments[:1] == ["bench"]:
            return _bench(arguments[1:])
        return _parse(COMMANDS, arguments, "seer-env", DESCRIPTION).main()
    except (CommandError, SeerError) as error:
        print(f"seer-env: {error}", file=sys.stderr)
        return 1


def _bench(arguments: list[str]) -> int:
    """Only the benchmark that is named is imported: each compiles kernels of its own."""
    named = [name for name in BENCHES if arguments[:1] == [name]]
    mains = {name: importlib.import_module(BENCHES[name]).main for name in named or BENCHES}
    options = {name: get_type_hints(main)["args"] for name, main in mains.items()}
    args = _parse(options, arguments, "seer-env bench", Bench.__doc__ or "")
    return next(mains[name] for name, kind in options.items() if isinstance(args, kind))(args)


def _parse(commands: dict[str, type], arguments: list[str], prog: str, description: str) -> Any:
    """The chosen command's dataclass, filled from the arguments; exits on --help and on errors."""
    # tyro makes no subcommand of a union of one.
    choices = [Annotated[kind, tyro.conf.subcommand(name)] for name, kind in commands.items()]
    choices += [Annotated[None, tyro.conf.subcommand("none")]] if len(choices) == 1 else []
    return tyro.cli(
        Union[tuple(choices)],  # type: ignore[arg-type]  # noqa: UP007 - made at run time
        args=arguments,
        prog=prog,
        description=description,
        config=(tyro.conf.FlagCreatePairsOff,),
    )


if __name__ == "__main__":
    sys.exit(main())
