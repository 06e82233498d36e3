"""Makes `data/routes.npz` from the samples in the wheel of the package `traffic`.

    pip download traffic==2.13 --no-deps
    python -m seer_env.envs.aircraft.derive traffic-2.13-py3-none-any.whl

The wheel is read as an archive; nothing of it is installed or run. `data/README.md` says what is
kept of the samples and what is not.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import zipfile
from pathlib import Path

import numpy as np

from seer_env.envs.aircraft.importing import FEET
from seer_env.envs.aircraft.simplify import routes_of_flight
from seer_env.envs.aircraft.tracks import BUNDLED, pack_routes, save_routes

#: Sample and the centre of its tangent plane, latitude and longitude in degrees.
SAMPLES = {
    "traffic/data/samples/collections/quickstart.json.gz": (48.86, 2.42),
    "traffic/data/samples/collections/switzerland.json.gz": (46.80, 8.22),
    "traffic/data/samples/firefighting/calfire.json.gz": (37.00, -119.5),
}


def derive(wheel: Path, out: Path) -> dict[str, int]:
    """Write the routes of every sample to `out`; returns the number of routes per sample."""
    routes, counts = [], {}
    with zipfile.ZipFile(wheel) as archive:
        for sample, origin in SAMPLES.items():
            with archive.open(sample) as packed, gzip.open(packed) as rows:
                found = _routes_of(json.load(rows), origin)
            counts[sample] = len(found)
            routes += found
    save_routes(out, pack_routes(routes))
    return counts


def _routes_of(rows: list[dict], origin: tuple[float, float]) -> list[np.ndarray]:
    flights: dict[tuple, list[tuple]] = {}
    for row in rows:
        values = (row["timestamp"], row["latitude"], row["longitude"], row["altitude"])
        if not row.get("onground") and all(v is not None and math.isfinite(v) for v in values):
            flights.setdefault((row["icao24"], row["callsign"]), []).append(values)
    routes = []
    for reports in flights.values():
        stamp, latitude, longitude, feet = np.array(reports, float).T
        routes += routes_of_flight(stamp / 1000.0, latitude, longitude, feet * FEET, origin)
    return routes


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Derive the bundled routes from the traffic wheel.")
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--out", type=Path, default=BUNDLED)
    arguments = parser.parse_args()
    for name, count in derive(arguments.wheel, arguments.out).items():
        print(f"{count:5d} routes from {name}")
