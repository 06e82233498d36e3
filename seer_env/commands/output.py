"""How commands speak: tables for people, JSON for programs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from seer_env.files import write_whole


class CommandError(Exception):
    """The command cannot do what was asked; its message, which says why, is all the user needs."""


def check_writable(path: Path | None) -> None:
    """Refuse a file that could not be written later, before any work is done.

    Raises:
        CommandError: its folder does not exist or is not writable, or the path is a folder.
    """
    if path is None:
        return
    folder = path.absolute().parent
    if not folder.is_dir():
        raise CommandError(f"{path}: there is no folder {folder}; create it first")
    if path.is_dir():
        raise CommandError(f"{path} is a folder; name a file in it")
    if not os.access(folder, os.W_OK):
        raise CommandError(f"{path}: the folder {folder} is not writable")


def write_json(path: Path | None, figures: Any) -> None:
    """Write `figures` to `path` (None: nowhere), whole or not at all."""
    if path is None:
        return
    text = json.dumps(figures, indent=2, allow_nan=False) + "\n"
    write_whole(path, text.encode())


def print_table(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Print a table; columns after the first are right-aligned if all their cells are numbers."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = [[str(cell) for cell in row] for row in rows]
    table = Table(title=title, title_justify="left")
    for index, column in enumerate(columns):
        numeric = index > 0 and all(_is_number(row[index]) for row in cells)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)


def _is_number(text: str) -> bool:
    return text.replace(",", "").replace(".", "").replace("%", "").strip().isdigit()
