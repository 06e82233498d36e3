"""`seer-env warmup`: compile now, so that no later process waits."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from seer_env.commands.output import check_writable, write_json
from seer_env.commands.world import World, make_world


@dataclass
class Warmup(World):
    """Compile what a world needs and keep it in the cache.

    The first step of a world compiles its handlers and, once per installation, the engine. After this
    command the first step of a new process takes them from the cache.
    """

    json_file: Annotated[Path | None, tyro.conf.arg(name="json", metavar="FILE", help_behavior_hint="")] = (
        None
    )
    """Write the figure here too."""

    def main(self) -> int:
        """Compile and print the seconds it took."""
        check_writable(self.json_file)
        start = time.perf_counter()
        with Console(stderr=True).status(f"compiling {self.env}"):
            env = make_world(self)
            env.warmup()
        seconds = time.perf_counter() - start
        print(f"{self.env} is ready: {seconds:.2f} s")
        write_json(self.json_file, {"env": self.env, "seconds": seconds})
        env.close()
        return 0
