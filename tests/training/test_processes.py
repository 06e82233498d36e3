"""Workers in processes: what they collect is what they collect here, and their end is told."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import signal

import pytest
from training_runs import FLOCK, GAMES, files, interrupted_after

from seer_env.training.checkpoints import find_checkpoint
from seer_env.training.config import ConfigError, TrainConfig
from seer_env.training.mappo import TrainingError
from seer_env.training.sources import open_rollouts
from seer_env.training.trainer import train

PROCESS = dataclasses.replace(FLOCK, copies=3, engine="process")


def test_workers_in_processes_collect_what_they_collect_here():
    collected = []
    for engine in ("local", "process"):
        networks, rollouts = open_rollouts(dataclasses.replace(PROCESS, engine=engine, workers=2))
        rollouts.reset(5)
        rollouts.publish(networks, 3)
        collected.append([rollouts.collect() for _ in range(2)])
        rollouts.close()
    for here, there in zip(*collected):
        there.seconds, there.elapsed_s = here.seconds, here.elapsed_s
        mine, theirs = here.tensors(), there.tensors()
        assert mine.keys() == theirs.keys()
        assert all(mine[name].numpy().tobytes() == theirs[name].numpy().tobytes() for name in mine)


def test_an_interrupted_run_goes_on_in_processes_bit_for_bit(tmp_path, monkeypatch):
    settings = dataclasses.replace(PROCESS, staleness=1, micro_batches=2)
    whole = dataclasses.replace(settings, engine="local", run=tmp_path / "whole")
    parts = dataclasses.replace(settings, run=tmp_path / "parts")
    train(whole)
    with monkeypatch.context() as patch:
        interrupted_after(2, patch)
        assert train(parts).updates == 2
    assert train(parts, resume=find_checkpoint(parts.run)).updates == 4
    assert files(whole.run) == files(parts.run)
    assert multiprocessing.active_children() == []


def test_an_error_in_a_process_is_raised_here(tmp_path):
    config = TrainConfig(
        env=f"{GAMES}:Endless", world={"broken": "berta"}, run=tmp_path, copies=2, engine="process"
    )
    with pytest.raises(TrainingError, match="reward of agent 'berta' in world 0 is not finite in step 3"):
        train(config)


def test_an_error_in_one_of_the_processes_leaves_no_answer_of_another():
    config = TrainConfig(
        env=f"{GAMES}:Endless", world={"broken": "berta", "unlucky": 5}, copies=2, engine="process", workers=2
    )
    networks, rollouts = open_rollouts(config)
    rollouts.publish(networks, 0)
    for _ in range(2):
        rollouts.reset(5)
        with pytest.raises(TrainingError, match="reward of agent 'berta' in world 0 is not finite in step 3"):
            rollouts.collect()
    rollouts.close()


def test_worlds_that_are_not_possible_are_refused_here_and_the_process_ends_silently(capfd):
    _, worker = open_rollouts(dataclasses.replace(PROCESS, neighbour_reward=0.5))
    with pytest.raises(ConfigError, match="neighbour_reward: flock_v0 is no graph of agents"):
        worker.reset(5)
    worker.close()
    assert capfd.readouterr().err == ""


def test_a_process_ignores_ctrl_c_and_is_missed_if_it_is_killed():
    networks, worker = open_rollouts(PROCESS)
    worker.reset(5)
    worker.publish(networks, 0)
    (process,) = multiprocessing.active_children()
    os.kill(process.pid, signal.SIGINT)
    worker.collect()
    process.kill()
    with pytest.raises(TrainingError, match="process of worker 0 ended with status -9"):
        worker.collect()
    worker.close()
