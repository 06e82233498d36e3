"""PCS: base stations that carry calls and hand them to each other.

    from seer_env.envs import pcs_v0
    env = pcs_v0.parallel_env(n_agents=400, threads="auto", render_mode="rgb_array")

Worlds, arguments, observations and rewards are documented in `pcs/README.md` and in `Pcs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seer_env.envs.pcs.model import Pcs

if TYPE_CHECKING:
    from pettingzoo import AECEnv

    from seer_env.env import SeerParallelEnv

__all__ = ["Pcs", "env", "model", "parallel_env"]


def model(**world: Any) -> Pcs:
    """The world itself; for the arguments see `Pcs`."""
    return Pcs(**world)


def parallel_env(**arguments: Any) -> SeerParallelEnv:
    """The world as a PettingZoo `ParallelEnv`; arguments of `seer_env.make` and of `Pcs`."""
    from seer_env.registration import make

    return make("pcs_v0", **arguments)


def env(**arguments: Any) -> AECEnv:
    """The world as a PettingZoo `AECEnv`: agents act one after another."""
    from seer_env.registration import make_aec

    return make_aec("pcs_v0", **arguments)
