"""`seer-env bench ablation`: what it runs and promises."""

from __future__ import annotations

from made_up import made_up, verdicts

from seer_env.bench.ablation import AblationExperiment

ROSS, FIXED, CHOSEN = AblationExperiment().contenders


def results(ross: float, fixed: float, chosen: float):
    times = {ROSS: ross, FIXED: fixed, CHOSEN: chosen}
    return made_up({"pcs_v0, 400": {c: {"ms/step": ms} for c, ms in times.items()}})


def test_both_worlds_are_there_at_their_sizes():
    names = [group.name for group in AblationExperiment(aircraft=(20, 800), pcs=(400,)).groups()]
    assert names == ["aircraft_v0, 20", "aircraft_v0, 800", "pcs_v0, 400"]


def test_fixed_threads_are_as_many_as_there_are_cores():
    assert (ROSS.name, FIXED.name, CHOSEN.name) == ("ross-t", "seer", "seer, STPA")
    assert ROSS.threads == FIXED.threads == CHOSEN.threads


def test_choosing_threads_must_lose_to_neither():
    assert verdicts(AblationExperiment().claims(results(10.0, 8.0, 5.0))) == [(2.0, True), (1.6, True)]
    assert verdicts(AblationExperiment().claims(results(8.0, 8.0, 10.0))) == [(0.8, False), (0.8, False)]


def test_gains_are_beside_both():
    experiment = AblationExperiment(aircraft=(), pcs=())
    group = AblationExperiment(pcs=(400,)).groups()[-1]
    found = experiment.derived(results(10.0, 8.0, 5.0), group, CHOSEN)
    assert found == {"beside ross-t": 2.0, "beside fixed": 1.6}


def test_a_small_one_runs_to_its_end(tmp_path):
    small = AblationExperiment(aircraft=(20,), pcs=(16,), seconds=0.002, repeats=1, output=tmp_path / "a")
    assert small.main() == 0
