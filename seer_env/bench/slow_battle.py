"""`battle_v0` with more to do per action: arithmetic of no consequence, to set the event time."""

from __future__ import annotations

import numba
import numpy as np

from seer_env.envs.battle.constants import ENTITY, Kind
from seer_env.envs.battle.handling import begin_step
from seer_env.envs.battle.model import Battle
from seer_env.model import handles

__all__ = ["SlowBattle", "burn", "burn_all"]


def burn(x, units):
    """So many dependent multiplications and additions."""
    for _ in range(units):
        x = x * 0.999999 + 0.5
    return x


_burn = numba.njit(burn)


@numba.njit
def burn_all(values, units):
    """The same for each of an array, one after the other: the work of as many actions."""
    for i in range(values.size):
        values[i] = _burn(values[i], units)


class SlowBattle(Battle):
    """`Battle`, whose agents think for `units` of work before they act."""

    entity = np.dtype([*((name, ENTITY[name]) for name in ENTITY.names or ()), ("thought", "f8")])

    def __init__(self, n_agents: int, units: int, **arguments):
        super().__init__(n_agents, **arguments)
        self.params["units"] = units

    @handles(Kind.ACTION)
    def act(me, event, sim):
        me.thought = burn(me.thought, sim.params.units)  # type: ignore[has-type]  # `me` is a row
        begin_step(me, int(event.payload[0]), sim)
