"""`nbse`: what a window that is cut short leaves behind in the queue."""

from __future__ import annotations

import numpy as np
import pytest
from runtime_worlds import nobody

from seer_env.envs.phold import Phold
from seer_env.runtime.engine import make_engine
from seer_env.runtime.phases import MOST_EVENTS
from seer_env.runtime.schedulers.calendar_queue import FAR
from seer_env.runtime.schedulers.global_queue import open_window
from seer_env.runtime.schedulers.taking import order_range, put_back, take

RANGES = 4


def queued(memory):
    """Slots of all events on the calendar's stacks."""
    slots, heads = [], [*memory.buckets[memory.buckets >= 0], memory.calendar_words[FAR]]
    for head in map(int, heads):
        while head >= 0:
            assert len(slots) < len(memory.pool), "a stack runs in a circle"
            slots.append(head)
            head = int(memory.pool["sibling"][head])
    return sorted(slots)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0)], ids=["in turn", "the last first"])
@pytest.mark.parametrize("takers", [1, 2])
def test_every_event_that_a_cut_window_did_not_execute_is_queued_once(order, takers):
    """Whatever order the ranges of days are put in order in, and so lie in the run."""
    engine = make_engine(Phold(400, population=2, lookahead=0.5, dt=1.0), "nbse", takers)
    engine.reset(3)
    engine.step(*nobody(engine.model))
    memory = engine._memory
    control, calendar, worker = memory.control[0], memory.calendar[0], memory.workers[0]
    control["end"], control["deadline"], control["direct"] = 2.0, 0, 0
    assert open_window(control, calendar)
    grain = -(-int(calendar["window_days"]) // RANGES)
    calendar["n_ranges"], calendar["grain"] = RANGES, grain
    for number in order:
        first = int(calendar["base"]) + number * grain
        last = min(first + grain, int(calendar["base"] + calendar["window_days"]))
        order_range(control, calendar, worker, number, first, last)
    worker["events"] = 0
    for taker in range(takers):
        take(control, calendar, worker, memory.workers.ctypes.data, taker)
    assert worker["events"] == takers * MOST_EVENTS
    put_back(control, calendar)
    assert queued(memory) == np.flatnonzero(memory.pool["target"] >= 0).tolist()
