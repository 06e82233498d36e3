"""Compiles what many tests need into the cache of all processes, beside the first tests: see conftest.py."""

from __future__ import annotations

from grid_worlds import Sighted
from runtime_worlds import Faulty, Ripples
from worlds import Lamps, Ring

from seer_env.envs.battle.model import Battle
from seer_env.envs.epidemic_v0 import Epidemic
from seer_env.envs.flock_v0 import Flock
from seer_env.envs.pcs.model import Pcs
from seer_env.envs.phold import Phold
from seer_env.runtime.driver import driver
from seer_env.runtime.engine import make_engine
from seer_env.runtime.shims import compile_model

#: The first tests compile the others themselves, and Aircraft.
SCHEDULERS = ("root-sim", "nbse", "heap")
WORLDS = (
    Battle(72), Flock(80), Pcs(36, channels=10), Epidemic(100), Lamps(), Ring(), Faulty(16), Ripples(),
    *(Sighted.of(name, 60) for name in ("line", "torus", "box")),
)  # fmt: skip

if __name__ == "__main__":
    for scheduler in SCHEDULERS:
        make_engine(Phold(n=8), scheduler, threads=2)
    driver()
    for world in WORLDS:
        compile_model(world)
