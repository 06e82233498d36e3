"""`seer-env bench pcs`: what it runs and promises."""

from __future__ import annotations

import pytest
from made_up import latencies, verdicts

from seer_env.bench.experiment import Contender
from seer_env.bench.pcs import SYSTEMS, PcsExperiment
from seer_env.commands.output import CommandError


def test_all_systems_meet_both_loads_on_two_threads():
    hot, even = PcsExperiment().groups()
    assert (hot.name, even.name) == ("hot spot", "uniform")
    assert hot.facts == {"cells": 3600} == even.facts


def test_the_hot_spots_claims_are_those_of_the_paper():
    claims = PcsExperiment().claims(latencies("hot spot", seer=50.0, ross_t=80.0, nbse=60.0, root_sim=200.0))
    assert verdicts(claims) == [(37.5, True), (16.667, False), (75.0, True)]
    assert [claim.limit for claim in claims] == [30.0, 20.0, 65.0]


@pytest.mark.parametrize(
    ("seer", "above", "holds"), [(102.0, 2.0, True), (90.0, -10.0, True), (104.0, 4.0, False)]
)
def test_under_a_uniform_load_seer_may_be_little_slower_than_ross_t(seer, above, holds):
    claims = PcsExperiment().claims(latencies("uniform", seer=seer, ross_t=100.0))
    assert verdicts(claims) == [(above, holds)]


def test_every_system_is_set_beside_seer():
    experiment = PcsExperiment()
    results = latencies("hot spot", seer=50.0, nbse=60.0)
    found = experiment.derived(results, experiment.groups()[0], Contender("nbse", 2))
    assert found["seer below it by %"] == pytest.approx(100 / 6)


def test_a_number_of_cells_is_asked_for():
    with pytest.raises(CommandError, match="--cells 0"):
        PcsExperiment(cells=0).groups()


def test_a_small_one_runs_to_its_end(tmp_path):
    small = PcsExperiment(cells=16, event_us=2.0, seconds=0.002, repeats=1, output=tmp_path / "p")
    assert small.main() == 0
    measured = (tmp_path / "p" / "measurements.csv").read_text()
    assert all(
        f"{load},{name},2,0,digest," in measured for load in ("hot spot", "uniform") for name in SYSTEMS
    )
