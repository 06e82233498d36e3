"""The settings that ship with the project can be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from seer_env.training.config import load_config

CONFIGS = Path(__file__).parents[2] / "configs"


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("train/*.yaml")), ids=lambda path: path.stem)
def test_settings_for_training_load(path):
    assert load_config(path).env.endswith("_v0")
