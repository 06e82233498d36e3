"""How transitions are divided into what was done in them, on tables written by hand."""

from __future__ import annotations

import numpy as np

from seer_env.runtime.phases import ACT, EXECUTE, OBSERVE, RESUME
from seer_env.runtime.recording import ROUND, SPAN, TRANSITION
from seer_env.tracing.timeline import ROUND_ALONE, WAIT, claims_of, rounds_of, timeline, waits_of


def spans(*rows):
    """`SPAN` from `(kind, phase, round, begun, ended, events)`."""
    names = ("kind", "phase", "round", "begun", "ended", "events")
    table = np.zeros(len(rows), SPAN)
    for name, column in zip(names, zip(*rows)):
        table[name] = column
    return table


def rounds(*rows):
    """`ROUND` from `(worker, begun, events, shared)`."""
    table = np.zeros(len(rows), ROUND)
    for name, column in zip(("worker", "begun", "events", "shared"), zip(*rows)):
        table[name] = column
    return table


# The step begins at 1000. Worker 0 resumes it, acts alone, does rounds 1 and 2 alone, publishes round 3;
# both claim of it; worker 1 completes it, does round 4 alone up to 1500, and observes alone.
RECORDED = [
    spans((RESUME, 1, 0, 1010, 1020, 0), (ACT, 0, 0, 1030, 1050, 7), (TRANSITION, 0, -1, 1020, 1200, 0),
          (EXECUTE, 2, 3, 1210, 1300, 40)),
    spans((EXECUTE, 2, 3, 1250, 1310, 20), (OBSERVE, 0, 4, 1520, 1590, 0),
          (TRANSITION, 0, -1, 1310, 1600, 0)),
]  # fmt: skip
ROUNDS = rounds((0, 1060, 7, 0), (0, 1100, 17, 0), (0, 1180, 27, 0), (1, 1400, 87, 1))
BEGUN, DRAINED, EVENTS = 1000, 500, 97


def made():
    claims = claims_of(RECORDED, BEGUN)
    table = rounds_of(ROUNDS, BEGUN, EVENTS, 1, whole=True)
    return claims, table, timeline(RECORDED, claims, table, BEGUN, DRAINED)


def test_claims_are_what_was_published():
    claims = made()[0]
    assert claims[["worker", "kind", "begun", "events"]].tolist() == [
        (0, RESUME, 10, 0), (0, EXECUTE, 210, 40), (1, EXECUTE, 250, 20)
    ]  # fmt: skip


def test_a_rounds_events_are_those_until_the_next_one_opens():
    table = made()[1]
    assert table["events"].tolist() == [10, 10, 60, 10]
    assert table["shared"].tolist() == [False, False, True, False]


def test_without_the_last_rounds_the_last_that_is_there_is_left_out():
    assert rounds_of(ROUNDS[:3], BEGUN, EVENTS, 1, whole=False)["events"].tolist() == [10, 10]


def test_transitions_are_divided():
    rows = made()[2][["worker", "kind", "begun", "ended", "events"]].tolist()
    assert rows == [
        (0, RESUME, 10, 20, 0),
        (0, TRANSITION, 20, 30, 0),
        (0, ACT, 30, 50, 7),
        (0, TRANSITION, 50, 60, 0),
        (0, ROUND_ALONE, 60, 100, 10),
        (0, ROUND_ALONE, 100, 200, 10),
        (0, EXECUTE, 210, 300, 40),
        (1, EXECUTE, 250, 310, 20),
        (1, TRANSITION, 310, 400, 0),
        (1, ROUND_ALONE, 400, 500, 10),
        (1, TRANSITION, 500, 520, 0),
        (1, OBSERVE, 520, 590, 0),
        (1, TRANSITION, 590, 600, 0),
    ]


def test_waits_are_the_rest_up_to_the_end_or_to_what_is_known():
    table = made()[2]
    rows = waits_of(table, [610, 0])[["worker", "begun", "ended"]].tolist()
    assert rows == [(0, 0, 10), (0, 200, 210), (0, 300, 610), (1, 0, 250)]
    assert set(waits_of(table, [610, 610])["kind"].tolist()) == {WAIT}
    assert waits_of(table, [0, 0, 610])[["worker", "begun", "ended"]].tolist()[-1] == (2, 0, 610)


def test_rounds_whose_transition_did_not_fit_are_left_out_of_the_timeline():
    recorded = [RECORDED[0][:2], RECORDED[1]]
    claims = claims_of(recorded, BEGUN)
    table = timeline(recorded, claims, made()[1], BEGUN, DRAINED)
    assert (0, ROUND_ALONE) not in table[["worker", "kind"]].tolist()
