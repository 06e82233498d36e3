"""The folder of an experiment's results: what was measured goes there turn by turn, so that nothing is lost.

measurements.csv  every value, a line each, written when its turn is over
summary.csv       medians with their intervals, and what follows from them
experiment.json   options, machine, versions, load, claims
plot.png          the picture
"""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Iterable, Sequence
from typing import Any

from seer_env.bench.experiment import Experiment
from seer_env.bench.results import Measurement
from seer_env.commands.output import CommandError, write_json
from seer_env.files import write_whole

__all__ = ["FILES", "Folder"]

FILES = ("measurements.csv", "summary.csv", "experiment.json", "plot.png")


class Folder:
    """An experiment's folder, made or taken up again.

    Raises:
        CommandError: it cannot be written, holds something else, or results of other options.
    """

    def __init__(self, experiment: Experiment):
        self.path = experiment.folder
        self._measurements = self.path / "measurements.csv"
        options = json.loads(json.dumps(experiment.options(), default=str))
        if experiment.restart:
            self._remove()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CommandError(f"--output {self.path}: {error.strerror}") from error
        earlier = self.record().get("options")
        if earlier is None and any(self.path.iterdir()):
            raise CommandError(f"--output {self.path}: a folder with other things in it; name a new one")
        if earlier not in (None, options):
            changed = sorted(k for k in {*earlier, *options} if earlier.get(k) != options.get(k))
            raise CommandError(
                f"{self.path} holds results of other options ({', '.join(changed)}): name another --output, "
                "or measure afresh with --restart"
            )
        self.options = options
        self._drop_cut_off_turn()

    def record(self) -> dict[str, Any]:
        """Contents of `experiment.json`, empty before the first run.

        Raises:
            CommandError: it is no JSON.
        """
        file = self.path / "experiment.json"
        if not file.exists():
            return {}
        try:
            return json.loads(file.read_text(encoding="utf-8"))
        except json.JSONDecodeError as error:
            raise CommandError(f"{file} is damaged ({error}): measure afresh with --restart") from error

    def write_record(self, **facts: Any) -> None:
        """Write `experiment.json`: the options, what it held before, and `facts`."""
        write_json(self.path / "experiment.json", {**self.record(), "options": self.options, **facts})

    def measurements(self) -> list[Measurement]:
        """Everything measured so far."""
        if not self._measurements.exists():
            return []
        lines = self._measurements.read_text(encoding="utf-8").splitlines()
        rows = csv.reader(line for line in lines[1:] if line)
        return [Measurement(g, c, int(t), int(turn), q, float(v)) for g, c, t, turn, q, v in rows]

    def append(self, turn: Sequence[Measurement]) -> None:
        """Write a turn at once; an empty line ends it, so that one cut off can be told."""
        if not self._measurements.exists():
            write_whole(self._measurements, (",".join(Measurement._fields) + "\n\n").encode())
        with self._measurements.open("a", encoding="utf-8", newline="") as file:
            file.write(_csv(turn) + "\n")

    def write_summary(self, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Write `summary.csv`."""
        write_whole(self.path / "summary.csv", (_csv([columns, *rows])).encode())

    def write_plot(self, png: bytes) -> None:
        """Write `plot.png`."""
        write_whole(self.path / "plot.png", png)

    def _drop_cut_off_turn(self) -> None:
        """Remove what follows the last empty line: a turn that was not written to its end."""
        if self._measurements.exists():
            text = self._measurements.read_text(encoding="utf-8")
            write_whole(self._measurements, text[: text.rfind("\n\n") + 2].encode())

    def _remove(self) -> None:
        """Remove results, and nothing else."""
        if self.path.is_dir() and (self.path / "experiment.json").exists():
            for name in FILES:
                (self.path / name).unlink(missing_ok=True)
            if not any(self.path.iterdir()):
                shutil.rmtree(self.path)


def _csv(rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
