"""`floor`: the handlers alone, called in key order without any queue. What no scheduler can go below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seer_env.errors import SeerError
from seer_env.runtime.schedulers.replay import RecordingEngine, ReplayEngine

if TYPE_CHECKING:
    import numpy as np

    from seer_env.model import EventModel

__all__ = ["Floor"]


class Floor:
    """A world whose steps are executed twice: under `heap`, which records their events, and from the record.

    Only the second is timed. The handlers are the same machine code on rows, random streams and boundary
    snapshots of their own; `emit` is checked and written as always, and then dropped. The order is key order,
    on one thread; the memory of entities to come is asked for early where the world outgrows the cache. A
    scheduler that goes entity by entity inside a safe window can be kinder to the cache than that.

    Memory: two worlds, and the events of one step, 64 bytes each (more with a wide payload).

    Args:
        model: a validated model.
        seed: of the episode, as `Engine.reset` takes it.

    Attributes:
        events: events of the last window, actions too.
    """

    def __init__(self, model: EventModel, seed: int):
        self._recording = RecordingEngine(model, "heap", 1)
        self._replay = ReplayEngine(model, "replay", 1)
        self.events = 0
        for engine in (self._recording, self._replay):
            engine.reset(seed)

    def window(self, actions: np.ndarray, live: np.ndarray) -> float:
        """Wall seconds of the next step's handlers, its actions' too; not of its outputs.

        Args:
            actions: float64 `[M, A]`.
            live: bool `[M]`, as `Engine.step` takes them.

        Raises:
            ContractBreach: a handler broke the contract.
            SeerError: the replayed step led to another state than the recorded one.
                After any exception the two are apart: make another floor.
        """
        seconds = self._replay.replay(self._recording.record(actions, live), actions, live)
        self.events = self._replay.stats.events
        if not self._replay.is_at(self._recording):
            raise SeerError(f"{self._recording.model!r}: a replayed step led to another state")
        return seconds

    @property
    def state(self) -> np.ndarray:
        """Entity rows after the last window, `[N]`, read-only."""
        return self._replay.state

    def close(self) -> None:
        """Release the memory."""
        self._recording.close()
        self._replay.close()
