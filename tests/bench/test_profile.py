"""`seer-env bench profile`: where the time of a step went."""

from __future__ import annotations

import pytest

from seer_env.bench.profile import ProfileExperiment, shares
from seer_env.commands.output import CommandError
from seer_env.runtime.stats import StepStats, WorkerStats


def test_shares_are_of_the_counts():
    workers = (
        WorkerStats(events=700, undone=250, lost_claims=3, busy_s=0.8, outputs_s=0.1, alone_s=0.2),
        WorkerStats(events=50, busy_s=0.4, outputs_s=0.1),
    )
    stats = StepStats(events=750, running_s=1.0, workers=workers)
    found = shares(stats, 1.5)
    assert found == pytest.approx(
        {
            "ns/event": 2e6,
            "work, ns/event": 1e9 / 750,
            "alone %": 40.0 / 3.0,
            "idle %": 40.0,
            "undone %": 25.0,
            "lost claims/1000": 4.0,
        }
    )


@pytest.mark.parametrize(("option", "value"), [("rows", "Z"), ("loads", "night")])
def test_what_there_is_not_is_refused(option, value):
    with pytest.raises(CommandError, match=f"--{option}: no '{value}'"):
        ProfileExperiment(**{option: (value,)}).groups()


def test_a_small_one_runs_to_its_end(tmp_path):
    small = ProfileExperiment(
        rows=("A",), loads=("uniform",), cells=64, event_us=1.0, threads=(2,), repeats=1, quick=True,
        output=tmp_path / "profile",
    )  # fmt: skip
    assert small.main() == 0
