"""What benchmarks share in showing results: a progress bar, and a table that a pipe does not cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

#: Columns where there is no terminal: rich would take 80, and cut figures.
PIPE_WIDTH = 400


def progress_bar() -> Progress:
    """A progress bar on stderr, so that stdout holds results alone; it vanishes when done.

    It redraws between measurements only (`update(..., refresh=True)`): a thread that draws ten times
    a second would compete with what is measured.
    """
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        auto_refresh=False,
    )


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], note: str = "") -> None:
    """Print a table on stdout: the first column is left aligned, the others right; `note` goes below."""
    table = Table(title=title, title_justify="left")
    for position, column in enumerate(columns):
        table.add_column(column, justify="left" if position == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console = Console()
    if not console.is_terminal:
        console = Console(width=PIPE_WIDTH)
    console.print(table)
    if note:
        console.print(note, highlight=False, markup=False, soft_wrap=True)
