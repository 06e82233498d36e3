"""Worlds by name: `make`, the registry, and the same names in PettingZoo's and gymnasium's."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import gymnasium
import pettingzoo

from seer_env.checks import known, meant, whole
from seer_env.entry_points import load
from seer_env.errors import SeerError
from seer_env.runtime.layout import MAX_ENTITIES

if TYPE_CHECKING:
    from pettingzoo import AECEnv

    from seer_env.copies import Copies
    from seer_env.env import SeerParallelEnv
    from seer_env.model import EventModel

__all__ = ["MAKE_ARGUMENTS", "UnknownWorldError", "make", "make_aec", "register", "registry"]

#: Where each world's `EventModel` is: `module:attribute`, or a callable that returns one.
registry: dict[str, str | Callable[..., EventModel]] = {}
#: Arguments of `SeerParallelEnv` and of `Copies`.
SETTINGS = (
    "threads",
    "scheduler",
    "max_cycles",
    "strict_actions",
    "event_capacity",
    "preflight_ms",
    "affinity",
)
#: Arguments of `SeerParallelEnv` alone, and their defaults.
ONE_WORLD: dict[str, Any] = {"render_mode": None, "check": False, "global_state": "pooled"}
#: What `make` takes beside a world's own arguments.
MAKE_ARGUMENTS = frozenset({"world", "n_agents", "copies", *SETTINGS, *ONE_WORLD})


class UnknownWorldError(SeerError, KeyError):
    """No world of that name is registered."""

    def __str__(self) -> str:  # KeyError would quote the message
        return str(self.args[0])


def register(name: str, entry_point: str | Callable[..., EventModel]) -> None:
    """Give a world a name, here and as `seer_env/<name>` in PettingZoo's and gymnasium's registries.

    `gymnasium.make` gives a `SingleAgentEnv` of it, `gymnasium.make_vec` a `vector.SeerVectorEnv`.

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
    if f"seer_env/{name}" not in gymnasium.registry:
        gymnasium.register(
            f"seer_env/{name}",
            "seer_env.single_agent:SingleAgentEnv",
            vector_entry_point="seer_env.vector:make_vec",
            kwargs={"world": name},
        )


@overload
def make(
    world: str | EventModel,
    *,
    n_agents: int | None = None,
    copies: None = None,
    threads: int | str = "auto",
    scheduler: str = "auto",
    max_cycles: int | None = None,
    render_mode: str | None = None,
    strict_actions: bool = False,
    check: bool = False,
    event_capacity: int | None = None,
    global_state: str = "pooled",
    preflight_ms: float = 200.0,
    affinity: Sequence[int] | None = None,
    **arguments: Any,
) -> SeerParallelEnv: ...


@overload
def make(world: str | EventModel, *, copies: int, **arguments: Any) -> Copies: ...


def make(world: str | EventModel, *, copies: int | None = None, **arguments: Any) -> SeerParallelEnv | Copies:
    """An env of a registered world, or of a model of your own; or many copies of it in one engine.

    Args:
        world: a name in `registry`, an entry point (`"module:Class"`, `"folder/file.py:Class"`), or an
            `EventModel`.
        copies: how many worlds to step together, as `seer_env.copies.Copies`; None for an env.
        arguments: `n_agents`, the world's default if None; those of `SeerParallelEnv` or, with copies, of
            `Copies`, of which `max_cycles` is the model's attribute of that name if None, and if it has
            one; and the world's own.

    Raises:
        UnknownWorldError: no world of that name.
        EntryPointError: no such module, file, or class in it.
        TypeError: `n_agents` or a world's argument beside a model, which has them already.
        ValueError: an argument unknown or out of its range, or `check`, `render_mode` or `global_state`
            beside `copies`.
    """
    shown = {name: arguments.pop(name) for name in ONE_WORLD if name in arguments}
    model, settings = assemble(world, arguments)
    if copies is None:
        from seer_env.env import SeerParallelEnv

        return SeerParallelEnv(model, **shown, **settings)
    if any(value != ONE_WORLD[name] for name, value in shown.items()):
        raise ValueError(f"{', '.join(ONE_WORLD)} are for one world: make it without copies")
    from seer_env.copies import Copies

    return Copies(model, copies, **settings)


def assemble(world: str | EventModel, arguments: Mapping[str, Any]) -> tuple[EventModel, dict[str, Any]]:
    """The model of a world, and the settings of its env or copies, of which `make`'s arguments are a mixture.

    Raises:
        UnknownWorldError, EntryPointError, TypeError, ValueError: as `make`.
    """
    own = {name: value for name, value in arguments.items() if name not in SETTINGS}
    if own.get("n_agents", 0) is None:
        del own["n_agents"]
    elif "n_agents" in own:
        own["n_agents"] = whole("n_agents", own["n_agents"], most=MAX_ENTITIES)
    model = _model(world, own)
    settings = {name: arguments[name] for name in SETTINGS if name in arguments}
    if settings.get("max_cycles") is None:
        settings["max_cycles"] = getattr(model, "max_cycles", None)
    return model, settings


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
    model = world
    if isinstance(world, str):
        factory = find_entry_point(world)
        _check_names(factory, arguments)
        model = factory(**arguments)
    if not isinstance(model, EventModel):
        raise TypeError(f"world must be a name or an EventModel, made with its arguments, got {model!r}")
    return model


def _check_names(factory: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Refuse what the factory has no parameter for; one with `**arguments` checks them itself."""
    parameters = inspect.signature(factory).parameters.values()
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        known(arguments, [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)])


def find_entry_point(name: str) -> Callable[..., Any]:
    """What makes the world that `name` names, registered or not.

    Raises:
        UnknownWorldError: no world of that name.
        EntryPointError: no such module, file, or class in it.
        TypeError: what is there cannot be called.
    """
    if name.endswith(".py"):
        raise UnknownWorldError(f"no world {name!r}: name the class in that file too, as {name}:Class")
    if name not in registry and ":" not in name:
        raise UnknownWorldError(
            f"no world {name!r}: {meant([name], registry)}there are {sorted(registry)}, and your own as "
            "module:Class or file.py:Class"
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
