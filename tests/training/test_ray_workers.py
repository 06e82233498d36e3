"""Workers as Ray actors, in a cluster of two on this machine: the same run, whoever dies on the way."""

from __future__ import annotations

import dataclasses
import time

import pytest
from training_runs import FLOCK, GAMES, files, interrupted_after

from seer_env.training import trainer
from seer_env.training.checkpoints import find_checkpoint
from seer_env.training.config import ConfigError
from seer_env.training.mappo import TrainingError
from seer_env.training.sources import open_rollouts
from seer_env.training.trainer import train

ray = pytest.importorskip("ray", reason='Ray is an extra: pip install "seer-env[ray]"')
pytestmark = pytest.mark.ray

CPUS = 2
LOCAL = dataclasses.replace(FLOCK, updates=3, workers=2)
RAY = dataclasses.replace(LOCAL, engine="ray")
GAME = {"env": f"{GAMES}:Deadly", "max_cycles": 5}


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.init(num_cpus=CPUS, include_dashboard=False, object_store_memory=100 * 2**20, address="local")
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> dict[str, bytes]:
    """What the run in this process leaves."""
    run = tmp_path_factory.mktemp("local")
    train(dataclasses.replace(LOCAL, run=run))
    return files(run)


def test_a_run_is_the_same_in_processes_of_their_own(undisturbed, tmp_path):
    train(dataclasses.replace(RAY, run=tmp_path))
    assert files(tmp_path) == undisturbed


def test_a_run_is_the_same_if_a_worker_is_killed_between_rollouts(undisturbed, tmp_path, monkeypatch, capsys):
    update = trainer.one_update

    def one_update(learner, rollouts, progress, cores):
        if progress.updates == 1:
            ray.kill(rollouts._actors[1])
        return update(learner, rollouts, progress, cores)

    monkeypatch.setattr(trainer, "one_update", one_update)
    train(dataclasses.replace(RAY, run=tmp_path))
    assert "worker 1 died and is replaced" in capsys.readouterr().err
    assert files(tmp_path) == undisturbed


@pytest.mark.parametrize("overlap", [{}, {"micro_batches": 2, "copies": 4, "staleness": 1}], ids=str)
def test_a_run_is_the_same_if_a_worker_dies_in_the_middle_of_a_rollout(tmp_path, capsys, overlap):
    """Its env kills it in the third step of an episode, once the file is there: in the second rollout."""
    trigger = tmp_path / "trigger"
    config = dataclasses.replace(LOCAL, **GAME, world={"trigger": str(trigger)}, rollout_steps=7, **overlap)
    train(dataclasses.replace(config, run=tmp_path / "local"))
    trigger.touch()
    train(dataclasses.replace(config, engine="ray", run=tmp_path / "ray"))
    assert not trigger.exists(), "it was met"
    assert "died and is replaced" in capsys.readouterr().err
    assert files(tmp_path / "ray") == files(tmp_path / "local")


def test_a_worker_that_dies_again_and_again_stops_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr("seer_env.training.ray_workers.RESTARTS", 1)
    trigger = tmp_path / "trigger"
    trigger.touch()
    config = dataclasses.replace(RAY, **GAME, world={"trigger": str(trigger), "once": False}, run=tmp_path)
    with pytest.raises(TrainingError, match="worker 0 died 2 times in a row: The actor is dead because"):
        train(config)


def test_a_reward_that_is_not_a_number_stops_with_the_agents_name(tmp_path):
    config = dataclasses.replace(RAY, env=f"{GAMES}:Endless", world={"broken": "berta"}, run=tmp_path)
    with pytest.raises(TrainingError, match="reward of agent 'berta' in world 0 is not finite in step 3"):
        train(config)


def test_ctrl_c_saves_frees_the_cluster_and_the_run_goes_on_bit_for_bit(undisturbed, tmp_path, monkeypatch):
    config = dataclasses.replace(RAY, run=tmp_path)
    with monkeypatch.context() as patch:
        interrupted_after(1, patch)
        assert train(config).updates == 1
    deadline = time.monotonic() + 30
    while ray.available_resources().get("CPU") != CPUS:
        assert time.monotonic() < deadline, "its workers are there still"
        time.sleep(0.1)
    train(config, resume=find_checkpoint(tmp_path))
    assert files(tmp_path) == undisturbed


def test_a_run_that_began_here_goes_on_in_the_cluster(undisturbed, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        interrupted_after(1, patch)
        train(dataclasses.replace(LOCAL, run=tmp_path))
    train(dataclasses.replace(RAY, run=tmp_path), resume=find_checkpoint(tmp_path))
    assert files(tmp_path) == undisturbed


def test_more_workers_than_the_cluster_has_cpus_are_refused():
    with pytest.raises(ConfigError, match="workers: 3 need 3 CPUs, and Ray has 2"):
        open_rollouts(dataclasses.replace(RAY, copies=3, workers=3))
