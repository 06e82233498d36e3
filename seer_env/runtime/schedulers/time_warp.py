"""The `root-sim` scheduler: Time Warp, the optimistic way (`runtime/time_warp/PROTOCOL.md`)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import types

from seer_env.runtime import transition as stages
from seer_env.runtime.compile import c_function, package_fingerprint
from seer_env.runtime.engine import Outputs
from seer_env.runtime.entry import pool_available
from seer_env.runtime.memory import Memory
from seer_env.runtime.schedulers.compiled import CompiledEngine
from seer_env.runtime.shims import compile_model
from seer_env.runtime.time_warp.memory import WarpMemory
from seer_env.runtime.time_warp.worker import warp_main

MOST_SAVE_EVERY = 1 << 20


@lru_cache(maxsize=1)
def _worker():
    """The compiled worker, kept for the life of the process: others hold its address."""
    return c_function(warp_main, types.void(types.int64, types.int64), package_fingerprint())


class TimeWarpEngine(CompiledEngine):
    """Executes entities ahead of others, and takes back what turns out to have been out of order.

    Nothing is ahead at a boundary: handlers read other entities only as they were at the last one.

    Raises:
        ValueError: the scheduler is neither `root-sim` nor `root-sim:K` with a K that `save_every` takes.
    """

    _memory: WarpMemory

    def __init__(self, model, scheduler: str, threads: int, event_capacity: int | None = None):
        save_every = _save_every(scheduler)
        super().__init__(model, scheduler, threads, event_capacity)
        if save_every is not None:
            self.save_every = save_every

    def _worker_function(self) -> int:
        return _worker().address

    def _new_memory(self) -> Memory:
        return WarpMemory(self.model, compile_model(self.model), self.threads)

    @property
    def save_every(self) -> int:
        """An entity's row is saved before every so many of its executions; results do not depend on it.

        It is chosen at each GVT until it is set.
        """
        return int(self._memory.warp["interval"][0])

    @save_every.setter
    def save_every(self, executions: int) -> None:
        if type(executions) is not int or not 1 <= executions <= MOST_SAVE_EVERY:
            raise ValueError(f"save_every must be an integer from 1 to {MOST_SAVE_EVERY}, got {executions!r}")
        self._memory.warp["interval"], self._memory.warp["adaptive"] = executions, 0

    def _run(self, actions: np.ndarray, live: np.ndarray, outputs: Outputs) -> None:
        """As of the parent; who emits one event too many is found by going through the step in key order."""
        threads = self.threads if self.threads == 1 or pool_available() else 1
        warp = self._memory.warp
        warp["cautious"] = 0
        while True:
            rule, details = self._call(stages.AT_ACTIONS, self.steps, actions, live, outputs, threads)
            cautious, warp["cautious"] = bool(warp["cautious"][0]), 0
            if rule == "":
                return
            if rule == "slots":
                self._recover(slots=2 * self._memory.slots)
            elif rule == "capacity" and not cautious:
                self._recover()
                threads, cautious = 1, True
            else:
                raise self._breach(rule, details, actions, live)
            self._torn, warp["cautious"] = True, cautious


def _save_every(scheduler: str) -> int | None:
    """The K of `root-sim:K`, or None."""
    _, colon, number = scheduler.partition(":")
    if not colon:
        return None
    if not (number.isascii() and number.isdecimal() and 1 <= int(number) <= MOST_SAVE_EVERY):
        raise ValueError(
            f"scheduler {scheduler!r}: after root-sim: comes the number of executions per saved row, "
            f"from 1 to {MOST_SAVE_EVERY}"
        )
    return int(number)
