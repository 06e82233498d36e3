"""What the predictor proposes as the start of a search."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from seer_env.stpa.features import static_features
from seer_env.stpa.predictor import predict
from seer_env.stpa.report import Proposal
from seer_env.stpa.trace import record

if TYPE_CHECKING:
    from seer_env.model import EventModel
    from seer_env.runtime.schedulers.compiled import CompiledEngine
    from seer_env.runtime.schedulers.compiled_copies import CompiledCopies

__all__ = ["predicted"]


def predicted(
    model: EventModel,
    copies: int,
    engine: CompiledEngine | CompiledCopies,
    step: Callable[[], object],
    ladder: Sequence[int],
    rule: Proposal,
    seconds: float,
) -> Proposal:
    """The predictor's proposal; the rule's where the world is far from what the predictor was trained on.

    Args:
        engine: what `step` rehearses a step of.
        ladder: candidates; the nearest one to the prediction is proposed.
        rule: the simple rule's.
        seconds: how long the trace may take.
    """
    pending = engine.pending_events
    trace = record(engine, step, seconds)
    found = predict(trace, static_features(model, pending, engine.threads, copies))
    said = f"the predictor says {found.threads:.1f} ({found.low:.1f} to {found.high:.1f})"
    if not found.trusted:
        note = f"{rule.note}; {said}, but has seen nothing like this world"
        return Proposal(rule.threads, "rule", note)
    nearest = min(ladder, key=lambda count: abs(math.log2(count / found.threads)))
    return Proposal(nearest, "predictor", said, found.threads)
