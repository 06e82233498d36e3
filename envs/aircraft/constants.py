"""Units, limits and default scales of the Aircraft world (SI units, radians)."""

from __future__ import annotations

import math

import numpy as np

NAUTICAL_MILE = 1852.0
FOOT = 0.3048
GRAVITY = 9.80665

#: Separation minima and conflict horizon usual for airliners: 5 NM, 1000 ft, 300 s.
SEPARATION_H = 5 * NAUTICAL_MILE
SEPARATION_V = 1000 * FOOT
HORIZON = 300.0
#: A near mid-air collision: 500 ft and 100 ft.
COLLISION_H = 500 * FOOT
COLLISION_V = 100 * FOOT

#: Default performance of every aircraft; each is a parameter of the model (`sim.params`).
PERFORMANCE: dict[str, float] = {
    "min_speed": 70.0,  # true airspeed, m/s
    "max_speed": 290.0,
    "max_turn": math.radians(3.0),  # rad/s: a standard-rate turn
    "bank_accel": GRAVITY * math.tan(math.radians(25.0)),  # m/s^2: bank angle limits the turn to this / speed
    "max_accel": 0.5,  # m/s^2, along the flight path
    "max_climb": 15.0,  # m/s, about 3000 ft/min
    "climb_accel": 1.5,  # m/s^2, vertical
    "ceiling": 14_000.0,  # m
    "heading_step": math.radians(30.0),  # change that an action of 1 asks for
    "speed_step": 10.0,
    "climb_step": 7.5,
    "advisory_climb": 1500 * FOOT / 60,  # m/s that a resolution advisory commands
    "advisory_time": 20.0,  # s that it lasts
    "capture": 3_000.0,  # m from a waypoint at which it counts as passed
}

#: Weights of the reward's terms, and how far they reach; each is a parameter of the model.
WEIGHTS: dict[str, float] = {
    "w_progress": 1.0,
    "w_separation": 1.0,
    "w_alerts": 0.1,
    "w_effort": 0.05,
    "arrival_bonus": 10.0,
    "collision_cost": 10.0,
    "separation_margin": 1.0,  # times the minima: closer than that, aircraft pay for separation
}

OWN = 16  # numbers about the aircraft itself in an observation
EACH = 9  # numbers about each reported neighbour
DISCRETE_LEVELS = 5  # levels of a discrete action, -1, -0.5, 0, 0.5, 1

INFO = np.dtype(
    [
        ("progress", "f8"),  # the four terms of the reward, weighted; they add up to it
        ("separation", "f8"),
        ("alerts", "f8"),
        ("effort", "f8"),
        ("losses", "i8"),  # aircraft closer than the separation minima at this boundary
        ("alert_count", "i8"),  # neighbours in conflict within the horizon, as reported
        ("to_go", "f8"),  # m along the route
        ("arrived", "i8"),
        ("collided", "i8"),
    ]
)


def entity_dtype(neighbours: int) -> np.dtype:
    """An aircraft's row; `near_*` hold its most urgent neighbours, as last reported.

    Units: m, s, m/s, rad (counter-clockwise from east).
    """
    scalars = (
        "x", "y", "z",
        "heading", "speed", "climb",  # through the air
        "vx", "vy",  # over the ground
        "turn", "turn_time",  # rad/s, and for how long yet
        "target_heading", "target_speed", "target_climb",
        "wind_x", "wind_y",
        "level",  # altitude of the next waypoint
        "to_go", "to_go_before",  # along the route, now and at the step's start
        "effort",  # mean square of the last action
        "advisory", "advisory_end",  # -1 descend, 1 climb; and until when
        "mirror_x", "mirror_y", "shift_x", "shift_y", "shift_z",  # from the table's route to the flown one
    )  # fmt: skip
    counters = ("point", "last", "active", "arrived", "reports", "crowd")
    near = ("x", "y", "z", "vx", "vy", "vz", "urgency", "ratio")
    return np.dtype(
        [(name, "f8") for name in scalars]
        + [(name, "i8") for name in counters]
        + [("near_id", "i8", (neighbours,)), ("near_age", "i8", (neighbours,))]
        + [(f"near_{name}", "f8", (neighbours,)) for name in near]
    )


PUBLIC = ("x", "y", "z", "vx", "vy", "climb", "turn", "turn_time", "level", "active")
