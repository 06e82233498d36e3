"""`threads="auto"` and `scheduler="auto"`: which scheduler, and how many threads.

The rule, until a measured choice replaces it:

- The work that can be shared at once is what one phase of a step holds: the agents, whose actions
  and outputs are phases of their own, or the entities of one safe window. A window is `lookahead`
  long and a step `dt`, so with about one event per entity and step it holds the fraction
  `lookahead / dt` of the entities.
- With less than `SHARED_WORK` of those, or one effective CPU, sharing costs more than it gains:
  `serial`, one thread.
- Otherwise `seer` with as many threads as there are effective CPUs.

Outputs do not depend on the choice, so a wrong one costs time only.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from seer_env.checks import whole
from seer_env.errors import SeerError
from seer_env.runtime.engine import ONE_THREAD

if TYPE_CHECKING:
    from seer_env.model import EventModel

__all__ = ["SHARED_WORK", "choose", "shareable_work"]

#: Entities or agents in a phase from which a second thread can pay. The engine does not share a phase
#: too small for it, so too low a figure costs little; with fewer than this nothing would be shared.
SHARED_WORK = 128
_warned_without_jit = False


def shareable_work(model: EventModel) -> float:
    """Entities that the largest phase of a step is expected to hold."""
    window = min(1.0, model.lookahead / model.dt)
    return max(float(model.n_agents), model.n_entities * window)


def choose(
    model: EventModel, scheduler: str = "auto", threads: int | str = "auto", copies: int = 1
) -> tuple[str, int]:
    """Resolve `"auto"` by the rule above: `(scheduler, threads)`. Copies are work that can be shared too.

    Raises:
        ValueError: `threads` is neither `"auto"` nor an integer from 1 up, or above 1 for a scheduler
            that has one thread.
    """
    automatic = isinstance(threads, str) and threads == "auto"
    count = 1 if automatic else whole("threads", threads, also='"auto"', error=ValueError)
    if scheduler != "python" and _jit_is_disabled():
        if scheduler != "auto":
            raise SeerError(
                f"scheduler {scheduler!r} needs numba's compiler, and NUMBA_DISABLE_JIT is set: unset it, or "
                "use scheduler='python'"
            )
        _warn_without_jit()
        return "python", 1
    if scheduler in ONE_THREAD:
        if count != 1:
            raise ValueError(f'scheduler {scheduler!r} has one thread, got threads={threads}: use "seer"')
        return scheduler, 1
    if automatic and copies * shareable_work(model) >= SHARED_WORK:
        count = effective_cpus()
    if scheduler == "auto":
        scheduler = "serial" if count == 1 else "seer"
    return scheduler, count


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


def effective_cpus() -> int:
    """CPUs this process can keep busy, from 1 up."""
    from seer_env.machine import effective_cpus as granted

    return granted()
