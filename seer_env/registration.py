"""Worlds by name: `make`, the registry, and the same names in PettingZoo's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

import pettingzoo

from seer_env.checks import whole
from seer_env.entry_points import load
from seer_env.errors import SeerError
from seer_env.runtime.layout import MAX_ENTITIES

if TYPE_CHECKING:
    from pettingzoo import AECEnv

    from seer_env.copies import Copies
    from seer_env.env import SeerParallelEnv
    from seer_env.model import EventModel

__all__ = ["UnknownWorldError", "make", "make_aec", "register", "registry"]

#: Where each world's `EventModel` is: `module:attribute`, or a callable that returns one.
registry: dict[str, str | Callable[..., EventModel]] = {}


class UnknownWorldError(SeerError, KeyError):
    """No world of that name is registered."""

    def __str__(self) -> str:  # KeyError would quote the message
        return str(self.args[0])


def register(name: str, entry_point: str | Callable[..., EventModel]) -> None:
    """Give a world a name, here and as `seer_env/<name>` in PettingZoo's registry.

    Args:
        name: `<world>_v<number>`.
        entry_point: `"module:attribute"` or a callable; called with the world's arguments (`n_agents`
            among them), it returns an `EventModel`.

    Raises:
        ValueError: the name is taken by another entry point.
    """
    if registry.get(name, entry_point) != entry_point:
        raise ValueError(f"{name!r} is registered as {registry[name]!r} already")
    registry[name] = entry_point
    for registered, factory in ((pettingzoo.parallel_registry, make), (pettingzoo.aec_registry, make_aec)):
        spec = pettingzoo.EnvSpec(f"seer_env/{name}", functools.partial(factory, name))
        if spec.id not in registered:
            registered[spec.id] = spec


@overload
def make(world: str | EventModel, *, copies: None = None, **arguments: Any) -> SeerParallelEnv: ...


@overload
def make(world: str | EventModel, *, copies: int, **arguments: Any) -> Copies: ...


def make(
    world: str | EventModel,
    *,
    n_agents: int | None = None,
    copies: int | None = None,
    threads: int | str = "auto",
    scheduler: str = "auto",
    max_cycles: int | None = None,
    render_mode: str | None = None,
    strict_actions: bool = False,
    check: bool = False,
    event_capacity: int | None = None,
    global_state: str = "pooled",
    preflight_ms: float = 200.0,
    **arguments: Any,
) -> SeerParallelEnv | Copies:
    """An env of a registered world, or of a model of your own; or many copies of it in one engine.

    Args:
        world: a name in `registry`, an entry point (`"module:Class"`, `"folder/file.py:Class"`), or an
            `EventModel`.
        n_agents: number of agents; the world's default if None.
        copies: how many worlds to step together, as `seer_env.copies.Copies`; None for an env.
        max_cycles: steps of an episode; the model's attribute `max_cycles` if None, and without one
            episodes are not cut off.
        threads, scheduler, render_mode, strict_actions, check, event_capacity, global_state, preflight_ms:
            see `SeerParallelEnv`.
        arguments: the world's own.

    Raises:
        UnknownWorldError: no world of that name.
        EntryPointError: no such module, file, or class in it.
        TypeError: `n_agents` or a world's argument beside a model, which has them already.
        ValueError: an argument out of its range, or `render_mode` or `check` beside `copies`.
    """
    if n_agents is not None:
        arguments["n_agents"] = whole("n_agents", n_agents, most=MAX_ENTITIES)
    model = _model(world, arguments)
    common: dict[str, Any] = {
        "threads": threads,
        "scheduler": scheduler,
        "max_cycles": getattr(model, "max_cycles", None) if max_cycles is None else max_cycles,
        "strict_actions": strict_actions,
        "event_capacity": event_capacity,
        "preflight_ms": preflight_ms,
    }
    if copies is not None:
        if check or render_mode is not None or global_state != "pooled":
            raise ValueError("check, render_mode and global_state are for one world: make it without copies")
        from seer_env.copies import Copies

        return Copies(model, copies, **common)
    from seer_env.env import SeerParallelEnv

    shown: dict[str, Any] = {"render_mode": render_mode, "check": check, "global_state": global_state}
    return SeerParallelEnv(model, **shown, **common)


def make_aec(world: str | EventModel, **arguments: Any) -> AECEnv:
    """As `make`, through `pettingzoo.utils.parallel_to_aec`: agents act one after another.

    Raises:
        ValueError: copies were asked for; others as `make`.
    """
    from pettingzoo.utils import parallel_to_aec

    copies = arguments.get("copies")
    if copies is not None:
        raise ValueError(f"copies={copies!r}: they step as arrays and have no AEC form; use make")
    return parallel_to_aec(make(world, **arguments))


def _model(world: str | EventModel, arguments: dict[str, Any]) -> EventModel:
    from seer_env.model import EventModel

    if not isinstance(world, str) and arguments:
        raise TypeError(f"{world!r} is a model already, so it takes no {sorted(arguments)}")
    model = _entry_point(world)(**arguments) if isinstance(world, str) else world
    if not isinstance(model, EventModel):
        raise TypeError(f"world must be a name or an EventModel, made with its arguments, got {model!r}")
    return model


def _entry_point(name: str) -> Callable[..., Any]:
    if name.endswith(".py"):
        raise UnknownWorldError(f"no world {name!r}: name the class in that file too, as {name}:Class")
    if name not in registry and ":" not in name:
        raise UnknownWorldError(
            f"no world {name!r}: there are {sorted(registry)}, and your own as module:Class or file.py:Class"
        )
    entry_point = registry.get(name, name)
    if isinstance(entry_point, str):
        entry_point = load(entry_point)
    if not callable(entry_point):
        raise TypeError(f"{name!r} is {entry_point!r}: name an EventModel class, or what returns a model")
    return entry_point


register("aircraft_v0", "seer_env.envs.aircraft_v0:model")
register("battle_v0", "seer_env.envs.battle_v0:model")
register("flock_v0", "seer_env.envs.flock_v0:Flock")
register("epidemic_v0", "seer_env.envs.epidemic_v0:Epidemic")
register("pcs_v0", "seer_env.envs.pcs_v0:model")
