"""Groups of worlds that overlap give what they give one after the other."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
import torch

from seer_env.training import sources
from seer_env.training.buffer import Batch
from seer_env.training.config import ConfigError, TrainConfig
from seer_env.training.executors import AtOnce
from seer_env.training.mappo import TrainingError, Worker
from seer_env.training.sources import open_groups
from seer_env.training.trainer import set_up

GAMES = Path(__file__).parents[1] / "parallel_games.py"


def flock(**settings) -> TrainConfig:
    return TrainConfig(
        **{"env": "flock_v0", "world": {"n_agents": 12}, "max_cycles": 5, "copies": 3, "rollout_steps": 7}
        | {"hidden": (8,), "ring": 2}
        | settings
    )


def equal(one: Batch, other: Batch) -> bool:
    return all(torch.equal(tensor, other.tensors()[name]) for name, tensor in one.tensors().items())


@pytest.fixture
def opened(monkeypatch):
    """Rollouts of a config, at the beginning of their episodes, on two cores; closed behind the test."""
    monkeypatch.setattr(sources, "effective_cpus", lambda: 2)
    made = []

    def open_rollouts(config):
        _, rollouts = set_up(config)
        made.append(rollouts)
        rollouts.reset(config.seed)
        return rollouts

    yield open_rollouts
    for rollouts in made:
        rollouts.close()


@pytest.mark.parametrize("late", ["deciding", "stepping"])
def test_a_ring_gives_what_its_groups_give_one_after_the_other(opened, monkeypatch, late):
    apart = opened(flock())._members
    expected = [[worker.collect() for worker in apart] for _ in range(2)]
    ring = opened(flock())
    method = {"deciding": "decide", "stepping": "step"}[late]
    plain = getattr(Worker, method)
    monkeypatch.setattr(Worker, method, lambda worker, t: (time.sleep(0.002 * (t % 3)), plain(worker, t)))
    for rollouts in expected:
        found = ring.collect()
        parts = found.batch.split([1, 2])
        assert all(equal(rollout.batch, part) for rollout, part in zip(rollouts, parts))
        assert found.earned == sum(rollout.earned for rollout in rollouts)
        assert found.finished == [episode for rollout in rollouts for episode in rollout.finished]


def test_a_ring_has_the_plain_loops_worlds_and_as_many_decisions(opened):
    plain, ring = (opened(flock(ring=groups)).collect().batch for groups in (1, 3))
    assert torch.equal(plain.observations[0], ring.observations[0])
    assert plain.active.sum() == ring.active.sum() == 7 * 3 * 12


def test_the_policy_infers_for_one_group_while_another_is_stepped(opened, monkeypatch):
    """The first group's window ends only when the second group's inference has begun, and is elsewhere."""
    inferring, threads = threading.Event(), set()
    ring = opened(flock(rollout_steps=1))
    first, second = ring._members
    step, decide = first.step, second.decide

    def step_first(t):
        threads.add(threading.current_thread())
        assert inferring.wait(timeout=30)
        step(t)

    def decide_second(t):
        inferring.set()
        decide(t)

    monkeypatch.setattr(first, "step", step_first)
    monkeypatch.setattr(second, "decide", decide_second)
    ring.collect()
    assert threading.current_thread() not in threads


def test_a_ring_without_a_core_for_it_gives_the_same_in_one_thread(opened, monkeypatch):
    overlapping = opened(flock()).collect().batch
    monkeypatch.setattr(sources, "effective_cpus", lambda: 1)
    alone = opened(flock())
    assert isinstance(alone._windows, AtOnce)
    assert equal(alone.collect().batch, overlapping)


def test_what_is_wrong_in_a_window_is_told_where_it_is_collected(opened):
    config = TrainConfig(env=f"{GAMES}:Endless", world={"broken": "berta"}, copies=2, ring=2)
    with pytest.raises(TrainingError, match="reward of agent 'berta' in world 0"):
        opened(config).collect()


@pytest.mark.parametrize(
    ("copies", "ring", "micro_batches", "sizes"), [(5, 2, 1, [2, 3]), (4, 2, 2, [1] * 4)]
)
def test_groups_have_every_world_once(copies, ring, micro_batches, sizes):
    groups = open_groups(flock(copies=copies, ring=ring, micro_batches=micro_batches))
    assert [worlds.copies for worlds in groups] == sizes
    for worlds in groups:
        worlds.close()


def test_a_group_without_a_world_is_refused():
    with pytest.raises(ConfigError, match=r"ring=2 .* micro_batches=2 .* at least 4 copies, got 3"):
        flock(micro_batches=2)
