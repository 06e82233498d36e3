"""The arguments of `Pcs`, checked at the border."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from seer_env.checks import flag, known, named, number, whole
from seer_env.envs.pcs.constants import MAX_GUARD, MOST_CHANNELS, MOST_PATHS, RADIO, STATIC_GUARD, WEIGHTS
from seer_env.envs.pcs.topology import Topology, graph_topology, grid_topology
from seer_env.errors import ModelError

__all__ = ["Arguments", "make_topology"]

#: Fields that are numbers, and those that are flags.
NUMBERS = (
    "interarrival", "duration", "residence", "recheck", "link_delay", "dt", "skew", "tour", "hotspot", "day",
    "start_hour", "load_interval",
)  # fmt: skip
FLAGS = ("mobility", "fading", "communication", "diurnal", "discrete", "warm", "wrap")

MAY_BE_ZERO = ("hotspot", "tour", "start_hour", "link_delay")


@dataclass(kw_only=True)
class Arguments:
    """What a world of `Pcs` is made of.

    Attributes:
        n_agents: cells.
        topology: "hexagonal" or "square", the most square grid of so many cells; or a graph in CSR form
            `(offsets, neighbours)`.
        wrap: a grid on a torus, or one with borders.
        positions: of the cells of a graph, `[n_agents, 2]`; on a circle if None.
        channels: of each cell.
        interarrival: s between new calls of a cell, the mean over cells. duration, residence: mean s of
            a call, and of a mobile's stay in a cell.
        mobility: with it calls move. Without, no call leaves its cell.
        fading: with it gains change, every `recheck` s. Without, they are 1 and no call is lost to it.
        communication: with it stations announce. Without this and `mobility` no event crosses, and
            the lookahead is the whole step.
        complexity: paths that make up a gain, `>= 1`: the work per event.
        link_delay: s that a handoff or an announcement takes; the lookahead.
        dt: s per step.
        discrete: actions `MultiDiscrete([5, max_guard + 1, 5])` instead of `Box(-1, 1, (3,))`.
        max_guard: the most guard channels that an action can keep; `MAX_GUARD` or all channels if None.
        hotspot, skew: share of cells in the hot spot, and how many times the load of the others they
            have; the mean over cells does not change.
        tour: s in which the hot spot crosses the world; 0: it stands still.
        diurnal: the load follows the hours of a week; `day`: s in a day; `start_hour`: at reset.
        load_interval: s for which a changing load is held constant.
        warm: begin with calls in progress, from the stationary law, or with none.
        static_guard: guard channels of the policy `guard`; `STATIC_GUARD` or `max_guard` if None.
        parameters: others by name, any of `RADIO` and `WEIGHTS`.

    Raises:
        ModelError: a value that cannot work; names it.
    """

    n_agents: int
    topology: str | tuple = "hexagonal"
    wrap: bool = True
    positions: np.ndarray | None = None
    channels: int = 70
    interarrival: float = 1.0
    duration: float = 60.0
    residence: float = 150.0
    mobility: bool = True
    fading: bool = True
    recheck: float = 60.0
    communication: bool = True
    complexity: int = 8
    link_delay: float = 0.5
    dt: float = 10.0
    discrete: bool = False
    max_guard: int = None  # type: ignore[assignment]  # the default depends on `channels`
    hotspot: float = 0.1
    skew: float = 1.5
    tour: float = 3600.0
    diurnal: bool = False
    day: float = 86_400.0
    start_hour: float = 8.0
    load_interval: float = 60.0
    warm: bool = True
    static_guard: int = None  # type: ignore[assignment]  # the default depends on `max_guard`
    parameters: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self):
        self.n_agents = whole("n_agents", self.n_agents)
        self.complexity = whole("complexity", self.complexity, most=MOST_PATHS)
        self.channels = whole("channels", self.channels, most=MOST_CHANNELS)
        max_guard = min(MAX_GUARD, self.channels) if self.max_guard is None else self.max_guard
        self.max_guard = whole("max_guard", max_guard, most=self.channels)
        static_guard = min(STATIC_GUARD, self.max_guard) if self.static_guard is None else self.static_guard
        self.static_guard = whole("static_guard", static_guard, 0, self.max_guard)
        check_numbers({name: getattr(self, name) for name in NUMBERS}, self.parameters)
        for name in NUMBERS:
            setattr(self, name, float(getattr(self, name)))
        for name in FLAGS:
            setattr(self, name, flag(name, getattr(self, name)))

    @property
    def moving(self) -> bool:
        """Whether the hot spot moves."""
        return self.tour > 0 and self.hotspot > 0 and self.skew != 1

    def params(self) -> dict[str, float]:
        """`EventModel.params`."""
        named = ("channels", "interarrival", "duration", "residence", "mobility", "fading", "recheck")
        params = {name: getattr(self, name) for name in (*named, "communication", "complexity", "link_delay")}
        params |= {
            "step": self.dt, "discrete": self.discrete, "max_guard": self.max_guard,
            "tour": self.tour if self.moving else 1.0, "day": self.day,
            "start": self.start_hour / 24.0 * self.day, "load_interval": self.load_interval,
            "constant": not (self.moving or self.diurnal),
        }  # fmt: skip
        others = RADIO | WEIGHTS
        return params | {name: float(self.parameters.get(name, value)) for name, value in others.items()}


def check_numbers(numbers: Mapping[str, float], parameters: Mapping[str, float]) -> None:
    """Refuse numbers that cannot work.

    Args:
        numbers: the model's own arguments. parameters: others, which must be in `RADIO` or `WEIGHTS`.

    Raises:
        ModelError: names the argument and the value.
    """
    for name, value in numbers.items():
        number(name, value, 0.0, positive=name not in MAY_BE_ZERO)
    if numbers["hotspot"] > 1:
        raise ModelError(f"hotspot is a share of the cells, 0 to 1, got {numbers['hotspot']!r}")
    known(parameters, [*named(Arguments), *RADIO, *WEIGHTS])
    for name, value in parameters.items():
        number(name, value, 0.0)
    limits = RADIO | WEIGHTS | dict(parameters)
    if not 0 < limits["min_power"] <= limits["low_cap"] < limits["high_cap"]:
        raise ModelError(
            f"min_power={limits['min_power']} must be above 0 and at most low_cap={limits['low_cap']}, and "
            f"that below high_cap={limits['high_cap']}"
        )
    for name in ("sir", "noise"):
        if limits[name] == 0:
            raise ModelError(f"{name} must be positive, got 0; fading=False does without power control")


def make_topology(n: int, topology: Any, wrap: bool, positions: Any) -> Topology:
    """The topology that the arguments of `Pcs` describe.

    Raises:
        ModelError: no such topology, or not one of `n` cells.
    """
    if isinstance(topology, str):
        if topology not in ("hexagonal", "square"):
            raise ModelError(
                f'topology must be "hexagonal", "square" or (offsets, neighbours), got {topology!r}'
            )
        if positions is not None:
            raise ModelError(f"positions belong to a graph; those of a {topology} grid follow from it")
        return grid_topology(n, topology, wrap)
    if not isinstance(topology, (tuple, list)) or len(topology) != 2:
        raise ModelError(f"topology: a graph is a pair (offsets, neighbours) in CSR form, got {topology!r}")
    return graph_topology(n, *topology, positions)
