from __future__ import annotations

import pytest
from counting import Counting

from seer_env.bench import runner


@pytest.fixture
def counting(monkeypatch):
    """The experiment with known values, its second core worth 2.0."""
    monkeypatch.setattr(Counting, "order", [])
    monkeypatch.setattr(Counting, "interrupt_at", None)
    monkeypatch.setattr(Counting, "digests", (7, 7))
    monkeypatch.setattr(runner, "worth_of_second_core", lambda: 2.0)
    return Counting
