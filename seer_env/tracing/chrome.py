"""A trace as JSON that Perfetto and chrome://tracing open.

The format is Chromium's "Trace Event Format" (chromium.googlesource.com/catapult, tracing): complete events
(`X`), instants (`i`), counters (`C`) and metadata (`M`), times in microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from seer_env.tracing.timeline import NAMES

if TYPE_CHECKING:
    from seer_env.tracing.trace import StepTrace

#: The one process of the trace.
PROCESS = 1


def chrome_trace(trace: StepTrace) -> str:
    """The trace as JSON."""
    events = [*_names(trace), *_spans(trace), *_rounds(trace)]
    facts = {"step": trace.title, "missing": trace.missing}
    content = {"traceEvents": events, "displayTimeUnit": "ns", "otherData": facts}
    return json.dumps(content, allow_nan=False)


def _names(trace: StepTrace) -> Iterator[dict[str, Any]]:
    yield {"ph": "M", "name": "process_name", "pid": PROCESS, "tid": 0, "args": {"name": trace.title}}
    for worker in range(len(trace.stats.workers)):
        name = {"name": f"worker {worker}"}
        yield {"ph": "M", "name": "thread_name", "pid": PROCESS, "tid": worker, "args": name}
        order = {"sort_index": worker}
        yield {"ph": "M", "name": "thread_sort_index", "pid": PROCESS, "tid": worker, "args": order}


def _spans(trace: StepTrace) -> Iterator[dict[str, Any]]:
    spans = np.concatenate([trace.spans, trace.waits])
    for worker, kind, begun, ended, number, items, events in spans.tolist():
        arguments = {"round": number, "items": items, "events": events} if number >= 0 else {}
        yield {
            "ph": "X", "name": NAMES[kind], "cat": "work" if items else "overhead",
            "pid": PROCESS, "tid": worker, "ts": begun / 1000, "dur": (ended - begun) / 1000,
            "args": arguments,
        }  # fmt: skip


def _rounds(trace: StepTrace) -> Iterator[dict[str, Any]]:
    for number, row in enumerate(trace.rounds, 1):
        at = {"pid": PROCESS, "tid": int(row["worker"]), "ts": int(row["begun"]) / 1000}
        facts = {name: row[name].item() for name in ("lbts", "limit", "micro", "ready", "events", "shared")}
        yield {"ph": "i", "name": f"round {number}", "s": "p", **at, "args": facts}
        yield {"ph": "C", "name": "events of the round", **at, "args": {"events": int(row["events"])}}
