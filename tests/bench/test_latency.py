"""`seer-env bench latency`: what it runs and promises."""

from __future__ import annotations

from made_up import latencies, made_up, verdicts

from seer_env.bench.experiment import Contender
from seer_env.bench.latency import SHARING, LatencyExperiment


def test_the_sizes_are_the_papers():
    names = [group.name for group in LatencyExperiment().groups()]
    assert names[0] == "aircraft, 206 entities"
    assert names[3] == "aircraft, 1426 entities"
    assert {"pcs, 400 entities", "pcs, 4900 entities", "pcs, 100 us", "aircraft, 1 us"} <= set(names)


def test_speed_up_is_each_schedulers_own_time_on_one_thread_by_that_on_two():
    times = {Contender("nbse"): 30.0, Contender("nbse", 2): 20.0, Contender("seer"): 10.0}
    results = made_up({"pcs, 1 us": {c: {"ms/step": ms} for c, ms in times.items()}})
    experiment = LatencyExperiment()
    group = experiment.by_event_time("pcs", 1.0)
    assert experiment.derived(results, group, Contender("nbse", 2)) == {"speed-up": 1.5}
    assert experiment.derived(results, group, Contender("nbse")) == {}


def test_where_entities_change_nobody_but_serial_runs_on_one_thread():
    experiment = LatencyExperiment()
    results = latencies("pcs, 400 entities", serial=10.0, seer=5.0)
    assert experiment.derived(results, experiment.by_size("pcs", 400), Contender("seer", 2)) == {}


def test_seer_must_be_as_fast_as_the_best_of_the_others():
    results = latencies("pcs, 400 entities", serial=1.0, seer=5.0, ross_t=6.0, nbse=8.0, root_sim=7.0)
    claims = LatencyExperiment().claims(results)
    assert verdicts(claims) == [(1.2, True)]
    assert "ross-t" in claims[0].text


def test_a_faster_one_is_told():
    results = latencies("pcs, 400 entities", seer=5.0, ross_t=6.0, nbse=4.0, root_sim=7.0)
    assert verdicts(LatencyExperiment().claims(results)) == [(0.8, False)]


def test_a_small_one_runs_to_its_end(tmp_path):
    small = LatencyExperiment(
        aircraft=(20,), pcs=(16,), event_us=2.0, event_times=(1.0,), seconds=0.002, repeats=1,
        output=tmp_path / "l",
    )  # fmt: skip
    assert small.main() == 0
    contenders = (tmp_path / "l" / "measurements.csv").read_text()
    assert all(f",{name}," in contenders for name in ("serial", *SHARING))
