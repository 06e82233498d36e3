"""Options that make a world, shared by the commands that need one."""

from __future__ import annotations

import ast
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from seer_env.commands.output import CommandError

if TYPE_CHECKING:
    from seer_env.env import SeerParallelEnv
    from seer_env.model import EventModel

OWN_NUMBER = tyro.conf.arg(metavar="INT", help_behavior_hint="(default: the world's own)")


@dataclass
class World:
    """Which world, and how its steps are executed."""

    env: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="ENV")]
    """Name of the world, such as aircraft_v0; your own as module:Class or path/to/file.py:Class."""

    agents: Annotated[int | None, OWN_NUMBER] = None
    """Agents in the world."""

    threads: Annotated[Literal["auto"] | int, tyro.conf.arg(metavar="auto|INT")] = "auto"
    """Threads of a step. Outputs do not depend on it; `auto` follows the size of the work."""

    scheduler: Literal[
        "auto", "serial", "seer", "python", "heap", "ross-t", "ross-t:round-robin", "nbse", "root-sim"
    ] = "auto"
    """How a step's events are executed: serial (one thread, compiled), seer (in parallel), python
    (slow, breakpoints work), or a system to compare with. All give the same bytes."""

    max_cycles: Annotated[int | None, OWN_NUMBER] = None
    """Steps after which an episode is cut off."""

    world: Annotated[tuple[str, ...], tyro.conf.arg(metavar="KEY=VALUE ...", help_behavior_hint="")] = ()
    """Further options of this world, such as complexity=8 communication=False."""


def make_world(args: World, **more: Any) -> SeerParallelEnv:
    """Make the world that `args` describe; `more` goes to `seer_env.make` as it is.

    Raises:
        CommandError: the options are not possible; the message is that of `seer_env.make`.
    """
    from seer_env.registration import make

    own = own_arguments(args)
    try:
        return make(
            args.env,
            threads=args.threads,
            scheduler=args.scheduler,
            max_cycles=args.max_cycles,
            **own,
            **more,
        )
    except (TypeError, ValueError) as error:
        raise CommandError(f"{args.env}: {error}") from error


def make_model(args: World) -> EventModel:
    """The model of the world that `args` describe, for which nothing is compiled.

    Raises:
        CommandError: as `make_world`.
    """
    from seer_env.registration import assemble

    own = own_arguments(args)
    try:
        return assemble(args.env, own)[0]
    except (TypeError, ValueError) as error:
        raise CommandError(f"{args.env}: {error}") from error


def own_arguments(args: World) -> dict[str, Any]:
    """The world's own arguments, its number of agents among them.

    Raises:
        CommandError: one is not possible, or is not the world's.
    """
    from seer_env.registration import MAKE_ARGUMENTS

    if args.agents is not None and args.agents < 1:
        raise CommandError(f"--agents {args.agents}: at least 1")
    import_from_here()
    settings = dict(map(parse_setting, args.world))
    for name in settings.keys() & MAKE_ARGUMENTS:
        raise CommandError(f"--world {name}: this is not the world's; --help has the options of the command")
    return {"n_agents": args.agents, **settings}


def import_from_here() -> None:
    """Let `module:Class` be found in the working directory, as `python -m` has it."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())


def parse_setting(text: str) -> tuple[str, Any]:
    """`("complexity", 8)` from "complexity=8"; a value that is no Python literal is a string.

    Raises:
        CommandError: there is no key, or no `=`.
    """
    key, equals, value = text.partition("=")
    if not equals or not key.isidentifier():
        raise CommandError(f"--world {text!r}: expected KEY=VALUE, such as complexity=8")
    try:
        return key, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return key, value
