"""Training curves: runs of one setting together, by hand-made figures; and the command that draws them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from seer_env.cli import main
from seer_env.commands.output import CommandError
from seer_env.training.config import TrainConfig, dump_config
from seer_env.training.curves import read_curves


@pytest.fixture
def make_run(tmp_path):
    """Writes a run's folder: `rows` are its updates' (decisions, seconds, reward)."""

    def make(name: str, rows, **settings) -> Path:
        run = tmp_path / name
        run.mkdir()
        (run / "config.yaml").write_text(dump_config(TrainConfig(run=run, **settings)), encoding="utf-8")
        lines = [f"{i},{d},{s},{r}" for i, (d, s, r) in enumerate(rows, start=1)]
        head = "update,charts/decisions,charts/seconds,charts/reward"
        (run / "progress.csv").write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
        return run

    return make


def test_seeds_are_one_curve_with_a_band_from_the_lowest_to_the_highest(make_run):
    runs = [
        make_run(f"run-{seed}", [(10, 60, reward), (20, 120, 2 * reward)], seed=seed)
        for seed, reward in ((1, 1.0), (2, 2.0), (3, 6.0))
    ]
    (curve,) = read_curves(runs, "reward", "decisions")
    assert (curve.label, curve.seeds, curve.x.tolist()) == ("", 3, [10.0, 20.0])
    assert (curve.mean.tolist(), curve.low.tolist(), curve.high.tolist()) == ([3, 6], [1, 2], [6, 12])


def test_runs_are_compared_where_all_have_been(make_run):
    """From the later beginning to the earlier end, at the points of both; in between they are straight:
    after 5 minutes the slow one has 10 and 1.5 / 6.5 of the way to 20."""
    runs = [
        make_run("slow", [(1, 60, 0.0), (2, 210, 10.0), (3, 600, 20.0)], seed=1),
        make_run("fast", [(1, 120, 4.0), (2, 300, 8.0)], seed=2),
    ]
    (curve,) = read_curves(runs, "charts/reward", "minutes")
    assert curve.x.tolist() == [2.0, 3.5, 5.0]
    assert curve.low == pytest.approx([4.0, 6.0, 8.0])
    assert curve.high == pytest.approx([4.0, 10.0, 10 + 10 * 1.5 / 6.5])


def test_other_settings_are_another_curve_that_is_named_by_them(make_run):
    rows = [(1, 1, 1.0)]
    runs = [
        make_run("a", rows, seed=1),
        make_run("b", rows, seed=1, clip=0.3),
        make_run("c", rows, seed=2, clip=0.3),
    ]
    assert [(c.label, c.seeds) for c in read_curves(runs, "reward", "updates")] == [
        ("clip 0.2", 1),
        ("clip 0.3", 2),
    ]


def test_a_seed_counts_once(make_run, tmp_path):
    run, again = (make_run(name, [(1, 1, 1.0)], seed=1) for name in ("run", "again"))
    (tmp_path / "link").symlink_to(run)
    for other in (run, tmp_path / "link", again):
        with pytest.raises(CommandError, match=r"run and .*: seed 1 of the same settings; name one"):
            read_curves([run, other], "reward", "updates")


def test_a_point_may_be_the_mean_of_several_updates(make_run):
    run = make_run("run", [(i, i, float(i)) for i in range(1, 6)])
    (curve,) = read_curves([run], "reward", "updates", smooth=3)
    assert curve.mean == pytest.approx([1.0, 1.5, 2.0, 3.0, 4.0])


def test_updates_without_the_figure_are_left_out(make_run):
    run = make_run("run", [(1, 1, ""), (2, 2, 5.0), (3, 3, "")])
    (curve,) = read_curves([run], "reward", "updates")
    assert (curve.x.tolist(), curve.mean.tolist()) == ([2.0], [5.0])


def test_the_command_draws_curves_and_baselines(make_run, tmp_path, capsys):
    runs = [str(make_run(f"run-{seed}", [(1, 1, 1.0), (2, 2, 4.0 + seed)], seed=seed)) for seed in (0, 1)]
    policies = {"trained": {"reward": [4.0, 3.9, 4.1]}, "guard": {"reward": [3.0, 2.5, 3.5]}}
    (tmp_path / "found.json").write_text(json.dumps({"policies": policies}))
    lines = "--baseline", "random=0.5", "--evaluation", str(tmp_path / "found.json")
    assert main(["curves", *runs, *lines, "--output", str(tmp_path / "x.png")]) == 0
    with Image.open(tmp_path / "x.png") as picture:
        assert len(np.unique(np.asarray(picture.convert("RGB")).reshape(-1, 3), axis=0)) > 10
    assert {"4.5", "4", "5"} <= set(capsys.readouterr().out.split()), "mean, lowest and highest at the end"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--figure", "speed"], "no figure 'speed'; there are charts/decisions"),
        (["--output", "x.jpg"], "x.jpg: a picture is a .png file"),
        (["--baseline", "guard"], "--baseline 'guard': expected NAME=VALUE"),
        (["--smooth", "0"], "--smooth 0: at least 1"),
        (["--evaluation", "nowhere.json"], "nowhere.json"),
        (["--figure", "entropy", "--evaluation", "x.json"], "but no entropy"),
    ],
)
def test_what_cannot_be_drawn_is_refused_by_name(make_run, options, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = make_run("run", [(1, 1, 1.0)])
    assert main(["curves", str(run), *options]) == 1
    assert message in " ".join(capsys.readouterr().err.split())


def test_runs_that_were_never_at_the_same_point_are_named(make_run):
    runs = [make_run("early", [(1, 1, 1.0)], seed=1), make_run("late", [(2, 2, 1.0)], seed=2)]
    with pytest.raises(CommandError, match=r"early.*late: they have no part of the way in common"):
        read_curves(runs, "reward", "decisions")


def test_a_folder_that_is_no_run_is_named(make_run, tmp_path):
    run = make_run("run", [])
    with pytest.raises(CommandError, match=r"progress\.csv: no figure 'reward'; it has no update yet"):
        read_curves([run], "reward", "updates")
    with pytest.raises(CommandError, match="nowhere"):
        read_curves([tmp_path / "nowhere"], "reward", "updates")


def test_the_help_teaches(capsys):
    with pytest.raises(SystemExit):
        main(["curves", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "seer-env curves runs/pcs-1 runs/pcs-2 runs/pcs-3 --output pcs.png" in shown
