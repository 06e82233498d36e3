"""Checks of the arguments of `Pcs`, at the border."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seer_env.checks import number
from seer_env.envs.pcs.constants import RADIO, WEIGHTS
from seer_env.envs.pcs.topology import Topology, graph_topology, grid_topology
from seer_env.errors import ModelError

__all__ = ["check_numbers", "make_topology"]

MAY_BE_ZERO = ("hotspot", "tour", "start_hour", "link_delay")


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
    known = RADIO | WEIGHTS
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        raise ModelError(f"unknown parameters {unknown}; choose from {sorted(numbers)} or {sorted(known)}")
    for name, value in parameters.items():
        number(name, value, 0.0)
    limits = known | dict(parameters)
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
