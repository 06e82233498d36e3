"""Recording a step of an env."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from seer_env.checks import flag
from seer_env.env import SeerParallelEnv
from seer_env.runtime.recording import Recording
from seer_env.runtime.schedulers.compiled import CompiledEngine
from seer_env.tracing.events import executed, prepared
from seer_env.tracing.timeline import claims_of, rounds_of, timeline, waits_of
from seer_env.tracing.trace import StepTrace

__all__ = ["record"]


def record(
    env: SeerParallelEnv,
    actions: np.ndarray | Mapping[str, Any],
    *,
    events: bool = False,
    capacity: int = 100_000,
) -> StepTrace:
    """Make one step and record it. The step's results do not depend on that.

    Args:
        env: an env whose episode runs, under any scheduler but `python`.
        actions: for `env.step_arrays`, or, as a mapping, for `env.step`.
        events: list the executed events too. The step is executed a second time for it, in Python.
        capacity: spans that are kept of each worker, and rounds. What does not fit is counted.

    Raises:
        ValueError: the env cannot be recorded, or the capacity is below 1.
        SeerError: events were asked for, and Python does not execute them to the same bytes.
        As the env's step: whatever it raises.
    """
    engine = checked_engine(env)
    flag("events", events)
    if capacity < 1:
        raise ValueError(f"capacity must be at least 1, got {capacity}")
    again = prepared(env, actions) if events else None
    with Recording(engine._memory, capacity).on() as recording:
        result: Any = env.step(actions) if isinstance(actions, Mapping) else env.step_arrays(actions)
    return assembled(env, engine, recording, result, None if again is None else executed(env, *again))


def checked_engine(env: SeerParallelEnv) -> CompiledEngine:
    """The engine of an env that can be recorded."""
    if not isinstance(env, SeerParallelEnv):
        raise ValueError(f"record takes an env that make() made without copies=, got {type(env).__name__}")
    if not isinstance(env._engine, CompiledEngine):
        raise ValueError(
            f"scheduler={env.scheduler!r} executes event by event in Python, and has no workers to look at: "
            "make the env with scheduler='seer', or another compiled one"
        )
    env._require_episode()
    if not env.agents:
        raise ValueError(f"the episode of {env} has ended, so a step moves nothing: call reset() first")
    return env._engine


def assembled(
    env: SeerParallelEnv, engine: CompiledEngine, recording: Recording, result: Any, events: np.ndarray | None
) -> StepTrace:
    """The trace of the step that an engine has just made."""
    stats, recorded = env.last_step_stats, recording.spans
    begun_at, drained_at, ended_at = engine.instants
    whole = recording.lost_rounds == 0
    claims = claims_of(recorded, begun_at)
    rounds = rounds_of(recording.rounds, begun_at, stats.events, stats.shared_rounds, whole)
    spans = timeline(recorded, claims, rounds, begun_at, drained_at - begun_at)
    # Behind the last span of a full buffer nobody knows whether its worker waited.
    ends = [0 if lost else ended_at - begun_at for lost in recording.lost_spans]
    return StepTrace(
        world=str(env),
        scheduler=env.scheduler,
        step=env.steps,
        stats=stats,
        result=result,
        claims=claims,
        rounds=rounds,
        spans=spans,
        waits=waits_of(spans, ends),
        capacity=recording.room,
        lost_spans=sum(recording.lost_spans),
        lost_rounds=recording.lost_rounds + (0 if whole else 1),
        events=events,
    )
