"""`seer-env bench balance`: what it runs and promises."""

from __future__ import annotations

from made_up import made_up, verdicts

from seer_env.bench.balance import BalanceExperiment
from seer_env.bench.experiment import Contender


def variances(**values: float):
    contenders = {Contender(n.replace("_", "-"), 2): {"variance": v} for n, v in values.items()}
    return made_up({"hot spot": contenders})


def test_the_claim_is_a_ninth_of_ross_t_s_variance():
    claims = BalanceExperiment().claims(variances(ross_t=23.79, seer=2.59))
    assert verdicts(claims) == [(9.185, True)]
    assert verdicts(BalanceExperiment().claims(variances(ross_t=20.0, seer=4.0))) == [(5.0, False)]


def test_every_system_s_variance_is_beside_ross_t_s():
    experiment = BalanceExperiment()
    (group,) = experiment.groups()
    found = experiment.derived(variances(ross_t=20.0, nbse=4.0), group, Contender("nbse", 2))
    assert found == {"ross-t / it": 5.0}


def test_a_small_one_runs_to_its_end(tmp_path):
    small = BalanceExperiment(cells=16, event_us=2.0, seconds=0.002, repeats=1, output=tmp_path / "b")
    assert small.main() == 0
