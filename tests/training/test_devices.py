"""Tensors are where the configuration says; a GPU that is not there is refused."""

from __future__ import annotations

import pytest
import torch

from seer_env.training.checkpoints import Progress
from seer_env.training.config import ConfigError, TrainConfig, load_config
from seer_env.training.devices import open_device
from seer_env.training.trainer import one_update, set_up

FLOCK = {"env": "flock_v0", "world": {"n_agents": 12}, "copies": 2, "rollout_steps": 4, "hidden": (8,)}


@pytest.mark.parametrize("more", [{}, {"ring": 2}, {"staleness": 2}, {"env": "battle_v0"}], ids=str)
def test_every_tensor_is_made_on_a_device_that_is_named(more):
    """On the device `meta`, which unnamed ones go to here, nothing can be computed together with others."""
    learner, rollouts = set_up(TrainConfig(**FLOCK | more))
    with torch.device("meta"):
        rollouts.reset(0)
        for _ in range(4):
            one_update(learner, rollouts, Progress())
        rollouts.close()


def test_cuda_without_a_gpu_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match="torch finds no GPU here; set device to cpu"):
        open_device(TrainConfig(device="cuda"))


def test_an_unknown_device_is_refused_by_name(tmp_path):
    (tmp_path / "a.yaml").write_text("device: tpu\n")
    with pytest.raises(ConfigError, match="device"):
        load_config(tmp_path / "a.yaml")
