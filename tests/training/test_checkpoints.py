"""Checkpoints: whole or not at all, and refused by name where they are damaged or of something else."""

from __future__ import annotations

import dataclasses
import errno
import json
import os

import pytest
from gymnasium import spaces
from training_runs import FLOCK, files, progress_of

from seer_env.training import trainer
from seer_env.training.checkpoints import CheckpointError, find_checkpoint, load_actor, restore
from seer_env.training.networks import Actor
from seer_env.training.trainer import set_up, train


def test_the_last_two_checkpoints_stay(tmp_path):
    """Whoever reads the last one while the next is written can finish."""
    train(dataclasses.replace(FLOCK, run=tmp_path, checkpoint_every=1))
    names = sorted(path.name for path in tmp_path.glob("checkpoint*"))
    assert names == ["checkpoint_000003", "checkpoint_000004"]
    assert find_checkpoint(tmp_path).name == "checkpoint_000004"
    assert find_checkpoint(tmp_path / "checkpoint_000003").name == "checkpoint_000003"


@pytest.mark.parametrize(("every", "saved"), [(1, [1, 2, 3, 4]), (2, [2, 4]), (3, [3, 4])])
def test_a_checkpoint_is_written_every_so_many_updates_and_once_at_the_end(
    tmp_path, monkeypatch, every, saved
):
    written = []
    monkeypatch.setattr(trainer, "save_checkpoint", lambda *given: written.append(given[-1].updates))
    train(dataclasses.replace(FLOCK, run=tmp_path, checkpoint_every=every))
    assert written == saved


@pytest.mark.parametrize("name", ["model.safetensors", "state.safetensors", "state.json"])
def test_a_damaged_checkpoint_is_refused_by_name(tmp_path, name):
    config = dataclasses.replace(FLOCK, updates=1, run=tmp_path)
    train(config)
    path = find_checkpoint(tmp_path) / name
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(CheckpointError, match=name):
        train(config, resume=find_checkpoint(tmp_path))


WRONG_COUNTERS = (
    {"updates": "1"}, {"updates": 0.5}, {"updates": -1}, {"decisions": None}, {"seconds": "x"}
)  # fmt: skip


@pytest.mark.parametrize("counters", WRONG_COUNTERS, ids=str)
def test_counters_that_count_nothing_are_refused(tmp_path, counters):
    train(dataclasses.replace(FLOCK, updates=1, run=tmp_path))
    path = find_checkpoint(tmp_path) / "state.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | counters))
    with pytest.raises(CheckpointError, match=r"state\.json: damaged"):
        train(dataclasses.replace(FLOCK, run=tmp_path), resume=find_checkpoint(tmp_path))


def test_counters_that_are_missing_are_refused(tmp_path):
    train(dataclasses.replace(FLOCK, updates=1, run=tmp_path))
    (find_checkpoint(tmp_path) / "state.json").write_text('{"format": 3}')
    with pytest.raises(CheckpointError, match=r"state\.json: damaged: KeyError\('updates'\)"):
        train(dataclasses.replace(FLOCK, run=tmp_path), resume=find_checkpoint(tmp_path))


@pytest.mark.parametrize("engine", ["local", "process"])
def test_a_worlds_file_that_is_missing_is_named(tmp_path, engine):
    config = dataclasses.replace(FLOCK, updates=1, run=tmp_path, engine=engine)
    train(config)
    (find_checkpoint(tmp_path) / "world_0.npz").unlink()
    with pytest.raises(CheckpointError, match=r"a file is missing or cannot be read: .*world_0\.npz"):
        train(config, resume=find_checkpoint(tmp_path))


@pytest.mark.parametrize("rows", [b"update\nabc\n", b"update\n\xff\n", b"update,foo\n1,2\n", b"no\n1\n"])
def test_figures_that_are_damaged_are_named(tmp_path, rows):
    config = dataclasses.replace(FLOCK, updates=1, run=tmp_path)
    train(config)
    (tmp_path / "progress.csv").write_bytes(rows)
    settings = (tmp_path / "config.yaml").read_bytes()
    with pytest.raises(CheckpointError, match=r"progress\.csv: damaged"):
        train(dataclasses.replace(config, updates=2), resume=find_checkpoint(tmp_path))
    assert (tmp_path / "config.yaml").read_bytes() == settings


def test_going_on_from_an_earlier_checkpoint_keeps_the_later_one_until_the_next_is_saved(tmp_path):
    config = dataclasses.replace(FLOCK, updates=2, run=tmp_path, checkpoint_every=1)
    train(config)
    (tmp_path / "progress.csv").write_bytes(b"update\nabc\n")
    with pytest.raises(CheckpointError, match="damaged"):
        train(config, resume=tmp_path / "checkpoint_000001")
    assert find_checkpoint(tmp_path).name == "checkpoint_000002"


def test_a_checkpoint_after_an_earlier_one_removes_those_of_the_branch_that_was_left(tmp_path):
    """Else the next `--resume` of the run's folder would go on from there."""
    config = dataclasses.replace(FLOCK, updates=2, run=tmp_path, checkpoint_every=1)
    train(config)
    train(dataclasses.replace(config, updates=1, checkpoint_every=9), resume=tmp_path / "checkpoint_000001")
    assert find_checkpoint(tmp_path).name == "checkpoint_000001"


def test_a_checkpoint_of_other_networks_is_refused(tmp_path):
    train(dataclasses.replace(FLOCK, updates=1, run=tmp_path))
    folder = find_checkpoint(tmp_path)
    other = Actor(9, spaces.Box(-1.0, 1.0, (2,)), FLOCK.hidden)
    with pytest.raises(CheckpointError, match=r"not of these networks: size mismatch for norm\.mean"):
        load_actor(folder, other)


@pytest.mark.parametrize(
    "other",
    [
        {"workers": 2},
        {"copies": 3},
        {"ring": 2},
        {"staleness": 1},
        {"micro_batches": 2},
        {"env": "epidemic_v0"},
        {"seed": 9},
        {"log_std": -1.0},
    ],
    ids=str,
)
def test_what_a_checkpoint_is_made_of_cannot_change_when_a_run_goes_on(tmp_path, other):
    train(dataclasses.replace(FLOCK, updates=1, run=tmp_path))
    ((name, value),) = other.items()
    before = getattr(FLOCK, name)
    with pytest.raises(
        CheckpointError, match=f"of {name}={before!r}, and cannot go on with {name}={value!r}"
    ):
        train(dataclasses.replace(FLOCK, run=tmp_path, **other), resume=find_checkpoint(tmp_path))


def test_a_run_goes_on_where_its_generators_are(tmp_path):
    train(dataclasses.replace(FLOCK, updates=1, run=tmp_path))
    learner, rollouts = set_up(FLOCK)
    learner.config = dataclasses.replace(FLOCK, device="cuda")
    with pytest.raises(CheckpointError, match="of device='cpu', and cannot go on with device='cuda'"):
        restore(find_checkpoint(tmp_path), learner, rollouts)


def test_a_run_does_not_go_on_to_fewer_updates_than_it_has_had(tmp_path):
    train(dataclasses.replace(FLOCK, updates=2, run=tmp_path))
    with pytest.raises(CheckpointError, match="has had 2 updates, more than --updates 1"):
        train(dataclasses.replace(FLOCK, updates=1, run=tmp_path), resume=find_checkpoint(tmp_path))


def test_a_full_disk_leaves_the_checkpoint_before(tmp_path, monkeypatch):
    config = dataclasses.replace(FLOCK, updates=2, run=tmp_path)
    train(config)
    expected = files(tmp_path)

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("seer_env.training.checkpoints.save_file", full)
        with pytest.raises(CheckpointError, match=r"cannot be written: .*No space left"):
            train(dataclasses.replace(config, updates=4), resume=find_checkpoint(tmp_path))
    assert files(tmp_path) == expected
    assert train(dataclasses.replace(config, updates=3), resume=find_checkpoint(tmp_path)).updates == 3
    assert [int(row["update"]) for row in progress_of(tmp_path)] == [1, 2, 3]


def test_a_run_whose_folder_cannot_be_made_is_refused_by_name(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match=r"file/run: cannot be written: .*Not a directory"):
        train(dataclasses.replace(FLOCK, run=tmp_path / "file" / "run"))
