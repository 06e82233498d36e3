"""Routes flown by the aircraft: the file format, the set that ships, and a user's own."""

from __future__ import annotations

import zipfile
from os import PathLike
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from seer_env.envs.aircraft.importing import import_tracks
from seer_env.envs.aircraft.simplify import MAX_WAYPOINTS
from seer_env.errors import ModelError

__all__ = ["BUNDLED", "Routes", "import_tracks", "load_routes", "pack_routes", "save_routes"]

#: The routes that ship with the project; `data/README.md` states source, method and licence.
BUNDLED = Path(__file__).parent / "data" / "routes.npz"
COLUMNS = ("offsets", "x", "y", "z", "t")


class Routes(NamedTuple):
    """`n` routes in compressed-row form; route `r` is the slice `offsets[r]:offsets[r + 1]`.

    Attributes:
        offsets: int64 `[n + 1]`.
        x, y: float64, metres east and north of the region's centre.
        z: float64, pressure altitude in metres.
        t: float64, seconds since the route's start.
    """

    offsets: np.ndarray
    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    t: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1


def pack_routes(routes: list[np.ndarray]) -> Routes:
    """Routes `[k, 4]` (x, y, z, t), rounded to metres and seconds, in an order that tells nothing."""
    rounded = sorted((np.round(route) for route in routes), key=lambda r: tuple(r[0]) + tuple(r[-1]))
    offsets = np.cumsum([0] + [len(r) for r in rounded]).astype(np.int64)
    rows = np.concatenate(rounded) if rounded else np.zeros((0, 4))
    return Routes(offsets, *(np.ascontiguousarray(rows[:, c]) for c in range(4)))


def save_routes(path: str | PathLike, routes: Routes) -> None:
    """Write a compressed npz of plain arrays (int32 offsets, float32 columns)."""
    columns = {name: getattr(routes, name).astype(np.float32) for name in COLUMNS[1:]}
    with open(path, "wb") as file:
        np.savez_compressed(file, offsets=routes.offsets.astype(np.int32), **columns)


def load_routes(path: str | PathLike = BUNDLED) -> Routes:
    """Read routes; nothing in the file is ever executed (no pickle).

    Raises:
        ModelError: no such file, no routes file, or its numbers cannot be flown; names file and fault.
    """
    try:
        with open(path, "rb") as file:
            routes = _read(file)
        _check(routes)
    except FileNotFoundError as error:
        raise ModelError(f"routes: there is no file {path}") from error
    except OSError as error:
        raise ModelError(f"routes: {error}") from error
    except Exception as error:  # a damaged file can raise anything
        raise ModelError(
            f"routes: {path} is not a routes file: {error}. Make one with `seer-env tracks import FILE`."
        ) from error
    return routes


def _read(file: BinaryIO) -> Routes:
    if not zipfile.is_zipfile(file):  # numpy would advise to allow pickle, which lets a file execute code
        raise ValueError("it is no npz")
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        missing = [name for name in COLUMNS if name not in arrays.files]
        if missing:
            raise ValueError(f"it lacks the arrays {missing}")
        try:
            offsets, *columns = (arrays[name].astype(np.float64) for name in COLUMNS)
        except ValueError as error:  # of an array of objects, numpy says the same
            raise ValueError("its arrays must hold numbers") from error
    return Routes(offsets.astype(np.int64), *columns)


def _check(routes: Routes) -> None:
    counts = np.diff(routes.offsets)
    total = int(routes.offsets[-1]) if len(routes.offsets) else -1
    if len(counts) == 0 or routes.offsets[0] != 0 or (counts < 2).any() or (counts > MAX_WAYPOINTS).any():
        raise ValueError(f"every route needs 2 to {MAX_WAYPOINTS} waypoints")
    for name in COLUMNS[1:]:
        column = getattr(routes, name)
        if column.shape != (total,) or not np.isfinite(column).all():
            raise ValueError(f"{name} must hold {total} finite numbers")
    inner = np.ones(total - 1, bool)
    inner[routes.offsets[1:-1] - 1] = False
    if (np.diff(routes.t)[inner] <= 0).any():
        raise ValueError("times must increase along a route")
    if (np.hypot(np.diff(routes.x), np.diff(routes.y))[inner] <= 0).any():
        raise ValueError("two successive waypoints coincide")
