"""The notebooks run from top to bottom, show something early, and are kept without outputs."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from kernels import executed, nbformat

FOLDER = Path(__file__).parents[2] / "notebooks"
FILES = sorted(FOLDER.glob("*.ipynb"))
#: Code cells within which a reader has seen a picture.
EARLY = 4
PICTURES = ("image/png", "data:image/png", "data:image/gif")


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def has_picture(cell):
    shown = "".join(f"{name} {text}" for out in cell.outputs for name, text in out.get("data", {}).items())
    return any(kind in shown for kind in PICTURES)


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    """The notebooks, executed two at a time: a kernel that starts or compiles keeps one core busy."""
    with ThreadPoolExecutor(2) as pool:
        yield {path: pool.submit(executed, path, tmp_path_factory.mktemp(path.stem)) for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_a_picture_early(path, documents):
    cells = code_cells(documents[path].result())
    complaints = [out.text for cell in cells for out in cell.outputs if out.get("name") == "stderr"]
    assert complaints == []
    assert any(has_picture(cell) for cell in cells[:EARLY])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path):
    for cell in code_cells(nbformat.read(path, as_version=4)):
        assert (cell.outputs, cell.execution_count) == ([], None)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_linked_file_is_there(path):
    text = "".join(c.source for c in nbformat.read(path, as_version=4).cells if c.cell_type == "markdown")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (path.parent / target).exists(), target


def test_there_are_five():
    assert [path.stem[:2] for path in FILES] == ["01", "02", "03", "04", "05"]
