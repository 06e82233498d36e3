"""Kinds of event, scales and the layout of a cell of the PCS world (seconds, watts)."""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Kind(IntEnum):
    """What happens to a cell; the five tasks of a PCS model are ARRIVAL to FADING."""

    ACTION = 0
    ARRIVAL = 1
    COMPLETION = 2
    HANDOFF_LEAVE = 3
    HANDOFF_RECEIVE = 4
    FADING = 5
    ANNOUNCE = 6


#: Power control; each is a parameter of the model (`sim.params`).
RADIO: dict[str, float] = {
    "sir": 0.002,  # signal-to-interference ratio that a call needs, before the processing gain
    "noise": 20.0,  # W, in the same scale as the interference
    "leakage": 0.4,  # share of the power of the own cell's other calls that interferes
    "coupling": 0.1,  # share of the power announced by each neighbour that interferes
    "min_power": 0.05,  # W per call
    "low_cap": 2.0,  # W per call, the most that the lowest and the highest power level allow
    "high_cap": 32.0,
}

#: Weights of the reward's terms; each is a parameter of the model.
WEIGHTS: dict[str, float] = {
    "w_carried": 1.0,  # for all channels busy during the whole step
    "w_blocked": 0.1,  # per new call refused
    "w_dropped": 1.0,  # per call lost at a handoff or to fading
    "w_power": 0.3,  # per W and channel
}

MOST_CHANNELS, MOST_PATHS = 10_000, 1_000_000  # more are a mistake in the argument
MAX_GUARD = 8  # guard channels that an action can keep, by default
STATIC_GUARD = 2  # guard channels of the policy `guard`: the best for the default world (README.md)
LEVELS = 5  # of power and of the admission threshold in a discrete action
LOWEST_THRESHOLD = 0.5  # of the neighbourhood's load; the highest, 1, admits always
OF_LATE = 1.0 / 32.0  # weight of the newest call in the ratios "of late"
POWER_UNIT = 2.0  # W per channel that an observation shows as 1

OWN = 16  # numbers about the cell itself in an observation
EACH = 4  # numbers about each neighbour
SHOWN = 8  # neighbours shown, at most

#: Half-hours of a week.
HALF_HOURS = 7 * 48

#: Cumulative counts of calls. In every cell, arrived + received = completed + blocked + dropped + outages
#: + left + busy; what has left and is not received yet is in flight.
COUNTS = (
    "arrived",  # new calls, and those in progress at reset
    "completed",
    "blocked",  # new calls refused
    "left",  # handoffs sent
    "received",  # handoffs asked for, with or without success
    "dropped",  # handoffs that found no free channel
    "outages",  # calls that fading ended
)

INFO = np.dtype(
    [
        ("carried", "f8"),  # the four terms of the reward, weighted; they add up to it
        ("blocked", "f8"),
        ("dropped", "f8"),
        ("power", "f8"),
        ("mean_busy", "f8"),  # calls in progress, W: means over the step
        ("mean_power", "f8"),
        *[(f"calls_{name}", "i8") for name in COUNTS],  # in the step
    ]
)


#: What every cell's row begins with, however many channels it has.
CELL_FIELDS = (
    ("busy", "i8"),
    ("pending", "i8"),  # calls in progress that will leave by handoff
    ("guard", "i8"),
    ("cap", "f8"),  # W per call
    ("threshold", "f8"),
    ("transmitted", "f8"),  # W, the sum over calls
    ("near_load", "f8"),  # sums over what the neighbours announced last
    ("near_queue", "f8"),
    ("near_power", "f8"),
    ("blocking", "f8"),  # ratios of late
    ("dropping", "f8"),
    ("outage", "f8"),
    ("since", "f8"),  # when the two integrals below were brought up to date
    ("area", "f8"),  # calls in progress x s
    ("energy", "f8"),  # W s
    ("area_before", "f8"),  # as of the step's start
    ("energy_before", "f8"),
)


def cell_dtype(channels: int, degree: int) -> np.dtype:
    """A cell's row.

    Channel numbers `in_use[:busy]` carry calls and `in_use[busy:]` are free; `place` is its inverse. So
    taking, returning and visiting channels costs O(1) each.

    Args:
        channels: of the cell.
        degree: the most neighbours that a cell of the world has.
    """
    return np.dtype(
        [
            *CELL_FIELDS,
            *[(name, "i8") for name in COUNTS],
            *[(f"{name}_before", "i8") for name in COUNTS],
            ("in_use", "i8", (channels,)),
            ("place", "i8", (channels,)),
            ("end", "f8", (channels,)),  # when the call ends, which also names it; 0: no call
            ("bound", "i8", (channels,)),  # neighbour to whom the call will leave, or -1
            ("gain", "f8", (channels,)),
            ("power", "f8", (channels,)),
            ("heard_load", "f8", (degree,)),  # by neighbour
            ("heard_queue", "f8", (degree,)),
            ("heard_power", "f8", (degree,)),
            ("sent", "i8", (degree,)),  # handoffs to each neighbour in this step
        ]
    )
