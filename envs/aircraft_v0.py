"""Aircraft: navigation and collision avoidance on routes of real flights.

    from seer_env.envs import aircraft_v0
    env = aircraft_v0.parallel_env(n_agents=400, threads="auto", render_mode="rgb_array")

Worlds, arguments, observations and rewards are documented in `aircraft/README.md` and in `Aircraft`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seer_env.envs.aircraft.model import Aircraft

if TYPE_CHECKING:
    from pettingzoo import AECEnv

    from seer_env.env import SeerParallelEnv

__all__ = ["Aircraft", "env", "model", "parallel_env"]


def model(**world: Any) -> Aircraft:
    """The world itself; for the arguments see `Aircraft`."""
    return Aircraft(**world)


def parallel_env(**arguments: Any) -> SeerParallelEnv:
    """The world as a PettingZoo `ParallelEnv`; arguments of `seer_env.make` and of `Aircraft`."""
    from seer_env.registration import make

    return make("aircraft_v0", **arguments)


def env(**arguments: Any) -> AECEnv:
    """The world as a PettingZoo `AECEnv`: agents act one after another."""
    from seer_env.registration import make_aec

    return make_aec("aircraft_v0", **arguments)
