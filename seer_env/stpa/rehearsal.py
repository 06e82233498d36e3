"""Rehearsed steps: what an engine does with random legal actions from where it stands, leaving no trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from seer_env.affinity import ANYWHERE, Affinity

if TYPE_CHECKING:
    from seer_env.actions import ActionReader
    from seer_env.runtime.schedulers.compiled import CompiledEngine
    from seer_env.runtime.schedulers.compiled_copies import CompiledCopies

__all__ = ["Rehearsal"]

#: A rehearsed episode begins again when fewer than this share of its agents are left: random actions bring
#: them to an end sooner than a policy does, and steps of the few that remain say little of the episode's.
LIVING = 0.7


class Rehearsal:
    """Steps an engine ahead of its boundary; its next other use finds it where it was.

    Args:
        engine: the engine of an env or of copies.
        reader: draws the actions.
        live: bool `[M]`, or `[B, M]` for copies: who is live at the boundary.
        info: what the boundary shows, with a leading axis of copies where there are any, or None.
        affinity: the workers' CPUs.
    """

    def __init__(
        self,
        engine: CompiledEngine | CompiledCopies,
        reader: ActionReader,
        live: np.ndarray,
        info: np.ndarray | None,
        affinity: Affinity = ANYWHERE,
    ):
        self._engine, self._reader, self._affinity = engine, reader, affinity
        self._start = live, info
        self._enough = LIVING * np.count_nonzero(live)
        self._live, self._info, self._ahead = live, info, 0
        self._random = np.random.default_rng(0)  # nobody else's: no stream of the episode moves

    def step(self, threads: int) -> float:
        """Run one step; returns its wall seconds. An episode that has lost many agents is begun again.

        Raises:
            Exception: whatever a step may raise: random actions can do what no policy would.
        """
        engine = self._engine
        engine.use_threads(threads)
        while True:
            if np.count_nonzero(self._live) < self._enough:
                self._begin_again()
            sampled = self._reader.sample_legal(self._random, self._info)
            actions = sampled.reshape(*self._live.shape, -1)
            with self._affinity.on(threads):
                outputs = engine.rehearse(self._ahead, actions, self._live)
            if outputs is not None:
                break
            self._begin_again()
        self._live, self._info = self._live & ~outputs.terminated, outputs.info
        self._ahead += 1
        return engine.elapsed_s

    def _begin_again(self) -> None:
        (self._live, self._info), self._ahead = self._start, 0
