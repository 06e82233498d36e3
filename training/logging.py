"""What a run writes as it goes: progress.csv, TensorBoard's files, and a progress bar."""

from __future__ import annotations

import csv
import io
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Column
from rich.text import Text
from torch.utils.tensorboard import SummaryWriter

from seer_env.files import write_whole
from seer_env.training.checkpoints import CheckpointError, written

__all__ = ["RunLog"]

#: Columns of progress.csv and tags of TensorBoard, beside `update`.
TAGS = (
    "charts/decisions",
    "charts/seconds",
    "charts/SPS",
    "charts/rollout_seconds",
    "charts/reward",
    "charts/episodic_return",
    "charts/episodic_length",
    "charts/learning_rate",
    "losses/policy_loss",
    "losses/value_loss",
    "losses/entropy",
    "losses/approx_kl",
    "losses/clipfrac",
    "losses/explained_variance",
    "time/inference",
    "time/window",
    "time/outputs",
    "time/other",
    "time/update",
    "cores/rollouts",
    "cores/training",
)


COLUMNS = ("update", *TAGS)


class RunLog:
    """Writes one line of figures per update; a `with` block completes its files.

    Args:
        folder: of the run; its files are continued after the first `done` updates.
        updates: of the whole run.
        done: updates that it had before.
    """

    def __init__(self, folder: Path, updates: int, done: int = 0):
        self._folder = folder
        with written(folder):
            self._file = _continued(folder / "progress.csv", done)
            self._board = SummaryWriter(str(folder), purge_step=done + 1)
        self._csv = csv.DictWriter(self._file, COLUMNS)
        bar = BarColumn(20, table_column=uncut()), MofNCompleteColumn(table_column=uncut())
        columns = TextColumn("update"), *bar, TimeRemainingColumn(table_column=uncut()), Figures()
        console = Console(stderr=True)
        # In Jupyter rich draws with ipywidgets, and warns where they are missing.
        hidden = console.is_jupyter and find_spec("ipywidgets") is None
        self._bar = Progress(*columns, console=console, refresh_per_second=2, disable=hidden)
        self._task = self._bar.add_task("", total=updates, completed=done)

    def write(self, update: int, figures: dict[str, float]) -> None:
        """Note the figures of update `update`, counted from 1; a tag without a figure stays empty."""
        with written(self._folder):
            self._csv.writerow({"update": update, **figures})
            self._file.flush()
            for tag, value in figures.items():
                self._board.add_scalar(tag, value, update)
        parts = {
            tag.removeprefix("time/"): value for tag, value in figures.items() if tag.startswith("time/")
        }
        whole = max(sum(parts.values()), 1e-9)
        shares = ", ".join(f"{name} {100 * s / whole:.0f} %" for name, s in parts.items() if s > 0)
        text = f"reward {figures['charts/reward']:.4g}, {figures['charts/SPS']:,.0f} decisions/s ({shares})"
        self._bar.update(self._task, completed=update, description=text)

    def __enter__(self) -> RunLog:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
        with written(self._folder):
            self._board.close()
            self._file.close()


class Figures(ProgressColumn):
    """The figures of an update in what the line has left; their end is cut off where that is too little."""

    def render(self, task: Task) -> Text:
        """See `ProgressColumn`."""
        return Text(task.description, no_wrap=True, overflow="ellipsis")


def uncut() -> Column:
    """A column that keeps its width in a narrow terminal: rich takes what is missing from others."""
    return Column(no_wrap=True)


def _continued(path: Path, updates: int) -> TextIO:
    """progress.csv, opened to append, without rows after `updates`: those are to be made again."""
    kept = io.StringIO(newline="")
    table = csv.DictWriter(kept, COLUMNS)
    table.writeheader()
    if updates > 0 and path.exists():
        try:
            with path.open(newline="", encoding="utf-8") as file:
                table.writerows(row for row in csv.DictReader(file) if int(row["update"]) <= updates)
        except (ValueError, KeyError, TypeError, csv.Error) as error:
            raise CheckpointError(
                f"{path}: damaged: {error!r}; without the file the run goes on, and its figures begin anew"
            ) from error
    write_whole(path, kept.getvalue().encode())
    return path.open("a", newline="", encoding="utf-8")
