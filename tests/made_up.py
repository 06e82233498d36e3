"""Results of experiments that were never run."""

from __future__ import annotations

from collections.abc import Mapping

from seer_env.bench.experiment import Claim, Contender
from seer_env.bench.results import BEFORE, PREPARED, Measurement, Results


def made_up(values: Mapping[str, Mapping[Contender, Mapping[str, float]]]) -> Results:
    """One turn of these values by group, contender and quantity."""
    return Results(
        Measurement(group, *contender, 0, quantity, value)
        for group, contenders in values.items()
        for contender, quantities in contenders.items()
        for quantity, value in quantities.items()
    )


def latencies(group: str, **ms: float) -> Results:
    """One turn of latencies, by scheduler: `serial` has one thread, the others two; "_" stands for "-"."""
    contenders = {
        Contender(name.replace("_", "-"), 1 if name == "serial" else 2): {"ms/step": value}
        for name, value in ms.items()
    }
    return made_up({group: contenders})


def prepared(group: str, **found: float) -> list[Measurement]:
    """What a preparation found."""
    return [Measurement(group, *PREPARED, BEFORE, quantity, value) for quantity, value in found.items()]


def verdicts(claims: list[Claim]) -> list[tuple[float, bool]]:
    """What was measured, to three digits, and whether it holds."""
    return [(round(claim.measured, 3), claim.holds) for claim in claims]
