"""Which scheduler, and whether the number of threads is asked for or to be chosen."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

from seer_env.checks import whole
from seer_env.errors import SeerError
from seer_env.runtime.engine import ONE_THREAD

if TYPE_CHECKING:
    from seer_env.model import EventModel

__all__ = ["SHARED_WORK", "Workers", "resolve", "shareable_work", "simple_rule"]

#: Entities or agents in a phase from which a second thread can pay. The engine does not share a phase
#: too small for it, so too low a figure costs little; with fewer than this nothing would be shared.
SHARED_WORK = 128
_warned_without_jit = False


class Workers(NamedTuple):
    """What an env's `scheduler` and `threads` come to.

    Attributes:
        scheduler: one of `runtime.engine.SCHEDULERS`, or `"auto"`: `serial` on one thread, else `seer`.
        threads: the number, or None where it is to be chosen.
    """

    scheduler: str
    threads: int | None


def resolve(scheduler: str, threads: int | str) -> Workers:
    """Read the arguments of an env.

    Raises:
        ValueError: `threads` is neither `"auto"` nor an integer from 1 up, or above 1 for a scheduler
            that has one thread.
        SeerError: a compiled scheduler was asked for, and numba's compiler is off.
    """
    automatic = isinstance(threads, str) and threads == "auto"
    count = None if automatic else whole("threads", threads, also='"auto"', error=ValueError)
    if scheduler != "python" and _jit_is_disabled():
        if scheduler != "auto":
            raise SeerError(
                f"scheduler {scheduler!r} needs numba's compiler, and NUMBA_DISABLE_JIT is set: unset it, or "
                "use scheduler='python'"
            )
        _warn_without_jit()
        return Workers("python", 1)
    if scheduler in ONE_THREAD:
        if count not in (None, 1):
            raise ValueError(f'scheduler {scheduler!r} has one thread, got threads={threads}: use "seer"')
        return Workers(scheduler, 1)
    return Workers(scheduler, count)


def simple_rule(model: EventModel, cpus: int, copies: int = 1) -> int:
    """A first guess of how many threads pay, from sizes alone: all CPUs or one.

    The work that can be shared at once is what one phase of a step holds (`shareable_work`), and copies
    are work that can be shared too. With less than `SHARED_WORK` of it sharing costs more than it gains.
    """
    return cpus if copies * shareable_work(model) >= SHARED_WORK else 1


def shareable_work(model: EventModel) -> float:
    """Entities that the largest phase of a step is expected to hold.

    Agents' actions and outputs are phases of their own, as are the entities of one safe window. A window
    is `lookahead` long and a step `dt`, so with about one event per entity and step it holds the fraction
    `lookahead / dt` of the entities.
    """
    window = min(1.0, model.lookahead / model.dt)
    return max(float(model.n_agents), model.n_entities * window)


def _jit_is_disabled() -> bool:
    import numba

    return bool(numba.config.DISABLE_JIT)


def _warn_without_jit() -> None:
    global _warned_without_jit
    if not _warned_without_jit:
        _warned_without_jit = True
        warnings.warn(
            "NUMBA_DISABLE_JIT is set: worlds run under scheduler='python' (same results, far slower)",
            RuntimeWarning,
            stacklevel=2,
        )
