"""Many-agent environments in one shared world, stepped in parallel with serial answers.

    import seer_env

    env = seer_env.make("aircraft_v0", n_agents=400)
    observations, infos = env.reset(seed=1)

Names are imported when they are first used, so that `import seer_env` and the command line's help
do not wait for numba.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from seer_env.env import SeerParallelEnv, make
    from seer_env.errors import BoundaryFileError, ContractBreach, ModelError, NondeterminismError, SeerError
    from seer_env.model import EventModel, Grid, handles, output

#: Where each public name lives.
_HOMES = {
    "make": "seer_env.env",
    "SeerParallelEnv": "seer_env.env",
    "EventModel": "seer_env.model",
    "Grid": "seer_env.model",
    "handles": "seer_env.model",
    "output": "seer_env.model",
    "SeerError": "seer_env.errors",
    "ModelError": "seer_env.errors",
    "ContractBreach": "seer_env.errors",
    "NondeterminismError": "seer_env.errors",
    "BoundaryFileError": "seer_env.errors",
}

__all__ = [
    "BoundaryFileError",
    "ContractBreach",
    "EventModel",
    "Grid",
    "ModelError",
    "NondeterminismError",
    "SeerError",
    "SeerParallelEnv",
    "__version__",
    "handles",
    "make",
    "output",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'seer_env' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
