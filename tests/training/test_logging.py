"""What a run shows as it goes."""

from __future__ import annotations

import pytest

from seer_env.training.logging import RunLog

FIGURES = {
    "charts/reward": -0.4321, "charts/SPS": 123_456.0, "time/inference": 1.0, "time/window": 1.0,
    "time/outputs": 1.0, "time/other": 1.0, "time/update": 1.0,
}  # fmt: skip


@pytest.mark.parametrize("part", ["━━━━━━━━━━", "30/40", ":--"], ids=["bar", "count", "time"])
def test_the_bar_is_whole_in_a_narrow_terminal_and_the_figures_are_cut(tmp_path, monkeypatch, capsys, part):
    monkeypatch.setenv("COLUMNS", "80")
    with RunLog(tmp_path, 40) as log:
        log.write(30, FIGURES)
    (line,) = capsys.readouterr().err.splitlines()
    assert part in line.partition("reward -0.4321")[0]
