"""What all tests share: a second core that compiles for them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

#: Tests of a run that is worth one process more: most of the suite.
MANY = 3000


@pytest.fixture(scope="session", autouse=True)
def compiled_ahead(request):
    """Compile beside the first tests what later ones need; with an empty cache that saves a minute."""
    if len(request.session.items) < MANY:
        yield
        return
    with subprocess.Popen([sys.executable, Path(__file__).with_name("ahead.py")]) as process:
        yield
        status = process.poll()
        process.kill()  # it is done long ago, but where the run was interrupted
    assert status in (None, 0)
