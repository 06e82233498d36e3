"""Runs each consumer's tests in a fresh virtual environment, and ends in a table. `make test-compat`."""

from __future__ import annotations

import ast
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from time import perf_counter
from xml.etree import ElementTree

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
ENVIRONMENTS = ROOT / ".venvs-compat"

#: The packages whose versions the table shows. A consumer `c` has the file `test_c.py` beside this one and
#: the dependency group `compat-c` in pyproject.toml.
CONSUMERS = {
    "pettingzoo": ("pettingzoo",),
    "supersuit": ("supersuit", "stable-baselines3"),
    "torchrl": ("torchrl",),
    "rllib": ("ray",),
    "tianshou": ("tianshou",),
    "agilerl": ("agilerl",),
}


@dataclass(frozen=True)
class Row:
    """A row of the table: a consumer, its version, what was run, and how it went."""

    consumer: str
    version: str
    ran: str
    result: str
    passed: bool


def main(names: list[str]) -> int:
    unknown = set(names) - set(CONSUMERS)
    if unknown:
        sys.exit(f"no consumer {sorted(unknown)}: there are {list(CONSUMERS)}")
    rows = [check(name) for name in names or CONSUMERS]
    print(table(rows))
    return 0 if all(row.passed for row in rows) else 1


def check(consumer: str) -> Row:
    """Install the project and a consumer, and run its tests; the environment is kept if they fail."""
    place, ran = ENVIRONMENTS / consumer, what_runs(consumer)
    print(f"-- {consumer}: a fresh environment in {place}", flush=True)
    venv.create(place, clear=True, with_pip=True)
    python = place / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    error = install(python, "pip>=25.1") or install(
        python, "--editable", ".", "--group", f"compat-{consumer}"
    )
    if error:
        return Row(consumer, "", ran, error, False)
    start = perf_counter()
    text, passed = test(python, FOLDER / f"test_{consumer}.py", place / "report.xml")
    version = versions(python, CONSUMERS[consumer])
    if passed:
        rmtree(place)
    return Row(consumer, version, ran, f"{text}, {perf_counter() - start:.0f} s", passed)


def install(python: Path, *what: str) -> str:
    """Why pip cannot install `what`; empty if it did. The first pip that knows groups is 25.1."""
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what]
    run = subprocess.run(pip, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    return first_error(run.stderr) if run.returncode else ""


def test(python: Path, file: Path, report: Path) -> tuple[str, bool]:
    """Run pytest on a file: how it went, and whether all of it passed."""
    run = subprocess.run([python, "-m", "pytest", f"--junitxml={report}", file], cwd=ROOT)
    if not report.exists():
        return f"pytest ended with {run.returncode}", False
    text, passed = outcome(report.read_text(encoding="utf-8"))
    return text, passed and run.returncode == 0


def what_runs(consumer: str) -> str:
    """What the first line of a consumer's test file says behind the colon."""
    docstring = ast.get_docstring(ast.parse((FOLDER / f"test_{consumer}.py").read_text(encoding="utf-8")))
    assert docstring is not None
    return docstring.splitlines()[0].split(": ", 1)[1].rstrip(".")


def versions(python: Path, packages: tuple[str, ...]) -> str:
    code = (
        "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]), sep=' and ')"
    )
    run = subprocess.run([python, "-c", code, *packages], capture_output=True, text=True, check=True)
    return run.stdout.strip()


def outcome(report: str) -> tuple[str, bool]:
    """Words for a report of pytest, and whether all tests ran and passed. Here, skipping is failing."""
    suites = ElementTree.fromstring(report).iter("testsuite")
    counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for suite in suites:
        for what in counts:
            counts[what] += int(suite.get(what, 0))
    bad = {what: n for what, n in counts.items() if what != "tests" and n}
    good = counts["tests"] - sum(bad.values())
    words = [f"{good} passed", *(f"{n} {what}" for what, n in bad.items())]
    return ", ".join(words), good > 0 and not bad


def first_error(stderr: str) -> str:
    """The first line in which pip says why it failed."""
    errors = [line for line in stderr.splitlines() if line.startswith("ERROR")]
    return errors[0] if errors else "pip failed"


def table(rows: list[Row]) -> str:
    cells = [("consumer", "version", "what was run", "result")]
    cells += [
        (row.consumer, row.version, row.ran, ("" if row.passed else "FAILED: ") + row.result) for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*cells)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cells
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
