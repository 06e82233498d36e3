"""Workers that share the worlds: their rollouts are one, and each goes on from its state bit for bit."""

from __future__ import annotations

import dataclasses
import sys

import pytest
import torch
from training_runs import FLOCK, GAMES, files, interrupted_after

from seer_env.training.checkpoints import find_checkpoint
from seer_env.training.config import ConfigError, load_config
from seer_env.training.mappo import TrainingError
from seer_env.training.rollouts import Rollout, Rollouts
from seer_env.training.sources import open_rollouts, open_share
from seer_env.training.trainer import train
from seer_env.training.workers import capture, put_back

TWO = dataclasses.replace(FLOCK, copies=3, workers=2)


def tensors(rollout: Rollout) -> dict[str, bytes]:
    return {name: tensor.numpy().tobytes() for name, tensor in rollout.batch.tensors().items()}


def rolled(rollouts: Rollouts, times: int = 1) -> list[dict[str, bytes]]:
    return [tensors(rollouts.collect()) for _ in range(times)]


def test_rollouts_of_workers_stand_side_by_side():
    networks, both = open_rollouts(TWO)
    shares = [open_share(TWO, index)[1] for index in range(2)]
    for rollouts in (both, *shares):
        rollouts.reset(5)
        rollouts.publish(networks, 0)
    whole, parts = both.collect(), [share.collect() for share in shares]
    for name, tensor in whole.batch.tensors().items():
        assert torch.equal(tensor, torch.cat([part.batch.tensors()[name] for part in parts], dim=1))
    assert [part.batch.active.shape[1] for part in parts] == [1, 2]
    assert whole.earned == pytest.approx(sum(part.earned for part in parts))
    for rollouts in (both, *shares):
        rollouts.close()


def test_the_worlds_do_not_depend_on_the_workers():
    first = []
    for workers in (1, 2, 3):
        _, rollouts = open_rollouts(dataclasses.replace(TWO, workers=workers))
        rollouts.reset(5)
        first.append(rollouts.collect().batch.observations[0])
        rollouts.close()
    assert torch.equal(first[0], first[1])
    assert torch.equal(first[0], first[2])


@pytest.mark.parametrize("settings", [{}, {"ring": 2}, {"micro_batches": 2}])
def test_a_worker_that_is_put_back_collects_the_same_again(settings):
    config = dataclasses.replace(FLOCK, copies=2, **settings)
    _, worker = open_share(config, 0)
    worker.reset(5)
    rolled(worker, 1)  # with two parts: the second one's turn is next
    state = capture(worker)
    expected = rolled(worker, 3)
    _, other = open_share(config, 0)
    for again in (worker, other):
        put_back(again, state, seed=0)
        assert rolled(again, 3) == expected
    worker.close()
    other.close()


def test_a_state_does_not_change_with_its_worker():
    _, worker = open_share(FLOCK, 0)
    worker.reset(5)
    rolled(worker)
    state = capture(worker)
    before = {name: tensor.clone() for name, tensor in state.tensors.items()}
    rolled(worker)
    assert all(torch.equal(before[name], tensor) for name, tensor in state.tensors.items())
    worker.close()


def test_a_run_of_workers_goes_on_bit_for_bit(tmp_path, monkeypatch):
    whole, parts = (dataclasses.replace(TWO, run=tmp_path / name) for name in ("whole", "parts"))
    train(whole)
    with monkeypatch.context() as patch:
        interrupted_after(2, patch)
        train(parts)
    train(parts, resume=find_checkpoint(parts.run))
    assert {"worker_0/world_0.npz", "worker_1/world_1.npz", "worker_1/world_2.npz"} <= files(whole.run).keys()
    assert files(whole.run) == files(parts.run)


def test_a_reward_that_is_not_a_number_names_the_world_by_its_number_in_the_run():
    config = dataclasses.replace(TWO, env=f"{GAMES}:Endless", world={"broken": "berta"})
    _, second = open_share(config, 1)
    second.reset(5)
    with pytest.raises(TrainingError, match="reward of agent 'berta' in world 1 is not finite in step 3"):
        second.collect()


def test_more_workers_than_worlds_are_refused():
    with pytest.raises(ConfigError, match="workers=5 shares need at least 5 copies, got 3"):
        dataclasses.replace(TWO, workers=5)


def test_an_engine_that_does_not_exist_is_refused_by_name(tmp_path):
    (tmp_path / "config.yaml").write_text("engine: rya", encoding="utf-8")
    with pytest.raises(ConfigError, match="engine must be one of local, process, ray, got 'rya'"):
        load_config(tmp_path / "config.yaml")


def test_without_ray_its_engine_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r'pip install "seer-env\[ray\]"'):
        open_rollouts(dataclasses.replace(TWO, engine="ray"))
