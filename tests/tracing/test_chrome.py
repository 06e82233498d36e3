"""The JSON obeys the Trace Event Format and says what the trace says."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from traced import AGENTS, chosen, running

from seer_env.tracing import record


@pytest.fixture(scope="module")
def trace():
    return record(running(threads=3), chosen())


@pytest.fixture(scope="module")
def events(trace, tmp_path_factory):
    path = tmp_path_factory.mktemp("trace") / "trace.json"
    trace.to_chrome(path)
    content = json.loads(path.read_text())
    assert content["displayTimeUnit"] in ("ms", "ns")
    return content["traceEvents"]


def of(events, phase):
    return [event for event in events if event["ph"] == phase]


def test_every_event_has_the_fields_of_its_type(events):
    needed = {"X": {"ts", "dur", "name", "cat"}, "i": {"ts", "s", "name"}, "C": {"ts", "name", "args"}}
    needed["M"] = {"name", "args"}
    for event in events:
        assert needed[event["ph"]] | {"pid", "tid"} <= event.keys()
    assert all(event["dur"] >= 0 for event in of(events, "X"))
    assert {event["s"] for event in of(events, "i")} == {"p"}


def test_threads_are_named(events):
    names = {e["tid"]: e["args"]["name"] for e in of(events, "M") if e["name"] == "thread_name"}
    assert names == {0: "worker 0", 1: "worker 1", 2: "worker 2"}


def test_complete_events_of_a_worker_do_not_overlap(events):
    for worker in range(3):
        mine = sorted((e["ts"], e["dur"]) for e in of(events, "X") if e["tid"] == worker)
        for (begun, lasted), (following, _) in pairwise(mine):
            assert begun + lasted <= following + 1e-6  # a nanosecond is 1e-3


def test_work_adds_up_to_the_statistics(trace, events):
    for index, worker in enumerate(trace.stats.workers):
        work = sum(e["dur"] for e in of(events, "X") if e["tid"] == index and e["name"] != "wait")
        assert work * 1e-6 == pytest.approx(worker.busy_s)


def test_executed_events_add_up_to_the_statistics(trace, events):
    assert sum(e["args"].get("events", 0) for e in of(events, "X")) == trace.stats.events
    assert sum(e["args"]["events"] for e in of(events, "C")) + AGENTS == trace.stats.events


def test_every_round_has_an_instant_with_its_window(trace, events):
    instants = of(events, "i")
    assert [e["name"] for e in instants] == [f"round {k}" for k in range(1, trace.stats.rounds + 1)]
    assert [e["args"]["lbts"] for e in instants] == trace.rounds["lbts"].tolist()
