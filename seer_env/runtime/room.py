"""Whether worlds fit into the machine's memory: said before anything is allocated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seer_env.errors import ModelError
from seer_env.machine import memory_bytes
from seer_env.runtime.layout import LEQ

if TYPE_CHECKING:
    from seer_env.model import EventModel


def require_memory(model: EventModel, copies: int = 1) -> None:
    """Return if the machine may hold `copies` worlds.

    Raises:
        ModelError: their rows, queues and outputs alone are more than all of its memory.
    """
    needed, there = copies * least_bytes(model), memory_bytes()
    if needed > there:
        worlds = "" if copies == 1 else f"copies={copies} of "
        raise ModelError(
            f"{worlds}{model!r}: at least {needed / 1e9:,.1f} GB are needed, and this machine has "
            f"{there / 1e9:,.1f} GB: make fewer, or smaller ones"
        )


def least_bytes(model: EventModel) -> int:
    """Bytes that a world takes under any scheduler, at the least."""
    per_entity = model.entity.itemsize + model.public_dtype.itemsize + LEQ.itemsize
    per_agent = 4 * model.observation_size + 8 + (0 if model.info is None else model.info.itemsize)
    return model.n_entities * per_entity + model.n_agents * per_agent
