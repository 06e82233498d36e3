"""Battle: two armies on a grid, with the rules of MAgent2's battle.

    from seer_env.envs import battle_v0
    env = battle_v0.parallel_env(n_agents=162, threads="auto", render_mode="rgb_array")

Rules, arguments, observations and rewards are documented in `battle/README.md` and in `Battle`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seer_env.envs.battle.model import Battle

if TYPE_CHECKING:
    from pettingzoo import AECEnv

    from seer_env.env import SeerParallelEnv

__all__ = ["Battle", "env", "model", "parallel_env"]


def model(n_agents: int = 162, **world: Any) -> Battle:
    """The world itself; for the arguments see `Battle`."""
    return Battle(n_agents, **world)


def parallel_env(**arguments: Any) -> SeerParallelEnv:
    """The world as a PettingZoo `ParallelEnv`; arguments of `seer_env.make` and of `Battle`."""
    from seer_env.registration import make

    return make("battle_v0", **arguments)


def env(**arguments: Any) -> AECEnv:
    """The world as a PettingZoo `AECEnv`: agents act one after another."""
    from seer_env.registration import make_aec

    return make_aec("battle_v0", **arguments)
