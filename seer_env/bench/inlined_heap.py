"""The yardstick of `bench phold`: PHOLD and nothing else on a sequential binary heap.

What a good user of numba writes in an afternoon: a struct of arrays, the handler inlined, the root
replaced by the event it emits. Keys, random streams and state are the engine's, to a byte.
"""

import math

import numba
import numpy as np

from seer_env.runtime.engine import initial_boundary
from seer_env.runtime.layout import EMITTER_SHIFT, MICRO_SHIFT, aligned_zeros

ROW = np.dtype("i8, f8, u8, u8, i8, 3i8")
ROW.names = ("count", "acc", "stream", "gamma", "emitted", "padding")


class HeapPhold:
    """A `Phold` model from its reset on; `step()` runs one window of `model.dt`."""

    def __init__(self, model, seed: int):
        start, self._model, self._steps = initial_boundary(model, seed), model, 0
        self._rows = aligned_zeros(model.n_entities, ROW)
        for name in ("stream", "gamma", "emitted"):
            self._rows[name] = getattr(start, name)
        payload = start.pending["payload"][:, 0].copy()
        # Events in key order are a heap already.
        self.heap = (*(start.pending[name].copy() for name in ("time", "seq", "target", "kind")), payload)

    def step(self) -> int:
        """Execute the events of the next window; their number."""
        self._steps += 1
        arguments = (*self.heap, self._steps * self._model.dt, *self._model.params.values())
        return run(self._rows, *arguments)

    @property
    def state(self) -> np.ndarray:
        """Entity rows `[N]`, as `Engine.state`."""
        return self._rows[["count", "acc"]].astype(self._model.entity)


@numba.njit(cache=True)
def uniform(row):
    row.stream += row.gamma
    z = row.stream
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.float64((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * (1.0 / (1 << 53))


@numba.njit(cache=True)
def run(rows, time, seq, target, kind, payload, end, work, lookahead, mean, remote):
    n, size, executed = rows.size, time.size, 0
    while size > 0 and time[0] < end:
        now, me = time[0], target[0]
        row = rows[me]
        row.count += 1
        x = row.acc
        for _ in range(work):
            x = x * 0.999999 + 0.5
        row.acc = x + now
        when = now + (lookahead - math.log(1.0 - uniform(row)) * mean)
        to = int(uniform(row) * n) if uniform(row) < remote else me
        micro = (seq[0] >> MICRO_SHIFT) + 1 if when == now else 0
        key = (micro << MICRO_SHIFT) | (np.int64(me) << EMITTER_SHIFT) | row.emitted
        row.emitted += 1
        hole, child, executed = 0, 1, executed + 1
        while child < size:
            if child + 1 < size:
                a, b = time[child], time[child + 1]
                child += b < a or (b == a and seq[child + 1] < seq[child])
            if when < time[child] or (when == time[child] and key < seq[child]):
                break
            time[hole], seq[hole], target[hole] = time[child], seq[child], target[child]
            kind[hole], payload[hole] = kind[child], payload[child]
            hole, child = child, 2 * child + 1
        time[hole], seq[hole], target[hole], kind[hole], payload[hole] = when, key, to, 0, 1.0
    return executed
