"""`seer-env bench breakdown`: what it promises, and that it measures the same game."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from seer_env.bench.breakdown import AFTER, BEFORE, BreakdownExperiment
from seer_env.bench.end_to_end import PARTS
from seer_env.bench.results import Measurement, Results


def totals(group: str, before: float, after: float) -> Results:
    return Results(
        Measurement(group, *contender, 0, quantity, value)
        for contender, total in ((BEFORE, before), (AFTER, after))
        for quantity, value in (("total", total), ("inference", 1.0))
    )


@pytest.mark.parametrize(
    ("group", "limit"), [("aircraft_v0, 400 agents", 0.162), ("pcs_v0, 3600 agents", 0.4)]
)
def test_a_part_of_the_latency_must_go(group, limit):
    (claim,) = BreakdownExperiment().claims(totals(group, before=4.0, after=3.0))
    assert (claim.measured, claim.limit, claim.holds) == (0.25, limit, limit < 0.25)


def test_other_sizes_of_pcs_promise_nothing():
    assert BreakdownExperiment().claims(totals("pcs_v0, 800 agents", 4.0, 3.0)) == []


def test_the_environments_share_is_what_is_not_inference():
    experiment = BreakdownExperiment()
    group = next(g for g in experiment.groups() if g.name == "aircraft_v0, 400 agents")
    results = totals(group.name, before=4.0, after=2.0)
    assert experiment.derived(results, group, BEFORE) == {"environment's share": 0.75}
    assert experiment.derived(results, group, AFTER) == {"environment's share": 0.5, "less than before": 0.5}


def test_every_part_is_measured_of_every_contender():
    pytest.importorskip("torch", reason="policies infer with torch")
    with ExitStack() as stack:
        contenders = BreakdownExperiment(quick=True).make("aircraft_v0", 12, stack)
        for measure in contenders.values():
            measured = measure()
            assert measured["total"] == pytest.approx(sum(measured[part] for part in PARTS))
            assert all(measured[part] > 0.0 for part in ("inference", "window", "outputs"))
