"""`seer-env bench throughput`: what it runs and promises."""

from __future__ import annotations

import pytest
from made_up import made_up, verdicts

from seer_env.bench.experiment import Contender
from seer_env.bench.throughput import ThroughputExperiment
from seer_env.commands.output import CommandError

ROSS, FIXED, CHOSEN = ThroughputExperiment().contenders


def results(ross: float, fixed: float, chosen: float):
    times = {ROSS: ross, FIXED: fixed, CHOSEN: chosen}
    return made_up({"400 aircraft, 100 us": {c: {"ms/step": ms} for c, ms in times.items()}})


def test_every_size_is_measured_at_every_event_time():
    names = [
        group.name for group in ThroughputExperiment(aircraft=(400, 800), event_us=(100.0, 200.0)).groups()
    ]
    assert names == ["400 aircraft, 100 us", "400 aircraft, 200 us", "800 aircraft, 100 us",
                     "800 aircraft, 200 us"]  # fmt: skip


def test_the_contenders_are_static_binding_fixed_threads_and_chosen_ones():
    assert ThroughputExperiment(threads=4).contenders[:2] == (Contender("ross-t", 4), Contender("seer", 4))
    assert CHOSEN.name == "seer, STPA"


def test_no_event_crosses_between_aircraft():
    group = ThroughputExperiment().group(20, 100.0)
    world = group.prepare.args[0]
    assert world.arguments == {"n_agents": 20, "communication": False}


def test_choosing_threads_must_lose_to_neither():
    claims = ThroughputExperiment().claims(results(ross=100.0, fixed=80.0, chosen=79.0))
    assert verdicts(claims) == [(1.266, True), (1.013, True)]


def test_losing_to_both_is_told():
    claims = ThroughputExperiment().claims(results(ross=100.0, fixed=80.0, chosen=125.0))
    assert verdicts(claims) == [(0.8, False), (0.64, False)]


def test_gains_are_beside_ross_t():
    experiment = ThroughputExperiment()
    group = experiment.group(400, 100.0)
    found = experiment.derived(results(ross=100.0, fixed=80.0, chosen=50.0), group, CHOSEN)
    assert found == {"beside ross-t": 2.0}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"event_us": (0.0,)}, "--event-us 0"),
        ({"aircraft": ()}, "--aircraft without a value"),
        ({"threads": 0}, "--threads 0"),
        ({"seconds": float("nan")}, "--seconds nan"),
    ],
)
def test_impossible_options_are_refused_by_name(options, said):
    with pytest.raises(CommandError, match=said):
        ThroughputExperiment(**options).groups()


def test_a_small_one_runs_to_its_end(tmp_path):
    small = ThroughputExperiment(
        aircraft=(20,), event_us=(2.0, 4.0), seconds=0.002, repeats=1, output=tmp_path / "t"
    )
    assert small.main() == 0
    assert (tmp_path / "t" / "plot.png").exists()
