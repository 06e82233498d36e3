"""Many-agent environments in one shared world, stepped in parallel with serial answers.

    import seer_env

    env = seer_env.make("aircraft_v0", n_agents=400)
    observations, infos = env.reset(seed=1)

What is heavy is imported when it is first used, so that `import seer_env` and the command line's help
do not wait for numba. The import also enters the worlds in the registries of PettingZoo and gymnasium:
`pettingzoo.make("parallel", "seer_env/aircraft_v0")`, `gymnasium.make_vec("seer_env/flock_v0", 500)`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from seer_env.entry_points import EntryPointError
from seer_env.errors import (
    BoundaryFileError,
    ContractBreach,
    ModelError,
    NondeterminismError,
    SeerError,
    ThreadingLayerError,
)
from seer_env.registration import UnknownWorldError, make, register

if TYPE_CHECKING:
    from seer_env.actions import ActionError
    from seer_env.animation import Animation
    from seer_env.arrays import from_arrays
    from seer_env.copies import Copies
    from seer_env.env import SeerParallelEnv
    from seer_env.model import EventModel, Grid, handles, output
    from seer_env.single_agent import SingleAgentEnv
    from seer_env.vector import SeerVectorEnv, make_vec

__version__ = "0.1.0"

__all__ = [
    "ActionError",
    "Animation",
    "BoundaryFileError",
    "ContractBreach",
    "Copies",
    "EntryPointError",
    "EventModel",
    "Grid",
    "ModelError",
    "NondeterminismError",
    "SeerError",
    "SeerParallelEnv",
    "SeerVectorEnv",
    "SingleAgentEnv",
    "ThreadingLayerError",
    "UnknownWorldError",
    "__version__",
    "from_arrays",
    "handles",
    "make",
    "make_vec",
    "output",
    "register",
]

#: Where each name lives that is imported on first use.
_HOMES = {
    "ActionError": "seer_env.actions",
    "Animation": "seer_env.animation",
    "Copies": "seer_env.copies",
    "from_arrays": "seer_env.arrays",
    "SeerParallelEnv": "seer_env.env",
    "EventModel": "seer_env.model",
    "Grid": "seer_env.model",
    "handles": "seer_env.model",
    "output": "seer_env.model",
    "SingleAgentEnv": "seer_env.single_agent",
    "SeerVectorEnv": "seer_env.vector",
    "make_vec": "seer_env.vector",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'seer_env' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
