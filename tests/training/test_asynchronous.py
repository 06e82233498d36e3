"""Rollouts ahead of training: how far, by which networks, and each of them once."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from training_runs import FLOCK, interrupted_after

from seer_env.training.asynchronous import Asynchronous
from seer_env.training.buffer import Batch
from seer_env.training.checkpoints import Progress, find_checkpoint
from seer_env.training.config import ConfigError, TrainConfig
from seer_env.training.mappo import TrainingError
from seer_env.training.ring import InTurn
from seer_env.training.rollouts import Rollout
from seer_env.training.trainer import one_update, set_up, train

GAMES = Path(__file__).parents[1] / "parallel_games.py"
UPDATES = 9


class Numbers:
    """Rollouts whose only reward is their number; `made` counts them. They wait while `go_on` is cleared."""

    parts, resumable = 1, True

    def __init__(self):
        self.made, self.version, self.go_on = 0, -1, threading.Event()
        self.go_on.set()

    def publish(self, networks, version):
        self.version = version

    def collect(self):
        assert self.go_on.wait(timeout=30)
        batch = Batch.empty((1, 1, 1), 1, 1, None)
        batch.rewards[:] = self.made
        self.made += 1
        return Rollout(batch, self.version, earned=1.5, finished=[(2.5, 3)], elapsed_s=0.5)

    def save(self, folder):
        return {"made": torch.tensor(self.made)}

    def load(self, folder, state, seed):
        self.made = int(state["made"])

    def close(self):
        self.closed = True


def number(rollout: Rollout) -> int:
    return int(rollout.batch.rewards.item())


@pytest.fixture
def ahead():
    """Makes rollouts that are ahead; closes them behind the test."""
    opened = []

    def make(source, staleness):
        opened.append(Asynchronous(source, staleness, UPDATES))
        return opened[-1]

    yield make
    for rollouts in opened:
        rollouts.close()


@pytest.mark.parametrize("staleness", [0, 1, 2, 20])
def test_networks_that_act_are_exactly_so_many_updates_behind(ahead, staleness):
    rollouts = ahead(Numbers(), staleness)
    for update in range(UPDATES):
        rollouts.publish(torch.nn.Linear(1, 1), update)
        rollout = rollouts.collect()
        assert (number(rollout), rollout.version) == (update, max(update - staleness, 0))


def test_networks_that_act_do_not_change_with_those_that_are_trained(ahead):
    source, trained, acting = Numbers(), torch.nn.Linear(1, 1), []
    source.publish = lambda networks, version: acting.append(networks)
    rollouts = ahead(source, 0)
    before = trained.weight.item()
    rollouts.publish(trained, 0)
    rollouts.collect()
    with torch.no_grad():
        trained.weight += 1.0
    assert [networks.weight.item() for networks in acting] == [before]


def test_rollouts_go_on_while_training_works_but_not_without_bounds(ahead):
    source = Numbers()
    rollouts = ahead(source, 2)
    rollouts.publish(torch.nn.Linear(1, 1), 0)
    rollouts.save(Path())  # waits for all that may be made of version 0
    assert source.made == 3
    rollouts._thread.join(timeout=0.1)
    assert source.made == 3
    assert rollouts._thread.is_alive(), "it waits for version 1"


def test_training_begins_on_the_first_part_before_the_next_is_rolled_out(ahead):
    first, second = Numbers(), Numbers()
    second.go_on.clear()
    rollouts = ahead(InTurn([first, second]), 0)
    rollouts.publish(torch.nn.Linear(1, 1), 0)
    rollouts.collect()
    assert (first.made, second.made) == (1, 0)
    second.go_on.set()
    rollouts.collect()
    assert (first.made, second.made) == (1, 1), "version 1 is not published"


def test_a_run_that_is_shortened_to_less_than_waits_is_saved_at_its_end():
    before, after = Asynchronous(Numbers(), 2, 10), Asynchronous(Numbers(), 2, 1)
    before.publish(torch.nn.Linear(1, 1), 0)
    state = before.save(Path())  # three rollouts
    before.close()
    after.load(Path(), state, seed=0)
    after.publish(torch.nn.Linear(1, 1), 0)
    after.collect()
    waiting = {name.split(".")[1] for name in after.save(Path()) if name.startswith("waiting.")}
    after.close()
    assert waiting == {"0", "1"}


@pytest.mark.parametrize("staleness", [0, 1, 3])
@pytest.mark.parametrize("done", [1, 4, UPDATES])
def test_after_an_interruption_every_rollout_comes_once_by_the_same_networks(ahead, staleness, done):
    collected = []

    def go_on(rollouts, updates):
        for update in updates:
            rollouts.publish(torch.nn.Linear(1, 1), update)
            rollout = rollouts.collect()
            collected.append((number(rollout), rollout.version, rollout.earned, rollout.finished))

    before, after = ahead(Numbers(), staleness), ahead(Numbers(), staleness)
    go_on(before, range(done))
    after.load(Path(), before.save(Path()), seed=0)
    go_on(after, range(done, UPDATES))
    assert collected == [(u, max(u - staleness, 0), 1.5, [(2.5, 3)]) for u in range(UPDATES)]


def test_no_rollout_is_made_that_no_update_needs(ahead):
    source = Numbers()
    rollouts = ahead(source, 3)
    for update in range(UPDATES):
        rollouts.publish(torch.nn.Linear(1, 1), update)
        rollouts.collect()
    rollouts._thread.join(timeout=30)
    assert source.made == UPDATES


def test_an_error_in_the_thread_is_raised_where_its_rollout_was_to_come(ahead):
    source = Numbers()
    rollouts = ahead(source, 2)
    collect = source.collect

    def fail_in_the_second():
        if source.made == 1:
            raise TrainingError("the reward of agent 'berta'")
        return collect()

    source.collect = fail_in_the_second
    rollouts.publish(torch.nn.Linear(1, 1), 0)
    assert number(rollouts.collect()) == 0
    for ask in (rollouts.collect, lambda: rollouts.save(Path()), rollouts.collect):
        with pytest.raises(TrainingError, match="'berta'"):
            ask()


def test_closing_ends_the_thread_at_its_next_rollout(ahead):
    source = Numbers()
    source.go_on.clear()
    rollouts = ahead(source, UPDATES)
    rollouts.publish(torch.nn.Linear(1, 1), 0)
    threading.Timer(0.05, source.go_on.set).start()
    rollouts.close()
    assert not rollouts._thread.is_alive()
    assert source.made <= 1
    assert source.closed


def test_staleness_0_is_bit_for_bit_the_plain_loop():
    config = TrainConfig(env=f"{GAMES}:Patience", copies=4, updates=3, rollout_steps=8, hidden=(8,))
    trained = []
    for wrap in (lambda worker: worker, lambda worker: Asynchronous(worker, 0, config.updates)):
        learner, worker = set_up(config)
        rollouts, progress = wrap(worker), Progress()
        rollouts.reset(config.seed)
        for _ in range(config.updates):
            one_update(learner, rollouts, progress)
        rollouts.close()
        trained.append(learner.networks.state_dict())
    assert all(torch.equal(tensor, trained[1][name]) for name, tensor in trained[0].items())


def test_the_pettingzoo_envs_of_an_elastic_run_are_refused_by_name(tmp_path):
    config = TrainConfig(env=f"{GAMES}:Patience", run=tmp_path, staleness=1, elastic=True)
    with pytest.raises(ConfigError, match=r"elastic: .*parallel_games\.py:Patience is a PettingZoo env"):
        train(config)


def test_an_elastic_run_that_is_resumed_says_that_it_is_not_bit_for_bit(tmp_path, capsys, monkeypatch):
    config = replace(FLOCK, run=tmp_path, staleness=1, elastic=True)
    interrupted_after(2, monkeypatch)
    assert train(config).updates == 2
    assert "not bit for bit" not in capsys.readouterr().err
    assert train(config, find_checkpoint(tmp_path)).updates == FLOCK.updates
    assert "elastic" in (said := capsys.readouterr().err)
    assert "not bit for bit" in said


def test_a_run_stops_with_the_threads_error(tmp_path):
    config = TrainConfig(
        env=f"{GAMES}:Endless", world={"broken": "berta"}, run=tmp_path, copies=2, staleness=1, ring=2
    )
    before = threading.enumerate()
    with pytest.raises(TrainingError, match="reward of agent 'berta' in world 0 is not finite in step 3"):
        train(config)
    assert [thread.name for thread in threading.enumerate() if thread not in before] == []
