"""Baseline policies, vectorised over agents: `policy(env) -> actions [M, 1]`."""

from __future__ import annotations

from typing import Any

import numpy as np

from seer_env.envs.battle.constants import AIMS, FIRST_ATTACK, NOBODY

#: Agents whose distances to all opponents are held at once.
BLOCK = 256


def rush(env: Any) -> np.ndarray:
    """Attack the nearest opponent if it is next to the agent, else step closer to it; int64 `[M, 1]`."""
    model, state, live = env.model, env.entities, env.live
    field, half = model.field, model.n_agents // 2
    xy = field.xy_of(state["cell"][: model.n_agents])
    actions = np.zeros((model.n_agents, 1), np.int64)
    for own, other in ((slice(0, half), slice(half, None)), (slice(half, None), slice(0, half))):
        opponents = xy[other][live[other]]
        agents = np.arange(model.n_agents)[own][live[own]]
        for block in range(0, len(agents) if len(opponents) else 0, BLOCK):
            chosen = agents[block : block + BLOCK]
            goal = xy[chosen] + _nearest(opponents[None] - xy[chosen, None])
            actions[chosen, 0] = _towards(model, state, chosen, goal - xy[chosen])
    return actions


POLICIES = {"rush": rush}


def _nearest(offsets: np.ndarray) -> np.ndarray:
    """The shortest of the offsets `[n, k, 2]` of each row; the first of equally short ones. `[n, 2]`."""
    first = (offsets**2).sum(axis=2).argmin(axis=1)
    return offsets[np.arange(len(offsets)), first]


def _towards(model, state: np.ndarray, agents: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """The attack on `goal` (offsets `[n, 2]`) where it is in reach, else the free move that ends nearest."""
    cells = state["cell"][agents]
    attack = (goal[:, None] == AIMS[FIRST_ATTACK:]).all(axis=2)
    left = ((goal[:, None] - AIMS[:FIRST_ATTACK]) ** 2).sum(axis=2).astype(float)
    stays = model.tables["aim"][:FIRST_ATTACK] == 0
    free = (state["shown"][cells[:, None] + model.tables["aim"][:FIRST_ATTACK]] == NOBODY) | stays
    move = np.where(free, left, np.inf).argmin(axis=1)
    return np.where(attack.any(axis=1), FIRST_ATTACK + attack.argmax(axis=1), move)
