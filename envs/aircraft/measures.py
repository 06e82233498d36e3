"""How well an episode was flown, beyond its reward."""

from __future__ import annotations

from typing import Any

import numpy as np

from seer_env.envs.aircraft.traffic import close_pairs

__all__ = ["Flown"]


class Flown:
    """Counts over an episode, from the boundary that `env` stands at on.

    Args:
        env: an env of `Aircraft`.
    """

    def __init__(self, env: Any):
        model = env.model
        self._minima = model.params["separation_h"], model.params["separation_v"]
        x, y, t = (np.diff(model.tables[f"route_{name}"]) for name in "xyt")
        with np.errstate(divide="ignore"):  # between the end of a route and the start of the next
            self._way = np.hypot(x, y) / t * model.dt  # m that the schedule asks for in a step, by leg
        self._pairs: set[tuple[int, int]] = set()
        self._flown = self._made = self._due = 0.0
        self._arrived = self._collided = 0
        self._look(env)

    def step(self, env: Any) -> None:
        """Count a step; call it after each."""
        live, xy, to_go, due = self._live, self._xy, self._to_go, self._due_next
        self._look(env)
        info = env.info_arrays
        under_way = live & (info["arrived"] == 0)  # the last waypoint counts as reached from a distance
        self._flown += float(np.hypot(*(self._xy - xy)[:, under_way]).sum())
        self._made += float((to_go - self._to_go)[under_way].sum())
        self._due += float(due[under_way].sum())
        self._arrived += int(info["arrived"][live].sum())
        self._collided += int(info["collided"][live].sum())

    def figures(self) -> dict[str, float]:
        """The episode so far.

        Returns:
            losses: pairs that came inside the separation minima at a boundary.
            efficiency: route made good per distance flown over the ground.
            pace: route made good per what the schedule asks for.
            arrived, collided: aircraft.
        """
        return {
            "losses": float(len(self._pairs)),
            "efficiency": self._made / max(self._flown, 1.0),
            "pace": self._made / max(self._due, 1.0),
            "arrived": float(self._arrived),
            "collided": float(self._collided),
        }

    def _look(self, env: Any) -> None:
        state = env.entities
        self._live, self._to_go = env.live, state["to_go"].copy()
        self._xy = np.stack([state["x"], state["y"]])
        self._due_next = self._way[state["point"] - 1]
        flying = np.flatnonzero(state["active"] == 1)
        xyz = np.stack([state[axis][flying] for axis in "xyz"], axis=1)
        self._pairs |= set(map(tuple, flying[close_pairs(xyz, *self._minima)].tolist()))
