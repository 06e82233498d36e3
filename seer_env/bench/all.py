"""`seer-env bench all`: every experiment in turn, then the report."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from seer_env.bench.names import EXPERIMENTS, load_bench
from seer_env.bench.page import Report
from seer_env.commands.output import CommandError

__all__ = ["All"]


@dataclass
class All:
    """Run every experiment with its default options, then join the results into one page.

    Ctrl-C loses the turn being measured; the same command goes on from there. What is complete is shown
    again and not measured again. With --quick it takes about a quarter of an hour on two cores.
    """

    quick: bool = False
    """Little work and few repeats everywhere. The figures say little."""
    only: tuple[str, ...] = tuple(EXPERIMENTS)
    """Experiments to run."""
    restart: bool = False
    """Throw away what earlier runs have measured."""
    output: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("seer-bench")
    """Folder of the experiments' folders and of report.html."""

    def main(self) -> int:
        """1 if contenders of an experiment disagree about a digest, else 0.

        Raises:
            CommandError: no such experiment, or a folder that cannot be used; those before it are on disk.
        """
        unknown = [name for name in self.only if name not in EXPERIMENTS]
        if unknown:
            raise CommandError(f"--only: no experiment {unknown[0]!r}; there are {' '.join(EXPERIMENTS)}")
        status = 0
        for number, name in enumerate(self.only, start=1):
            started = time.perf_counter()
            print(f"{name} ({number} of {len(self.only)}): {EXPERIMENTS[name].about}", flush=True)
            folder = self.output / (name + ("-quick" if self.quick else ""))
            experiment = load_bench(name)(quick=self.quick, restart=self.restart, output=folder)
            missing = experiment.missing()
            if missing is not None:
                print(f"{name} was left out: {missing}", flush=True)
                continue
            status |= experiment.main()
            print(f"{name}: {time.perf_counter() - started:.0f} s", flush=True)
        return status | Report(self.output).main()
