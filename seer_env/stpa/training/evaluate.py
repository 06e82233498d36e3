"""Table 1: every method on every split, real and simulated sweeps apart.

For each seed a split holds configurations back, learners learn from the others, and every method proposes a
thread count for each held-back configuration. What is measured is measured on one half of a configuration's
turns; what a count is worth is read from the other half, beside what the best count on the first half takes
there. That is done for several halvings: which turns fall where should decide little.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from seer_env.bench.report import print_table
from seer_env.stpa.dataset import Sweep
from seer_env.stpa.features import METRICS
from seer_env.stpa.labels import choices, halves, label, label_noise, snapped, time_of
from seer_env.stpa.search import MOST_ROUNDS
from seer_env.stpa.training.learners import LEARNERS, Lesson
from seer_env.stpa.training.rules import (
    BUDGET_S,
    Chosen,
    logical_cores,
    oracle,
    physical_cores,
    ratio,
    search,
    usl,
)
from seer_env.stpa.training.splits import Split

__all__ = [
    "COLUMNS",
    "METHODS",
    "STEP_COUNTS",
    "Score",
    "evaluate",
    "excess",
    "noise",
    "print_scores",
    "summary",
    "table",
    "verdict",
]

METHODS = (
    *LEARNERS,
    "physical cores",
    "logical cores",
    "ratio rule",
    "USL, 5 points",
    "search alone",
    "search alone, ties to start",
    "STPA + search",
    "oracle",
)
#: The method that all are compared with.
COMBINED = "STPA + search"
#: Steps after which the net gain is told.
STEP_COUNTS = (100, 1000, 10_000)
#: Halvings of the turns of each held-back configuration.
HALVINGS = 16
#: Resamples of an interval.
RESAMPLES = 2000
#: Titles and cells of Table 1, behind the method.
COLUMNS = {
    "MAE": "{mae:.3f}",
    "MSE": "{mse:.2f}",
    "log2 error": "{log2_error:.3f}",
    "regret": "{regret_mean:.2%}",
    f"above {COMBINED}": "{excess:+.2%} ({excess_low:+.2%} to {excess_high:+.2%})",
    "± over seeds": "{regret_std_over_seeds:.1%}",
    "p95": "{regret_p95:.1%}",
    "max": "{regret_max:.1%}",
    "> 5 %": "{regret_above_5:.1%}",
    "preflight, s": "{preflight_s:.3f}",
    **{f"gain, {n:,} steps": f"{{gain_{n}:.1%}}" for n in STEP_COUNTS},
}


@dataclass(frozen=True, slots=True)
class Score:
    """One method on one halving of a held-back configuration's turns.

    Attributes:
        split, seed, method, index: what this is of.
        simulated: whether the configuration is.
        predicted, label: threads; the prediction is a real number, as it came.
        regret: by how much a step is longer than with the best count, `t / t* - 1`.
        seconds: what was measured, or recorded, to choose.
        step_s, serial_s: of a step with the proposed count, and under `serial`.
    """

    split: str
    seed: int
    method: str
    index: int
    simulated: bool
    predicted: float
    label: int
    regret: float
    seconds: float
    step_s: float
    serial_s: float


# -- scores ----------------------------------------------------------------------------------------


def evaluate(split: Split, lesson: Lesson | None = None) -> list[Score]:
    """Scores of all methods on a split."""
    lesson = lesson or Lesson(split.train, split.seed)
    learned = {name: learn(lesson) for name, learn in LEARNERS.items()}
    rng, scores = np.random.default_rng(split.seed), []
    for sweep in split.test:
        said = dict(_said(sweep, learned))
        for _ in range(HALVINGS):
            choose, score = halves(len(sweep.seconds), rng)
            met = rng.choice(choose, MOST_ROUNDS)
            proposals = said | dict(_measured(sweep, met, said["STPA"])) | {"oracle": oracle(sweep, choose)}
            best, times = label(sweep, choose), time_of(sweep, score)
            scores += [_scored(split, method, sweep, proposals[method], best, times) for method in METHODS]
    return scores


def _said(sweep: Sweep, learned: dict[str, Callable[[Sweep], float]]) -> Iterator[tuple[str, Chosen]]:
    """What methods say that measure no candidate."""
    for name, predicted in learned.items():
        begun = time.process_time()  # what the machine did meanwhile for others is no cost of the method
        threads = sweep.cpus * 2.0 ** predicted(sweep)
        yield name, Chosen(threads, _trace_seconds(sweep) + time.process_time() - begun)
    rules = {"physical cores": physical_cores, "logical cores": logical_cores, "ratio rule": ratio}
    for name, rule in rules.items():
        yield name, rule(sweep)


def _measured(sweep: Sweep, turns: np.ndarray, stpa: Chosen) -> Iterator[tuple[str, Chosen]]:
    """What methods say that measure candidates, all of them on the same turns, in this order.

    All searches have the same budget, and STPA's trace is paid from it.
    """
    yield "USL, 5 points", usl(sweep, turns[0])
    start = ratio(sweep).threads
    yield "search alone", search(sweep, turns, start)
    yield "search alone, ties to start", search(sweep, turns, start, start)
    found = search(sweep, turns, stpa.threads, stpa.threads, BUDGET_S - _trace_seconds(sweep))
    yield COMBINED, Chosen(found.threads, stpa.seconds + found.seconds)


def _trace_seconds(sweep: Sweep) -> float:
    """What recording the trace took: each trace step at least `trace.SAMPLE_S`."""
    from seer_env.stpa.trace import SAMPLE_S

    steps = 1e-9 * 10.0 ** sweep.trace[METRICS.index("step_ns"), :, 0].astype(float)
    return float(np.maximum(steps, SAMPLE_S).sum())


def _scored(
    split: Split, method: str, sweep: Sweep, chosen: Chosen, best: int, times: dict[int, float]
) -> Score:
    taken = times[snapped(chosen.threads, sweep)]
    return Score(
        split=split.name,
        seed=split.seed,
        method=method,
        index=sweep.configuration.index,
        simulated=sweep.simulated,
        predicted=float(np.clip(chosen.threads, 1.0, max(choices(sweep)))),
        label=best,
        regret=taken / times[best] - 1.0,
        seconds=chosen.seconds,
        step_s=taken,
        serial_s=times[1],
    )


def summary(scores: Sequence[Score]) -> dict[str, float]:
    """A row of Table 1: over the scores of one method on one split, all seeds together."""
    error = np.array([s.predicted - s.label for s in scores])
    ratio_error = np.abs(np.log2([s.predicted / s.label for s in scores]))
    regret = np.array([s.regret for s in scores])
    by_seed = [[s.regret for s in scores if s.seed == seed] for seed in {s.seed for s in scores}]
    return {
        "mae": float(np.abs(error).mean()),
        "mse": float(np.square(error).mean()),
        "log2_error": float(ratio_error.mean()),
        "regret_mean": float(regret.mean()),
        "regret_std_over_seeds": float(np.std([np.mean(some) for some in by_seed])),
        "regret_p95": float(np.quantile(regret, 0.95)),
        "regret_max": float(regret.max()),
        "regret_above_5": float((regret > 0.05).mean()),
        "preflight_s": float(np.median([s.seconds for s in scores])),
        **{f"gain_{n}": _gain(scores, n) for n in STEP_COUNTS},
    }


def _gain(scores: Sequence[Score], steps: int) -> float:
    """Share of the time of `serial` that is saved over some steps of every configuration, preflights paid."""
    serial = sum(steps * s.serial_s for s in scores)
    return (serial - sum(steps * s.step_s + s.seconds for s in scores)) / serial


def excess(scores: Sequence[Score], others: Sequence[Score]) -> dict[str, float]:
    """By how much a method's mean regret is above another's on the same halvings of the same configurations.

    With a 95 % interval: percentiles of the mean over configurations that are drawn anew with replacement
    (Efron's bootstrap). All that is of one configuration is drawn together.
    """
    apart = np.array([mine.regret - other.regret for mine, other in zip(scores, others, strict=True)])
    _, group = np.unique([s.index for s in scores], return_inverse=True)
    total, count = np.bincount(group, apart), np.bincount(group)
    drawn = np.random.default_rng(0).integers(len(total), size=(RESAMPLES, len(total)))
    low, high = np.quantile(total[drawn].sum(axis=1) / count[drawn].sum(axis=1), (0.025, 0.975))
    return {"excess": float(apart.mean()), "excess_low": float(low), "excess_high": float(high)}


def table(scores: Sequence[Score]) -> list[dict[str, float | str]]:
    """A row per method, all seeds of one kind of split together."""
    by_method = {m: [s for s in scores if s.method == m] for m in METHODS}
    return [
        {"method": m, **summary(some), **excess(some, by_method[COMBINED])} for m, some in by_method.items()
    ]


def noise(sweeps: Sequence[Sweep]) -> dict[str, dict[str, float]]:
    """Of the labels, real and simulated: how often, and how far, two halves of the turns disagree."""
    figures = {}
    for kind, simulated in (("real", False), ("simulated", True)):
        some = [s for s in sweeps if s.simulated == simulated]
        if some:
            disagree, apart = label_noise(some, np.random.default_rng(0))
            figures[kind] = {"disagree": disagree, "log2": apart}
    return figures


def verdict(rows: Sequence[dict]) -> str:
    """What a table says of STPA alone beside XGBoost, and of which method has the lowest regret."""
    mae = {row["method"]: row["mae"] for row in rows}
    regret = {row["method"]: row["regret_mean"] for row in rows if row["method"] != "oracle"}
    beats = "beats" if mae["STPA"] < mae["XGBoost"] else "does not beat"
    lowest = min(regret, key=regret.__getitem__)
    return (
        f"STPA alone {beats} XGBoost on MAE ({mae['STPA']:.4f} and {mae['XGBoost']:.4f}). "
        f"{lowest} has the lowest mean regret of all but the oracle ({regret[lowest]:.2%})."
    )


def print_scores(name: str, rows: Sequence[dict]) -> None:
    """Print one table and its verdict."""
    lines = [(row["method"], *(form.format(**row) for form in COLUMNS.values())) for row in rows]
    note = f"{verdict(rows)} Gain: share of serial's time saved, preflight paid."
    print_table(name, ("method", *COLUMNS), lines, note)
