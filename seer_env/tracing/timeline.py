"""What was recorded as tables: claims, rounds, and a timeline per worker without overlaps or gaps.

Times are nanoseconds since the step began, int64.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seer_env.runtime.phases import ACT, COUNT_CELLS, EXECUTE, OBSERVE, PUBLISH, RESUME, SETTLE
from seer_env.runtime.recording import TRANSITION

#: Kinds of span beside those of phases: a round that one worker did alone, and waiting.
ROUND_ALONE, WAIT = TRANSITION + 1, TRANSITION + 2
#: What the kinds are called, in the order of a step.
NAMES = {
    RESUME: "begin or resume",
    ACT: "act",
    EXECUTE: "execute",
    ROUND_ALONE: "round done alone",
    SETTLE: "settle",
    COUNT_CELLS: "count cells",
    PUBLISH: "publish",
    OBSERVE: "observe",
    TRANSITION: "transition",
    WAIT: "wait",
}

SPANS = np.dtype(
    [
        ("worker", "i8"),
        ("kind", "i8"),  # a key of `NAMES`
        ("begun", "i8"),
        ("ended", "i8"),
        ("round", "i8"),  # rounds opened before its end; -1 for transitions and waits
        ("items", "i8"),  # of the phase; 1 for a round, 0 for transitions and waits
        ("events", "i8"),  # executed
    ]
)
CLAIMS = np.dtype(
    [
        ("worker", "i8"),
        ("kind", "i8"),
        ("phase", "i8"),  # number of the published phase
        ("round", "i8"),  # rounds opened before
        ("begun", "i8"),
        ("ended", "i8"),
        ("first", "i8"),  # the items are first..first+items-1
        ("items", "i8"),
        ("events", "i8"),
        ("lost", "i8"),  # attempts that other workers were faster in, since this worker's claim before
    ]
)
ROUNDS = np.dtype(
    [
        ("worker", "i8"),  # who opened it
        ("begun", "i8"),
        ("lbts", "f8"),  # smallest pending timestamp: the window begins here. GVT under `root-sim`
        ("limit", "f8"),  # the window ends before this timestamp
        ("micro", "i8"),  # the micro-step where the window is one timestamp, else -1
        ("ready", "i8"),  # entities ready, or -1 where the scheduler does not know
        ("events", "i8"),  # executed between its opening and the next one's
        ("shared", "?"),  # executed by all workers
    ]
)
_NEVER = np.iinfo(np.int64).max


def table(dtype: np.dtype, like: np.ndarray, **columns) -> np.ndarray:
    """Rows of `dtype` with the columns of the same name in `like`, and those given."""
    rows = np.zeros(len(like), dtype)
    for name in dtype.names or ():
        if name in columns:
            rows[name] = columns[name]
        elif name in (like.dtype.names or ()):
            rows[name] = like[name]
    return rows


def claims_of(recorded: Sequence[np.ndarray], begun_at: int) -> np.ndarray:
    """`CLAIMS` from what workers recorded (`recording.SPAN`), in the order in which they began."""
    parts = []
    for worker, spans in enumerate(recorded):
        mine = spans[spans["phase"] > 0]
        lost = np.diff(mine["lost_claims"], prepend=0)
        times = {name: mine[name] - begun_at for name in ("begun", "ended")}
        parts.append(table(CLAIMS, mine, worker=worker, lost=lost, **times))
    claims = np.concatenate([np.zeros(0, CLAIMS), *parts])
    return claims[np.argsort(claims["begun"], kind="stable")]


def rounds_of(recorded: np.ndarray, begun_at: int, events: int, shared: int, whole: bool) -> np.ndarray:
    """`ROUNDS` from what was recorded (`recording.ROUND`).

    Args:
        recorded: in order.
        begun_at: when the step began.
        events, shared: events and shared rounds of the whole step.
        whole: no round is missing. Else nobody knows where the last one that is there ended: it is left out.
    """
    if not whole:
        events, shared = int(recorded["events"][-1]), int(recorded["shared"][-1])
    executed = np.diff(recorded["events"], append=events)
    was_shared = np.diff(recorded["shared"], append=shared) > 0
    rounds = table(ROUNDS, recorded, begun=recorded["begun"] - begun_at, events=executed, shared=was_shared)
    return rounds if whole else rounds[:-1]


def timeline(
    recorded: Sequence[np.ndarray], claims: np.ndarray, rounds: np.ndarray, begun_at: int, drained: int
) -> np.ndarray:
    """`SPANS` of all that workers did, in the order in which they began; a worker's do not overlap.

    A transition that did phases or rounds alone is shown as these and what is left of it between them.

    Args:
        recorded: per worker, `recording.SPAN`.
        claims, rounds: of the step.
        begun_at: when the step began.
        drained: when its window was drained, nanoseconds since then.
    """
    published = np.unique(claims["round"][claims["kind"] == EXECUTE])
    alone = rounds[~np.isin(np.arange(1, len(rounds) + 1), published)]
    numbers = np.flatnonzero(~np.isin(np.arange(1, len(rounds) + 1), published)) + 1
    as_spans = table(
        SPANS, alone, kind=ROUND_ALONE, ended=np.where(alone["begun"] < drained, drained, _NEVER),
        round=numbers, items=1,
    )  # fmt: skip
    parts = [table(SPANS, claims)]
    for worker, spans in enumerate(recorded):
        direct = spans[spans["phase"] == 0]
        times = {name: direct[name] - begun_at for name in ("begun", "ended")}
        direct = table(SPANS, direct, worker=worker, **times)
        transitions = direct[direct["kind"] == TRANSITION]
        inner = np.concatenate([direct[direct["kind"] != TRANSITION], as_spans[as_spans["worker"] == worker]])
        parts.append(_divided(transitions, inner))
    spans = np.concatenate(parts)
    return spans[np.argsort(spans["begun"], kind="stable")]


def _divided(transitions: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """One worker's transitions as what was done in them, each up to the next at most, and what is left."""
    inner = inner[np.argsort(inner["begun"], kind="stable")]
    within = np.searchsorted(transitions["begun"], inner["begun"], "right") - 1
    known = within >= 0  # others lie in transitions that did not fit
    known[known] = inner["begun"][known] < transitions["ended"][within[known]]
    inner, within = inner[known], within[known]
    following = np.append(inner["begun"], _NEVER)[1:]
    inner["ended"] = np.minimum(np.minimum(inner["ended"], following), transitions["ended"][within])
    return np.concatenate([inner, _between(transitions, inner)])


def _between(outer: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """What `inner` leaves of `outer`, in pieces. Spans of either do not overlap; inner ones lie in outer."""
    begun = np.sort(np.concatenate([outer["begun"], inner["ended"]]))
    ended = np.sort(np.concatenate([inner["begun"], outer["ended"]]))
    longer = ended > begun
    pieces = np.zeros(int(longer.sum()), SPANS)
    pieces["begun"], pieces["ended"] = begun[longer], ended[longer]
    pieces["round"] = -1
    if len(outer):
        pieces["worker"], pieces["kind"] = outer["worker"][0], outer["kind"][0]
    return pieces


def waits_of(spans: np.ndarray, ends: Sequence[int]) -> np.ndarray:
    """`SPANS` of each worker's waiting between the step's begin and an end, per worker."""
    parts = [np.zeros(0, SPANS)]
    for worker, end in enumerate(ends):
        mine = spans[spans["worker"] == worker]
        whole = np.zeros(1, SPANS)
        whole["worker"], whole["kind"] = worker, WAIT
        whole["ended"] = max(end, int(mine["ended"].max(initial=0)))
        parts.append(_between(whole, mine))
    return np.concatenate(parts)
