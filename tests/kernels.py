"""Notebooks executed by a kernel of the interpreter that runs the tests."""

from __future__ import annotations

import sys
from contextlib import contextmanager

import pytest

nbformat = pytest.importorskip("nbformat", reason="notebooks are executed with nbclient, of the extra dev")
nbclient = pytest.importorskip("nbclient", reason="notebooks are executed with nbclient, of the extra dev")
pytest.importorskip("ipykernel", reason="notebooks are executed with ipykernel, of the extra dev")

#: Seconds that a cell may take.
PATIENCE = 170


def client_of(document, folder):
    """What executes the cells of a notebook in a folder."""
    return nbclient.NotebookClient(
        document, km=kernel_manager(), timeout=PATIENCE, resources={"metadata": {"path": folder}}
    )


def kernel_manager():
    """A manager whose kernels are this interpreter's, whatever else is installed under `python3`."""
    from jupyter_client.manager import KernelManager

    manager = KernelManager()
    manager.kernel_spec.argv[0] = sys.executable
    return manager


class Notebook:
    """A running notebook, whose cells a test writes and executes one at a time."""

    def __init__(self, client, notebook):
        self._client, self._notebook = client, notebook

    def run(self, source, raises=False):
        """The outputs of a cell that holds `source`; `raises` allows an exception, which is one of them."""
        cell = nbformat.v4.new_code_cell(source)
        if raises:
            cell.metadata["tags"] = ["raises-exception"]
        self._notebook.cells.append(cell)
        self._client.execute_cell(cell, len(self._notebook.cells) - 1)
        return cell.outputs

    def value(self, source):
        """Text of a cell's last expression."""
        return self.run(source)[-1]["data"]["text/plain"]

    def restart(self):
        """A new kernel behind the same notebook."""
        self._client.km.restart_kernel(now=True)
        self._client.kc.wait_for_ready(timeout=PATIENCE)


@contextmanager
def notebook(folder):
    """An empty notebook in `folder`, with its kernel."""
    document = nbformat.v4.new_notebook()
    client = client_of(document, folder)
    with client.setup_kernel(cleanup_kc=True):
        yield Notebook(client, document)


def executed(path, folder):
    """The notebook of a file, executed in `folder` from top to bottom."""
    document = nbformat.read(path, as_version=4)
    client_of(document, folder).execute(cleanup_kc=True)
    return document
