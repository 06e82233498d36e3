"""Baseline policies, vectorised over stations: `policy(env) -> actions [M, 3]`.

All use the middle power level and admit whatever the neighbourhood's load; they differ in the guard
channels. They use nothing that an observation does not show.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from seer_env.envs.pcs.constants import LEVELS

__all__ = ["POLICIES", "fixed", "guard", "threshold", "with_guards"]

#: Mean announced load of the neighbours above which `threshold` keeps guard channels.
CALM = 0.6


def fixed(env: Any) -> np.ndarray:
    """Fixed channel assignment: every free channel is for everybody."""
    return with_guards(env.model, np.zeros(env.model.n_agents))


def guard(env: Any) -> np.ndarray:
    """The same number of guard channels everywhere and always: the model's `static_guard`.

    `search.py` finds the best one for given parameters.
    """
    return with_guards(env.model, np.full(env.model.n_agents, env.model.static_guard))


def threshold(env: Any) -> np.ndarray:
    """Guard channels in proportion to how far the neighbours' announced load is above a threshold.

    None up to `CALM`, half of the most where all neighbours are full.
    """
    model, state = env.model, env.entities
    near = state["near_load"] / np.maximum(np.diff(model.topology.offsets), 1)
    share = 0.5 * np.maximum(near - CALM, 0.0) / (1.0 - CALM)
    return with_guards(model, np.rint(share * model.params["max_guard"]))


def with_guards(model: Any, guards: np.ndarray) -> np.ndarray:
    """Actions that keep `guards` channels `[M]`; float32 `[M, 3]` (int64 if discrete)."""
    middle = (LEVELS - 1) // 2
    if model.discrete:
        columns = np.full(len(guards), middle), guards, np.full(len(guards), LEVELS - 1)
        return np.stack(columns, axis=1).astype(np.int64)
    columns = np.zeros(len(guards)), 2.0 * guards / model.params["max_guard"] - 1.0, np.ones(len(guards))
    return np.stack(columns, axis=1).astype(np.float32)


POLICIES = {"fixed": fixed, "guard": guard, "threshold": threshold}
