"""The errors that users of seer_env meet."""

from __future__ import annotations

__all__ = [
    "BoundaryFileError",
    "ContractBreach",
    "ModelError",
    "NondeterminismError",
    "SeerError",
    "ThreadingLayerError",
]


class SeerError(Exception):
    """Base of every error that seer_env raises on purpose."""


class ModelError(SeerError, ValueError):
    """A model cannot work as it is declared or written."""


class ContractBreach(SeerError, RuntimeError):
    """A handler broke the event-locality contract, and the step was rolled back.

    Of several breaches in a step the first in key order is reported, under every scheduler; of
    `capacity`, whose emission is one too many depends on the order in which a scheduler executes.

    Attributes:
        rule: short name of the broken rule, one of `RULES`.
        entity: index of the entity whose handler broke it.
        time: timestamp of the event that handler was executing.
        kind: name of that event's kind.
    """

    RULES = ("lookahead", "timestamp", "target", "kind", "capacity", "cascade", "emissions")

    def __init__(self, message: str, *, rule: str, entity: int, time: float, kind: str):
        super().__init__(message)
        self.rule, self.entity, self.time, self.kind = rule, entity, time, kind

    def __reduce__(self):
        return _rebuild_breach, (self.args[0], self.rule, self.entity, self.time, self.kind)


def _rebuild_breach(message, rule, entity, time, kind):
    return ContractBreach(message, rule=rule, entity=entity, time=time, kind=kind)


class NondeterminismError(SeerError, RuntimeError):
    """`check=True` found that two schedulers disagree about a step."""


class BoundaryFileError(SeerError, ValueError):
    """A saved boundary is truncated, altered, foreign, or of another model."""


class ThreadingLayerError(SeerError, RuntimeError):
    """numba has no threading layer to run several threads on, such as the one NUMBA_THREADING_LAYER names."""
