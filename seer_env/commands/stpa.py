"""`seer-env stpa`: the data, the training and the evaluation behind `threads="auto"`."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Union

import tyro

from seer_env.commands.explain import Explain
from seer_env.commands.output import CommandError, check_writable, write_json

if TYPE_CHECKING:
    from seer_env.stpa.dataset import Sweep

Folder = Annotated[Path, tyro.conf.arg(metavar="FOLDER")]


@dataclass
class Collect:
    """Measure sweeps of thread counts over worlds, sizes, event costs, communication and lookahead.

    Goes on where an earlier run into the same folder stopped. The machine should do nothing else.
    """

    out: Folder = Path("stpa-data")
    """Where `sweeps.csv.gz` and `traces.csv.gz` are."""
    configurations: int = 600
    """How far to go in the plan."""
    seconds: float = float("inf")
    """Begin no configuration later than this."""
    most_threads: int = 8
    """The largest candidate; not more than NUMBA_NUM_THREADS."""
    turns: int = 10
    """Measurements per candidate, in turn with the others'."""

    def main(self) -> int:
        """Measure what is missing, and write it even if interrupted."""
        import numba

        from seer_env.bench.report import progress_bar
        from seer_env.stpa.collect import sweep
        from seer_env.stpa.dataset import SERIAL, ladder, read_sweeps, write_sweeps
        from seer_env.stpa.plan import configuration

        most = numba.config.NUMBA_NUM_THREADS
        if not 1 <= self.most_threads <= most:
            raise CommandError(
                f"--most-threads {self.most_threads}: from 1 to {most}; NUMBA_NUM_THREADS sets the most"
            )
        if self.turns < 2:
            raise CommandError(f"--turns {self.turns}: at least 2, half to choose and half to score")
        self.out.mkdir(parents=True, exist_ok=True)
        begun, sweeps = time.monotonic(), read_sweeps(self.out)
        missing = set(range(self.configurations)) - {s.configuration.index for s in sweeps}
        try:
            with progress_bar() as progress:
                task = progress.add_task("", total=len(missing))
                for chosen in map(configuration, sorted(missing)):
                    if time.monotonic() - begun > self.seconds:
                        break
                    progress.update(task, description=f"{chosen.world} of {chosen.size}", refresh=True)
                    sweeps.append(sweep(chosen, (SERIAL, *ladder(self.most_threads)), self.turns))
                    progress.update(task, advance=1, refresh=True)
        finally:
            write_sweeps(self.out, sweeps)
        print(f"{len(sweeps)} of {self.configurations} configurations: {self.out.absolute()}")
        return 0


@dataclass
class Calibrate:
    """Measure this machine, check a model of the scheduler by real sweeps, simulate sweeps of others."""

    data: Folder | None = None
    """Real sweeps of this machine, to check the model against and to take worlds from."""
    synthesise: int = 0
    """Write so many simulated sweeps; needs --data."""
    out: Folder = Path("stpa-simulated")
    """Where simulated sweeps go."""
    costs: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """Take the costs from an earlier run's --json instead of measuring them."""
    json_file: Annotated[Path | None, tyro.conf.arg(name="json", metavar="FILE", help_behavior_hint="")] = (
        None
    )
    """Write what was measured here."""

    def main(self) -> int:
        """Measure, print, check, synthesise."""
        from seer_env.bench.report import print_table
        from seer_env.bench.timing import machine
        from seer_env.stpa.dataset import write_sweeps
        from seer_env.stpa.scheduler_model import Costs
        from seer_env.stpa.simulate import model_error, synthesise

        if self.synthesise and self.data is None:
            raise CommandError("--synthesise needs --data: simulated worlds are made from measured ones")
        check_writable(self.json_file)
        real = [] if self.data is None else [s for s in _sweeps([self.data]) if not s.simulated]
        figures = self._figures()
        costs = Costs(**{name: figures[name] for name in Costs._fields})
        rows = [(name, f"{value:,.2f}") for name, value in figures.items()]
        print_table("This machine, nanoseconds", ("what", "measured"), rows, machine())
        errors = model_error(real, costs) if real else {}
        if errors:
            rows = [(str(k), f"{error:.3f}") for k, error in errors.items()]
            title = f"Model of the scheduler beside {len(real)} real sweeps"
            print_table(title, ("threads", "median |log2 error| of t / t(serial)"), rows)
        write_json(self.json_file, {"costs": figures, "model_error": errors})
        if self.synthesise:
            self.out.mkdir(parents=True, exist_ok=True)
            write_sweeps(self.out, synthesise(real, costs, self.synthesise))
            print(f"{self.synthesise} simulated sweeps: {self.out.absolute()}")
        return 0

    def _figures(self) -> dict[str, float]:
        """Nanoseconds by name, measured or from a file."""
        if self.costs is not None:
            try:
                return json.loads(self.costs.read_text())["costs"]
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise CommandError(f"--costs {self.costs}: {error!r}; give what --json wrote") from error
        from seer_env.machine import effective_cpus
        from seer_env.stpa.calibrate import calibrate, event_costs

        return {**calibrate(effective_cpus())._asdict(), **event_costs()}


@dataclass
class Train:
    """Train the predictor on sweeps, and write it to a folder."""

    data: tuple[Path, ...]
    """Folders of sweeps, real and simulated."""
    out: Folder = Path("stpa-model")
    """Where the model goes."""
    seed: int = 0
    """Of everything random."""

    def main(self) -> int:
        """Train, write, and say how far predictions are from the labels they were trained on."""
        import numpy as np

        with _extra():
            from seer_env.stpa.training.ship import ship
        from seer_env.stpa.labels import label
        from seer_env.stpa.predictor import Predictor

        sweeps = _sweeps(self.data)
        ship(sweeps, self.out, self.seed)
        predictor = Predictor(self.out)
        errors = [abs(np.log2(predictor(s.trace, s.static).threads / label(s))) for s in sweeps]
        simulated = sum(s.simulated for s in sweeps)
        print(
            f"Trained on {len(sweeps) - simulated} real and {simulated} simulated sweeps; mean |log2 error| "
            f"on them {np.mean(errors):.3f}: {self.out.absolute()}"
        )
        return 0


@dataclass
class Evaluate:
    """Table 1: learned predictors, rules, search and the oracle, on configurations held back."""

    data: tuple[Path, ...]
    """Folders of sweeps, real and simulated."""
    seeds: int = 5
    """Splits of each kind."""
    json_file: Annotated[Path | None, tyro.conf.arg(name="json", metavar="FILE", help_behavior_hint="")] = (
        None
    )
    """Write the rows of all tables here."""

    def main(self) -> int:
        """Evaluate, and print a table per kind of split; real and simulated are never in one table."""
        with _extra():
            from seer_env.stpa.training import evaluate
            from seer_env.stpa.training.splits import splits
        from seer_env.bench.report import progress_bar

        if self.seeds < 1:
            raise CommandError(f"--seeds {self.seeds}: at least 1")
        check_writable(self.json_file)
        sweeps = _sweeps(self.data)
        scores: dict[str, list] = {}
        every = list(splits(sweeps, self.seeds))
        with progress_bar() as progress:
            task = progress.add_task("", total=len(every))
            for split in every:
                progress.update(task, description=f"{split.name}, seed {split.seed}", refresh=True)
                scores.setdefault(split.name, []).extend(evaluate.evaluate(split))
                progress.update(task, advance=1, refresh=True)
        rows = {name: evaluate.table(some) for name, some in scores.items()}
        for name, some in rows.items():
            evaluate.print_scores(name, some)
        write_json(self.json_file, {"label_noise": evaluate.noise(sweeps), "tables": rows})
        for name, figures in evaluate.noise(sweeps).items():
            print(f"Labels of {name} sweeps: the halves of {figures['disagree']:.0%} disagree, by "
                  f"{figures['log2']:.2f} in log2 on average.")  # fmt: skip
        return 0


def _sweeps(folders: tuple[Path, ...] | list[Path]) -> list[Sweep]:
    from seer_env.stpa.dataset import read_sweeps

    sweeps = [sweep for folder in folders for sweep in read_sweeps(folder)]
    if not sweeps:
        raise CommandError(f"no sweeps in {' '.join(map(str, folders))}: run seer-env stpa collect first")
    return sweeps


@contextmanager
def _extra() -> Iterator[None]:
    """Say which extra is missing where an import fails."""
    try:
        yield
    except ImportError as error:
        raise CommandError(f'{error}; training needs more packages: pip install "seer-env[stpa]"') from error


Commands = Union[  # noqa: UP007 - tyro's form
    Annotated[Explain, tyro.conf.subcommand("explain")],
    Annotated[Collect, tyro.conf.subcommand("collect")],
    Annotated[Calibrate, tyro.conf.subcommand("calibrate")],
    Annotated[Train, tyro.conf.subcommand("train")],
    Annotated[Evaluate, tyro.conf.subcommand("evaluate")],
]


@dataclass
class Stpa:
    """Data, training and evaluation of the choice of threads."""

    command: tyro.conf.OmitSubcommandPrefixes[tyro.conf.OmitArgPrefixes[Commands]]

    def main(self) -> int:
        """Run the subcommand."""
        return self.command.main()
