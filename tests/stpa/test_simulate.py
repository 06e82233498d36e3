"""The model of the scheduler: its limits that can be worked out by hand, and what simulated sweeps are."""

from __future__ import annotations

import numpy as np
import pytest
from stpa_sweeps import made_up

from seer_env.stpa.dataset import SERIAL, Profile
from seer_env.stpa.features import METRICS
from seer_env.stpa.scheduler_model import BUSY, COUNTS, ITEMS, Costs, step_ns
from seer_env.stpa.simulate import FIRST_INDEX, Step, candidate_ns, model_error, step_of, synthesise

FREE = Costs(*(0.0 for _ in Costs._fields[:-3]), spin=50_000.0, time_slice=3e6, inflation=0.0)
REAL = Costs(5.0, 30.0, 3000.0, 5000.0, 6000.0, 1000.0, 1500.0, 46_000.0, 3e6, 0.1)


def step(*phases):
    items, cost = zip(*phases)
    return Step(np.array(items, np.int64), np.array(cost, float), float(sum(items)), len(items))


def simulated(some, workers, cores, costs):
    counts = np.zeros((len(COUNTS), workers))
    ns = step_ns(some.items, some.cost, workers, cores, costs, np.random.default_rng(0), counts)
    return ns, counts


@pytest.mark.parametrize("workers", [2, 4, 8])
def test_without_overheads_work_is_divided_evenly(workers):
    some = step((6400, 1000.0), (3200, 1000.0))
    ns, counts = simulated(some, workers, cores=8, costs=FREE)
    assert ns == pytest.approx(some.serial_ns / workers, rel=0.1)
    assert counts[ITEMS].sum() == 9600
    assert counts[BUSY].sum() == pytest.approx(some.serial_ns)


def test_more_workers_than_cores_are_no_faster():
    some = step((6400, 1000.0))
    ns, _ = simulated(some, 8, cores=2, costs=FREE)
    assert ns >= some.serial_ns / 2.0 * 0.999


def test_a_phase_of_one_item_cannot_be_divided():
    some = step((1, 1e6))
    ns, _ = simulated(some, 4, cores=4, costs=REAL)
    assert ns >= 1e6


def test_what_is_too_small_to_share_is_done_by_one_worker():
    some = step(*[(10, 100.0)] * 20)
    ns, counts = simulated(some, 4, cores=4, costs=FREE)
    assert ns == pytest.approx(some.serial_ns)
    assert counts[ITEMS].tolist() == [200.0, 0.0, 0.0, 0.0]


def test_inflation_makes_shared_items_dearer():
    some = step((6400, 1000.0))
    plain, _ = simulated(some, 2, 2, FREE)
    dearer, counts = simulated(some, 2, 2, FREE._replace(inflation=0.5))
    assert dearer == pytest.approx(1.5 * plain, rel=0.05)
    assert counts[BUSY].sum() == pytest.approx(1.5 * some.serial_ns, rel=0.05)


@pytest.mark.parametrize("workers", [2, 3, 7])
@pytest.mark.parametrize("cores", [1, 2, 4])
def test_every_item_is_done_once_whatever_the_costs(workers, cores):
    some = step((500, 900.0), (3, 8000.0), (1, 50.0), (700, 300.0))
    ns, counts = simulated(some, workers, cores, REAL)
    assert counts[ITEMS].sum() == 1204
    assert ns >= some.serial_ns / min(workers, cores)


def test_sharing_that_loses_is_given_up():
    some = step(*[(4, 4000.0)] * 30)  # 16 microseconds a phase, and waking takes longer
    ns, _ = candidate_ns(some, 8, 8, REAL._replace(latency=1e6, spin=10.0), np.random.default_rng(0))
    assert ns <= 1.03 * some.serial_ns


def test_the_phases_of_a_measured_step_last_as_long_as_it_did():
    sweep = made_up()
    static = type(sweep.static)(**{**vars(sweep.static), "agents": 100.0, "entities": 100.0})
    found = step_of(Profile(events=500.0, rounds=4.0, window_s=5e-4, outputs_s=2e-4), static)
    assert found.items.tolist() == [100, 100, 100, 100, 100, 100]
    assert found.serial_ns == pytest.approx(7e5, rel=1e-6)
    assert found.cost[1:5] == pytest.approx([1000.0] * 4), "400 events in rounds, four rounds, 100 entities"


def test_simulated_sweeps_are_marked_and_mask_what_only_a_system_knows():
    real = [made_up(i) for i in range(3)]
    for sweep in synthesise(real, REAL, 6, seed=1):
        assert sweep.simulated
        assert sweep.configuration.index >= FIRST_INDEX
        assert sweep.configuration.world == "simulated phold"
        assert sweep.candidates[0] == SERIAL
        assert max(sweep.candidates) == 2 * sweep.cpus
        for name in ("run_share", "delay_share", "voluntary", "resident_bytes"):
            assert np.isnan(sweep.trace[METRICS.index(name)]).all()
        assert np.isfinite(sweep.trace[METRICS.index("worker_idle")]).all()


def test_simulation_is_reproducible():
    real = [made_up(i) for i in range(3)]
    one, two = (synthesise(real, REAL, 4, seed=5) for _ in range(2))
    assert all((a.seconds == b.seconds).all() for a, b in zip(one, two))


def test_the_models_error_is_that_of_its_ratios():
    from dataclasses import replace

    from seer_env.stpa.simulate import _model_ratio

    sweep = made_up(cpus=2)
    exact = {k: _model_ratio(sweep, k, REAL) for k in sweep.candidates if k > 1}
    times = np.array([1.0 if k <= 1 else exact[k] for k in sweep.candidates])
    right = replace(sweep, seconds=np.tile(times, (2, 1)))
    assert all(error < 1e-6 for error in model_error([right], REAL).values())
    halved = replace(
        sweep, seconds=np.tile(np.where(np.array(sweep.candidates) > 1, times / 2, times), (2, 1))
    )
    assert model_error([halved], REAL) == pytest.approx({k: 1.0 for k in exact})
