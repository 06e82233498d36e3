"""PCS worlds for experiments: a hot spot that lies in one half of the cells' order, and a uniform load."""

from __future__ import annotations

from seer_env.bench.stepping import World
from seer_env.envs.pcs.topology import grid_topology

__all__ = ["HOT_SHARE", "hot_half", "hot_spot", "uniform"]

#: A tenth of the cells has two thirds of all new calls.
HOT, SKEW = 0.1, 18.0
HOT_SHARE = HOT * SKEW / (HOT * SKEW + 1.0 - HOT)
#: Mean seconds between new calls of a cell: few cells of the hot spot are ever full.
INTERARRIVAL = 8.0


def hot_half() -> float:
    """Share of all new calls in the half of the cells that holds the hot spot."""
    return HOT_SHARE + (0.5 - HOT) * (1.0 - HOT_SHARE) / (1.0 - HOT)


def hot_spot(n: int) -> World:
    """`n` cells with a hot spot that crosses them from the first to the last in an hour.

    The grid is `pcs_v0`'s torus, with x and y of the cells' positions exchanged. So the hot spot moves
    along the order of the cells, and lies in one block of it. With `pcs_v0`'s own positions it would move
    along the middle row, half of it in each of two blocks, where a static binding is balanced.
    """
    torus = grid_topology(n, "hexagonal", wrap=True)
    return _world(
        n, topology=(torus.offsets, torus.neighbours), positions=torus.positions[:, ::-1],
        hotspot=HOT, skew=SKEW,
    )  # fmt: skip


def uniform(n: int) -> World:
    """`n` cells on the same grid, all with the same load."""
    return _world(n, hotspot=0.0)


def _world(n: int, **arguments: object) -> World:
    return World("pcs_v0", "guard", {"n_agents": n, "interarrival": INTERARRIVAL, **arguments})
