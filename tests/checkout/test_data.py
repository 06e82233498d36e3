"""The data behind the shipped predictor."""

from __future__ import annotations

from pathlib import Path

import pytest

from seer_env.stpa.dataset import read_sweeps
from seer_env.stpa.plan import WORLDS, configuration


@pytest.mark.parametrize("kind", ["real", "simulated"])
def test_the_data_behind_the_shipped_model_says_what_it_is(kind):
    folder = Path(__file__).parents[2] / "data" / "stpa" / kind
    sweeps = read_sweeps(folder)
    assert len(sweeps) > 400
    assert {s.simulated for s in sweeps} == {kind == "simulated"}
    assert all((s.seconds > 0.0).all() for s in sweeps)
    assert sum(path.stat().st_size for path in folder.iterdir()) < 4_000_000
    if kind == "real":
        assert {s.configuration.world for s in sweeps} == set(WORLDS)
        assert all(s.configuration == configuration(s.configuration.index) for s in sweeps)
