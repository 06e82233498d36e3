"""`seer-env stpa collect | calibrate | train | evaluate`: what they write, resume and refuse."""

from __future__ import annotations

import json

import numpy as np
import pytest
from stpa_sweeps import made_up

from seer_env.cli import main
from seer_env.stpa.dataset import read_sweeps, write_sweeps
from seer_env.stpa.scheduler_model import Costs


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    worlds = ("phold", "flock")
    write_sweeps(folder, [made_up(i, 2, world=worlds[i % 2], entities=100.0 + i) for i in range(6)])
    return folder


def test_collecting_goes_on_where_it_stopped(tmp_path, monkeypatch):
    measured = []

    def sweep(configuration, candidates, turns):
        measured.append(configuration.index)
        return made_up(configuration.index)

    monkeypatch.setattr("seer_env.stpa.collect.sweep", sweep)
    command = ["stpa", "collect", "--out", str(tmp_path / "d"), "--most-threads", "1", "--configurations"]
    assert main([*command, "2"]) == 0
    assert main([*command, "4"]) == 0
    assert measured == [0, 1, 2, 3]
    assert [s.configuration.index for s in read_sweeps(tmp_path / "d")] == [0, 1, 2, 3]


def test_what_was_measured_before_an_interrupt_is_kept(tmp_path, monkeypatch):
    def sweep(configuration, candidates, turns):
        if configuration.index == 2:
            raise KeyboardInterrupt
        return made_up(configuration.index)

    monkeypatch.setattr("seer_env.stpa.collect.sweep", sweep)
    assert main(["stpa", "collect", "--out", str(tmp_path), "--most-threads", "1"]) != 0
    assert len(read_sweeps(tmp_path)) == 2


def test_no_configuration_is_begun_after_the_time_is_up(tmp_path, capsys):
    assert main(["stpa", "collect", "--out", str(tmp_path), "--seconds", "-1", "--most-threads", "1"]) == 0
    assert "0 of 600" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("collect", "--most-threads", "9999"), "--most-threads 9999"),
        (("collect", "--turns", "1"), "--turns 1"),
        (("calibrate", "--synthesise", "3"), "needs --data"),
        (("calibrate", "--data", "nowhere"), "no sweeps in nowhere"),
        (("train", "--data", "nowhere"), "no sweeps in nowhere"),
    ],
)
def test_what_cannot_be_done_is_named(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    most = ("--most-threads", "1") if arguments[1] == "--turns" else ()
    assert main(["stpa", *arguments, *most]) == 1
    assert message in capsys.readouterr().err


def test_simulated_sweeps_are_made_from_costs_that_were_measured_earlier(data, tmp_path, capsys):
    costs = tmp_path / "costs.json"
    measured = Costs(5.0, 30.0, 3e3, 5e3, 6e3, 1e3, 1.5e3, 46e3, 3e6, 0.1)
    costs.write_text(json.dumps({"costs": measured._asdict()}))
    out = tmp_path / "simulated"
    command = ["stpa", "calibrate", "--costs", str(costs), "--data", str(data), "--out", str(out)]
    assert main([*command, "--synthesise", "3"]) == 0
    assert len(read_sweeps(out)) == 3
    assert all(s.simulated for s in read_sweeps(out))
    assert "beside 6 real sweeps" in capsys.readouterr().out


def test_a_file_that_holds_no_costs_is_refused(tmp_path, capsys):
    (tmp_path / "x.json").write_text("[]")
    assert main(["stpa", "calibrate", "--costs", str(tmp_path / "x.json")]) == 1
    assert "give what --json wrote" in capsys.readouterr().err


def test_this_machines_costs_are_plausible():
    from seer_env.machine import effective_cpus
    from seer_env.stpa.calibrate import calibrate

    costs = calibrate(effective_cpus())
    assert all(np.isfinite(costs))
    assert min(costs) >= 0.0
    assert 0.1 < costs.claim < 10_000.0, "a compare-and-swap takes nanoseconds"
    assert costs.spin > costs.claim


def test_training_and_evaluating_by_the_command_line(data, tmp_path, monkeypatch, capsys):
    for library in ("torch", "xgboost", "sklearn"):
        pytest.importorskip(library, reason="training needs the extra `stpa`")
    from seer_env.stpa.predictor import Predictor
    from seer_env.stpa.training import fit

    monkeypatch.setattr(fit.Options, "__init__", lambda self: object.__setattr__(self, "steps", 1))
    assert main(["stpa", "train", "--data", str(data), "--out", str(tmp_path / "model")]) == 0
    sweep = made_up(3, 2)
    assert Predictor(tmp_path / "model")(sweep.trace, sweep.static).threads >= 1.0
    rows = tmp_path / "rows.json"
    assert main(["stpa", "evaluate", "--data", str(data), "--seeds", "1", "--json", str(rows)]) == 0
    tables = json.loads(rows.read_text())["tables"]
    assert set(tables) == {"real: configurations", "real: range (most events per step)", "real: worlds"}
    printed = capsys.readouterr().out
    assert "XGBoost on MAE" in printed
    assert "oracle" in printed
