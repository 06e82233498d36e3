"""Contract breaches as sentences: which entity, which event, its parent, which rule, what to do."""

from __future__ import annotations

from seer_env.errors import ContractBreach
from seer_env.runtime.layout import MAX_EMISSIONS, MAX_MICRO

RULES = ContractBreach.RULES


def breach(
    model,
    rule: str,
    entity: int,
    time: float,
    kind: int,
    *,
    target: int = -1,
    delay: float = 0.0,
    emitted_kind: int = 0,
    limit: int = 0,
) -> ContractBreach:
    """The exception for a breach of `rule` by `entity`, while it executed `kind` at `time`.

    `target`, `delay` and `emitted_kind` describe the emission, where the rule is about one.
    """
    kinds = {int(k): k.name for k in model.Kind}
    parent = kinds.get(kind, str(kind))
    emission = f"emitted {kinds.get(emitted_kind, emitted_kind)} to entity {target} with delay {delay!r}"
    where = f"entity {entity}, executing {parent} at t={time!r}"
    text = {
        "lookahead": f"{where}, {emission}: an event to another entity needs a delay of at least the "
        f"model's lookahead, {model.lookahead!r}. Emit later, or declare a smaller lookahead.",
        "timestamp": f"{where}, {emission}: a delay must be a number >= 0 and the time finite.",
        "target": f"{where}, {emission}: targets are 0..{model.n_entities - 1}.",
        "kind": f"{where}, {emission}: kinds are {kinds}.",
        "capacity": f"{where}, {emission}: more than event_capacity={limit} events emitted in one step. "
        "If the model does not emit without end, raise event_capacity.",
        "cascade": f"{where}, {emission}: more than {MAX_MICRO} zero-delay events in a chain at one "
        "timestamp. Give the cycle a positive delay.",
        "emissions": f"{where}, {emission}: an entity may emit {MAX_EMISSIONS - 1} events in an episode. "
        "Reset more often.",
    }[rule]
    return ContractBreach(
        f"{text} The step was rolled back.", rule=rule, entity=entity, time=time, kind=parent
    )
