"""`seer-env bench report`: one HTML page of all results, that needs no other file."""

from __future__ import annotations

import base64
import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Annotated, Any

import tyro

from seer_env.commands.output import CommandError
from seer_env.files import write_whole

__all__ = ["Report"]

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse; font-size: 13px; margin: 1em 0 }
th, td { padding: .2em .7em; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap }
th:first-child, td:first-child { text-align: left }
img { max-width: 100% } .no { color: #b00020; font-weight: bold } .small { color: #666; font-size: 13px }
"""
#: Columns of `summary.csv` that hold numbers.
NUMBERS = ("median", "low", "high", "coverage")


@dataclass
class Report:
    """Join the results of all experiments in a folder into report.html, with tables and plots."""

    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FOLDER")] = Path("seer-bench")
    """Folder that holds the experiments' folders, as `seer-env bench` makes them."""

    def main(self) -> int:
        """Write the page.

        Raises:
            CommandError: there are no results in the folder, or the page cannot be written.
        """
        folders = [path.parent for path in sorted(self.folder.glob("*/experiment.json"))]
        if not folders:
            raise CommandError(f"{self.folder}: no results in it; `seer-env bench phold` makes some")
        sections = [section(folder) for folder in folders]
        records = [_record(folder) for folder in folders]
        file = self.folder / "report.html"
        write_whole(file, page(sections, records).encode())
        print(f"{file}: {len(folders)} experiments")
        return 0


def page(sections: Iterable[str], records: Sequence[dict[str, Any]]) -> str:
    """The whole page: all claims first, then an experiment after the other."""
    claims = [claim for record in records for claim in record.get("claims", ())]
    kept = sum(claim["holds"] for claim in claims)
    head = f"<p>{kept} of {len(claims)} claims hold.</p>" if claims else ""
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><title>seer_env: measured</title>"
        f"<style>{STYLE}</style></head><body><h1>seer_env: measured</h1>{head}"
        f"{''.join(sections)}</body></html>"
    )


def section(folder: Path) -> str:
    """One experiment: claims, picture, table, and what it was measured on."""
    record = _record(folder)
    parts = [f"<h2>{escape(folder.name)}</h2><p>{escape(record.get('title', ''))}</p>"]
    if record.get("interrupted"):
        parts.append("<p class='no'>Interrupted: not everything has been measured.</p>")
    if record.get("claims"):
        parts.append(_claims(record["claims"]))
    parts += [f"<p>{escape(note)}</p>" for note in record.get("notes", ())]
    if (folder / "plot.png").exists():
        picture = base64.b64encode((folder / "plot.png").read_bytes()).decode()
        parts.append(f"<img alt='{escape(folder.name)}' src='data:image/png;base64,{picture}'>")
    if (folder / "summary.csv").exists():
        with (folder / "summary.csv").open(encoding="utf-8", newline="") as file:
            head, *rows = csv.reader(file)
        numbers = [head.index(name) for name in NUMBERS]
        cells = [[_short(c) if i in numbers else c for i, c in enumerate(row)] for row in rows]
        parts.append(f"<details><summary>all figures</summary>{_table(head, cells)}</details>")
    parts.append(f"<p class='small'>{escape(_machine(record))}</p>")
    return "".join(parts)


def _claims(claims: Sequence[dict[str, Any]]) -> str:
    rows = [
        (c["text"], _short(c["measured"]), f"{c['relation']} {c['limit']:g}", "yes" if c["holds"] else "no")
        for c in claims
    ]
    html = _table(("claim", "measured", "limit", "holds"), rows)
    return html.replace("<td>no</td>", "<td class='no'>no</td>")


def _table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    titles = "".join(f"<th>{escape(name)}</th>" for name in head)
    lines = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{lines}</tbody></table>"


def _machine(record: dict[str, Any]) -> str:
    packages = ", ".join(f"{name} {v}" for name, v in record.get("packages", {}).items() if v)
    return (
        f"{record.get('date', '')}, {record.get('processor', '')}, {record.get('effective_cpus', '?')} "
        f"usable cores, load {record.get('load_before')} before and {record.get('load_after')} after, "
        f"{record.get('seconds', 0)} s, Python {record.get('python', '')}, {packages}"
    )


def _short(value: Any) -> str:
    """A number with four digits that count."""
    return f"{float(value):.4g}" if value not in ("", None) else ""


def _record(folder: Path) -> dict[str, Any]:
    try:
        return json.loads((folder / "experiment.json").read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise CommandError(f"{folder / 'experiment.json'} is damaged: {error}") from error
