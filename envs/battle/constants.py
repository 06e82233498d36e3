"""The numbers of the Battle world: rules, actions, sight, and the rows of state and info."""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Kind(IntEnum):
    """Events: of agents ACTION to STRUCK and MOVED, of armies FALL, of cells ENTER and LEAVE."""

    ACTION = 0
    HIT = 1
    STRUCK = 2
    FALL = 3
    ENTER = 4
    MOVED = 5
    LEAVE = 6


#: Health, damage and rewards of MAgent2's battle; each is a parameter of the model (`sim.params`).
RULES: dict[str, float] = {
    "max_hp": 10.0,
    "damage": 2.0,  # of one attack
    "recovery": 0.1,  # health regained per step
    "step_reward": -0.005,
    "attack_penalty": -0.1,  # for attacking, whatever is there
    "attack_opponent_reward": 0.2,
    "kill_reward": 5.0,
    "dead_penalty": -0.1,
}
ARMIES = ("red", "blue")

VIEW = 6  # cells that an agent sees in every direction
SIDE = 2 * VIEW + 1  # of the square around the circle of sight
CHANNELS = 5  # wall, own army, its health, other army, its health

#: What a cell shows besides the index of an agent. A wall shows the number of agents.
NOBODY, OUTSIDE = -1, -2

LOOKAHEAD = 0.25  # steps; a chain of events within a step has at most three links


def _circle(radius: float) -> list[tuple[int, int]]:
    """Offsets `(dx, dy)` of the cells within `radius`, row by row."""
    reach = range(-int(radius), int(radius) + 1)
    return [(dx, dy) for dy in reach for dx in reach if dx * dx + dy * dy <= radius * radius]


_MOVES = _circle(2.0)
_ATTACKS = [offset for offset in _circle(1.5) if offset != (0, 0)]
#: Offset `(dx, dy)` of the cell that each action is aimed at, int64 `[21, 2]`: 13 moves, then 8 attacks.
AIMS = np.array(_MOVES + _ATTACKS, np.int64)
FIRST_ATTACK = len(_MOVES)
STAY = _MOVES.index((0, 0))
#: Offsets `(dx, dy)` of the cells in sight, int64 `[113, 2]`.
SIGHT = np.array(_circle(VIEW), np.int64)

ENTITY = np.dtype(
    [
        # What others may see: of an agent its health, below 0 when dead; of an army how many live; of a
        # cell the agent on it, the number of agents for a wall, NOBODY or OUTSIDE.
        ("shown", "f8"),
        ("cell", "i8"),  # the entity that an agent stands on
        ("earned", "f8"),  # reward of an agent's step
        ("hits", "i8"),  # opponents that an agent has hit in the episode
        ("kills", "i8"),  # and killed
    ]
)
INFO = np.dtype(
    [
        ("hits", "i8"),
        ("kills", "i8"),
        ("action_mask", "i1", (len(AIMS),)),  # 1: the action is aimed at a cell inside the walls
    ]
)
