"""`seer-env warmup`: compile now, so that no later process waits."""

from __future__ import annotations

import time
from dataclasses import dataclass

from rich.console import Console

from seer_env.commands.world import World, make_world


@dataclass
class Warmup(World):
    """Compile what a world needs and keep it in the cache.

    The first step of a world compiles its handlers and, once per installation, the engine. After this
    command the first step of a new process takes them from the cache.
    """

    def main(self) -> int:
        """Compile and print the seconds it took."""
        start = time.perf_counter()
        with Console(stderr=True).status(f"compiling {self.env}"):
            env = make_world(self)
            env.warmup()
        print(f"{self.env} is ready: {time.perf_counter() - start:.2f} s")
        env.close()
        return 0
