"""Sweeps in files, the ladder, and the plan of what to measure."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from seer_env.stpa.collect import sweep
from seer_env.stpa.dataset import SERIAL, SWEEPS, ladder, read_sweeps, write_sweeps
from seer_env.stpa.features import METRICS
from seer_env.stpa.plan import WORLDS, build, configuration


def test_the_ladder_is_the_projects():
    assert ladder(12) == (1, 2, 3, 4, 6, 8, 12)
    assert ladder(1) == (1,)
    assert ladder(11) == (1, 2, 3, 4, 6, 8)


def test_the_plan_depends_on_the_index_alone():
    assert configuration(7) == configuration(7)
    assert configuration(7) != configuration(17)
    assert {configuration(i).world for i in range(10)} == set(WORLDS)


@pytest.mark.parametrize("index", [0, 1, 3, 5, 7, 9])
def test_what_is_planned_can_be_built(index):
    model = build(configuration(index))
    model.validate()
    assert max(model.n_agents, model.n_entities) >= configuration(index).size


@pytest.fixture(scope="module")
def measured():
    small = next(c for c in map(configuration, range(0, 100, 2)) if c.size < 200)
    return sweep(small, (SERIAL, 1, 2), turns=2)


def test_a_sweep_times_every_candidate_in_every_turn(measured):
    assert measured.seconds.shape == (2, 3)
    assert (measured.seconds > 0.0).all()
    assert not measured.simulated
    assert measured.profile.events > 0
    assert measured.profile.rounds > 0
    assert measured.times().shape == (3,)


def test_sweeps_survive_their_files(measured, tmp_path):
    write_sweeps(tmp_path, [measured])
    (back,) = read_sweeps(tmp_path)
    assert back.configuration == measured.configuration
    assert back.candidates == measured.candidates
    assert vars(back.static) == pytest.approx(vars(measured.static), rel=1e-5)
    np.testing.assert_allclose(back.seconds, measured.seconds, rtol=1e-3)
    np.testing.assert_allclose(back.trace, measured.trace, rtol=1e-3)


def test_a_masked_metric_has_no_row_and_comes_back_masked(measured, tmp_path):
    trace = measured.trace.copy()
    trace[METRICS.index("run_share")] = np.nan
    write_sweeps(tmp_path, [type(measured)(**{**vars(measured), "trace": trace})])
    with gzip.open(tmp_path / "traces.csv.gz", "rt") as file:
        assert "run_share" not in file.read()
    (back,) = read_sweeps(tmp_path)
    assert np.isnan(back.trace[METRICS.index("run_share")]).all()


def test_real_and_simulated_rows_are_told_apart_in_the_file(measured, tmp_path):
    simulated = type(measured)(**{**vars(measured), "simulated": True})
    write_sweeps(tmp_path, [simulated])
    with gzip.open(tmp_path / SWEEPS, "rt") as file:
        header, *rows = (line.split(",") for line in file)
    assert {row[header.index("simulated") - len(header)] for row in rows} == {"1"}
    assert read_sweeps(tmp_path)[0].simulated


def test_a_folder_without_data_has_no_sweeps(tmp_path):
    assert read_sweeps(tmp_path) == []
