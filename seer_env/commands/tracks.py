"""`seer-env tracks import`: a user's own flight data as routes for aircraft_v0."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from seer_env.commands.output import CommandError, check_writable


@dataclass
class Tracks:
    """Turn your own traffic into routes that aircraft_v0 flies.

    `seer-env tracks import FILE` reads position reports and writes routes: simplified paths without
    identifiers or dates. Fly them with `seer-env run aircraft_v0 --world routes=routes.npz`.
    """

    action: tyro.conf.Positional[Literal["import"]]
    """import: read a file of position reports."""

    file: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FILE")]
    """CSV or parquet (the latter needs pyarrow), a row per report, columns named as in OpenSky's state
    vectors: time, latitude, longitude, altitude, the aircraft's id."""

    out: Annotated[Path, tyro.conf.arg(metavar="FILE.npz")] = Path("routes.npz")
    """Where the routes go."""

    altitude_unit: Literal["m", "ft"] = "m"
    """Unit of the altitudes; OpenSky's are metres."""

    def main(self) -> int:
        """Import and say how many routes there are."""
        check_writable(self.out)
        from seer_env.envs.aircraft.tracks import import_tracks

        try:
            count = import_tracks(self.file, self.out, altitude_unit=self.altitude_unit)
        except (OSError, ValueError, ImportError) as error:
            raise CommandError(str(error)) from error
        print(f"{count} routes: {self.out.absolute()}")
        return 0
