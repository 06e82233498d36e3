"""What an agent sees at a boundary, and which of its actions are legal; scalar functions for outputs."""

from __future__ import annotations

from seer_env.envs.battle.constants import AIMS, SIGHT
from seer_env.envs.battle.handling import in_blue

CELLS, ACTIONS = len(SIGHT), len(AIMS)


def observe_surroundings(me, obs, sim):
    """Write what is in sight into `obs`: `[13, 13, 5]` flat, as `README.md` lays it out.

    First a list of what is not empty, then its numbers: a branch per cell would be guessed wrong too often.
    """
    sight, place, cell = sim.tables.sight, sim.tables.place, me.cell
    blue, scale = in_blue(sim.me, sim.params), 1.0 / sim.params.max_hp
    found = sim.scratch
    count = 0
    for q in range(CELLS):
        found[count] = q
        count += 1 if sim.view(cell + sight[q]).shown >= 0.0 else 0
    for f in range(count):
        q = found[f]
        occupant = int(sim.view(cell + sight[q]).shown)
        if occupant == sim.n_agents:
            obs[place[q]] = 1.0
        else:
            at = place[q] + (1 if in_blue(occupant, sim.params) == blue else 3)
            obs[at], obs[at + 1] = 1.0, sim.view(occupant).shown * scale


def mark_legal(me, info, sim):
    """Mark the actions that are aimed at a cell inside the walls."""
    mask, legal = info.action_mask, sim.tables.legal[me.cell - sim.params.first_cell]
    for action in range(ACTIONS):
        mask[action] = legal[action]
