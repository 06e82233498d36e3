"""Table 1: every method on every split, real and simulated sweeps apart.

For each seed a split holds configurations back, learners learn from the others, and every method proposes a
thread count for each held-back configuration. What is measured is measured on one half of a configuration's
turns; what a count is worth is read from the other half, beside what the best count on the first half takes
there.
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
from seer_env.stpa.training.learners import LEARNERS, Lesson
from seer_env.stpa.training.rules import Chosen, logical_cores, oracle, physical_cores, ratio, search, usl
from seer_env.stpa.training.splits import Split

__all__ = ["METHODS", "STEP_COUNTS", "Score", "evaluate", "noise", "print_scores", "summary", "table"]

METHODS = (
    *LEARNERS,
    "physical cores",
    "logical cores",
    "ratio rule",
    "USL, 5 points",
    "search alone",
    "STPA + search",
    "oracle",
)
#: Steps after which the net gain is told.
STEP_COUNTS = (100, 1000, 10_000)


@dataclass(frozen=True)
class Score:
    """One method on one held-back configuration.

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
        choose, score = halves(len(sweep.seconds), rng)
        proposals = dict(_proposals(sweep, choose, learned, rng))
        best = label(sweep, choose)
        for method in METHODS:
            scores.append(_scored(split, method, sweep, proposals[method], best, time_of(sweep, score)))
    return scores


def _proposals(
    sweep: Sweep, turns: np.ndarray, learned: dict[str, Callable[[Sweep], float]], rng: np.random.Generator
) -> Iterator[tuple[str, Chosen]]:
    for name, predicted in learned.items():
        begun = time.perf_counter()
        threads = sweep.cpus * 2.0 ** predicted(sweep)
        chosen = Chosen(threads, _trace_seconds(sweep) + time.perf_counter() - begun)
        yield name, chosen
        if name == "STPA":
            found = search(sweep, turns, chosen.threads, rng)
            yield "STPA + search", Chosen(found.threads, chosen.seconds + found.seconds)
    rules = {"physical cores": physical_cores, "logical cores": logical_cores, "ratio rule": ratio}
    for name, rule in rules.items():
        yield name, rule(sweep)
    yield "USL, 5 points", usl(sweep, turns)
    yield "search alone", search(sweep, turns, ratio(sweep).threads, rng)
    yield "oracle", oracle(sweep, turns)


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


def table(scores: Sequence[Score]) -> list[dict[str, float | str]]:
    """A row per method, all seeds of one kind of split together."""
    return [{"method": m, **summary([s for s in scores if s.method == m])} for m in METHODS]


def noise(sweeps: Sequence[Sweep]) -> dict[str, dict[str, float]]:
    """Of the labels, real and simulated: how often, and how far, two halves of the turns disagree."""
    figures = {}
    for kind, simulated in (("real", False), ("simulated", True)):
        some = [s for s in sweeps if s.simulated == simulated]
        if some:
            disagree, apart = label_noise(some, np.random.default_rng(0))
            figures[kind] = {"disagree": disagree, "log2": apart}
    return figures


def print_scores(name: str, rows: Sequence[dict]) -> None:
    """Print one table, and whether STPA alone beats XGBoost on MAE."""
    columns = {
        "mae": ("MAE", "{:.3f}"),
        "mse": ("MSE", "{:.2f}"),
        "log2_error": ("|log2|", "{:.3f}"),
        "regret_mean": ("regret %", "{:.1%}"),
        "regret_std_over_seeds": ("+-", "{:.1%}"),
        "regret_p95": ("p95", "{:.1%}"),
        "regret_max": ("max", "{:.1%}"),
        "regret_above_5": ("> 5 %", "{:.1%}"),
        "preflight_s": ("preflight s", "{:.3f}"),
        **{f"gain_{n}": (f"gain, {n:,} steps", "{:.1%}") for n in STEP_COUNTS},
    }
    lines = [(row["method"], *(form.format(row[key]) for key, (_, form) in columns.items())) for row in rows]
    mae = {row["method"]: row["mae"] for row in rows}
    verdict = "beats" if mae["STPA"] < mae["XGBoost"] else "does not beat"
    note = f"STPA alone {verdict} XGBoost on MAE. Gain: share of serial's time saved, preflight paid."
    print_table(name, ("method", *(title for title, _ in columns.values())), lines, note)
