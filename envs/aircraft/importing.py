"""`import_tracks`: a user's own flight data as routes.

CSV is read with the standard library; parquet needs the optional package `pyarrow`.
"""

from __future__ import annotations

import csv
import math
from datetime import datetime, timezone
from os import PathLike
from pathlib import Path

import numpy as np

from seer_env.envs.aircraft.simplify import DEFAULT, Rules, routes_of_flight

#: Accepted column names, the OpenSky state vectors' first, compared in lower case.
NAMES = {
    "id": ("icao24", "flight_id", "id", "hex", "callsign"),
    "time": ("time", "timestamp", "time_position", "lastposupdate"),
    "latitude": ("lat", "latitude"),
    "longitude": ("lon", "longitude", "lng", "long"),
    "altitude": ("baroaltitude", "geoaltitude", "baro_altitude", "geo_altitude", "altitude"),
}
FEET = 0.3048


def import_tracks(
    path: str | PathLike, out: str | PathLike, *, altitude_unit: str = "m", rules: Rules = DEFAULT
) -> int:
    """Turn position reports into a routes file for `aircraft_v0` (`routes="FILE"`).

    Args:
        path: `.csv` or `.parquet` with a column each for the aircraft's id, time (seconds, or ISO
            8601), latitude, longitude (degrees) and altitude; see `NAMES`. Rows in any order.
        out: the npz to write. Identifiers and dates are left out of it.
        altitude_unit: `"m"` (the OpenSky state vectors) or `"ft"`.
        rules: what counts as a usable piece of flight.

    Returns:
        The number of routes written.

    Raises:
        FileNotFoundError: no such file.
        ImportError: parquet without `pyarrow`.
        ValueError: a missing column, an unreadable value or no usable flight; nothing is written.
    """
    from seer_env.envs.aircraft.tracks import pack_routes, save_routes

    if altitude_unit not in ("m", "ft"):
        raise ValueError(f"altitude_unit must be 'm' or 'ft', got {altitude_unit!r}")
    path = Path(path)
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise ValueError(f"{path}: expected a .csv or .parquet file")
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file")
    columns = _read_csv(path) if path.suffix.lower() == ".csv" else _read_parquet(path)
    if altitude_unit == "ft":
        columns["altitude"] = columns["altitude"] * FEET
    routes = _all_routes(columns, path, rules)
    save_routes(out, pack_routes(routes))
    return len(routes)


def _all_routes(columns: dict[str, np.ndarray], path: Path, rules: Rules) -> list[np.ndarray]:
    latitude, longitude = columns["latitude"], columns["longitude"]
    good = np.isfinite(latitude) & np.isfinite(longitude)
    if not good.any():
        raise ValueError(f"{path}: no row has a latitude and a longitude")
    for name, limit in (("latitude", 90.0), ("longitude", 180.0)):
        beyond = np.flatnonzero(good & (np.abs(columns[name]) > limit))
        if len(beyond):
            raise ValueError(
                f"{path}: {name} {columns[name][beyond[0]]} in data row {beyond[0] + 1} is beyond "
                f"+-{limit:g} degrees"
            )
    origin = (float(np.median(latitude[good])), float(np.median(longitude[good])))
    _, group = np.unique(columns["id"], return_inverse=True)
    order = np.argsort(group, kind="stable")
    routes = []
    for rows in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        fields = [columns[name][rows] for name in ("time", "latitude", "longitude", "altitude")]
        routes += routes_of_flight(*fields, origin, rules)
    if not routes:
        raise ValueError(
            f"{path}: none of {len(group)} rows belongs to a usable flight. Needed: {rules.duration:g} s "
            f"and {rules.length / 1000:g} km without a silence of {rules.gap:g} s, at "
            f"{rules.floor:g} to {rules.ceiling:g} m, within {rules.region / 2000:g} km of the median "
            "position. Check the altitudes' unit, altitude_unit or, of the command, --altitude-unit; Python "
            "may pass other `rules`."
        )
    return routes


def _pick(available: list[str], path: Path) -> dict[str, str]:
    lower = {name.strip().lower(): name for name in available}
    picked = {}
    for role, names in NAMES.items():
        found = [lower[name] for name in names if name in lower]
        if not found:
            raise ValueError(f"{path}: no column for {role}; expected one of {names}, found {available}")
        picked[role] = found[0]
    return picked


def _read_csv(path: Path) -> dict[str, np.ndarray]:
    with open(path, newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        if not reader.fieldnames:
            raise ValueError(f"{path}: the file is empty")
        picked = _pick(list(reader.fieldnames), path)
        values: dict[str, list] = {role: [] for role in picked}
        for row in reader:
            values["id"].append(row[picked["id"]])
            for role in ("time", "latitude", "longitude", "altitude"):
                text = row[picked[role]]
                values[role].append(_number(text, role == "time", path, reader.line_num, picked[role]))
    if not values["id"]:
        raise ValueError(f"{path}: a header and no rows")
    ids = np.array(values.pop("id"), str)
    return {"id": ids} | {role: np.array(column, float) for role, column in values.items()}


def _number(text: str | None, is_time: bool, path: Path, line: int, column: str) -> float:
    """A cell as a float; an empty cell is NaN, and its row is left out later."""
    text = (text or "").strip()
    if text.lower() in ("", "nan", "null", "none"):
        return math.nan
    try:
        return float(text)
    except ValueError:
        if is_time:
            try:
                moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
                return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()
            except ValueError:
                pass
    kind = "a number or an ISO 8601 time" if is_time else "a number"
    raise ValueError(f"{path}, line {line}: {column} is {text!r}, expected {kind}")


def _read_parquet(path: Path) -> dict[str, np.ndarray]:
    try:
        from pyarrow import parquet, types
    except ImportError as error:
        raise ImportError(
            f"reading {path} needs pyarrow: `pip install pyarrow`, or convert the file to CSV"
        ) from error
    schema = parquet.read_schema(path)
    picked = _pick(list(schema.names), path)
    table = parquet.read_table(path, columns=sorted(set(picked.values())))
    columns = {}
    for role, name in picked.items():
        column = table.column(name)
        if role == "id":
            columns[role] = np.array([str(v) for v in column.to_pylist()], str)
        elif role == "time" and types.is_timestamp(column.type):
            stamps = column.to_numpy().astype("datetime64[ns]")
            seconds = stamps.astype(np.int64) / 1e9
            columns[role] = np.where(np.isnat(stamps), np.nan, seconds)
        else:
            try:
                columns[role] = np.array([math.nan if v is None else float(v) for v in column.to_pylist()])
            except (TypeError, ValueError) as error:
                raise ValueError(f"{path}: column {name} holds {column.type}, expected numbers") from error
    if not len(columns["id"]):
        raise ValueError(f"{path}: no rows")
    return columns
