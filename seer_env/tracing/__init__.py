"""A look inside a step: `record` makes one and returns a `StepTrace` of what every worker did when."""

from seer_env.tracing.record import record
from seer_env.tracing.trace import StepTrace

__all__ = ["StepTrace", "record"]
