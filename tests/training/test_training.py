"""Training as a whole: it learns what is best, stops at nonsense, and goes on where it was interrupted."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from training_runs import FLOCK, GAMES, files, interrupted_after, progress_of

from seer_env.training import mappo
from seer_env.training.buffer import Batch
from seer_env.training.checkpoints import find_checkpoint, restore
from seer_env.training.config import ConfigError, TrainConfig
from seer_env.training.gae import advantages
from seer_env.training.losses import normalised
from seer_env.training.mappo import TrainingError
from seer_env.training.trainer import set_up, train


def test_waiting_for_the_larger_reward_is_learned(tmp_path):
    config = TrainConfig(
        env=f"{GAMES}:Patience", run=tmp_path, copies=8, updates=25, rollout_steps=16, epochs=4,
        minibatch_size=128, hidden=(16,), learning_rate=0.03, entropy=0.05,
    )  # fmt: skip
    train(config)
    rows = progress_of(tmp_path)
    assert float(rows[-1]["charts/episodic_return"]) > 2.7, "3 is best, 1 for who looks one step ahead"
    assert float(rows[0]["charts/episodic_return"]) < 2.0


def test_values_of_an_endless_game_do_not_suffer_from_its_truncation():
    """1 a step for ever is worth 1 / (1 - discount) = 4 in every step, the last before a cut as well."""
    config = TrainConfig(
        env=f"{GAMES}:Endless", copies=4, updates=60, rollout_steps=16, epochs=8, discount=0.75,
        hidden=(16,), learning_rate=0.01, learning_rate_end=0.001, normalise_observations=False,
    )  # fmt: skip
    learner, worker = set_up(config)
    worker.reset(0)
    for index in range(config.updates):
        learner.update(worker.collect().batch, index)
    values = worker.collect().batch.values
    assert values.min().item() == pytest.approx(4.0, abs=0.1)
    assert values.max().item() == pytest.approx(4.0, abs=0.1)


def test_a_reward_that_is_not_a_number_stops_with_the_agents_name(tmp_path):
    config = TrainConfig(env=f"{GAMES}:Endless", world={"broken": "berta"}, run=tmp_path, copies=2)
    with pytest.raises(TrainingError, match="reward of agent 'berta' in world 0 is not finite in step 3"):
        train(config)


def test_what_the_first_observation_lacks_stops_with_the_agents_name(tmp_path):
    config = TrainConfig(env=f"{GAMES}:Endless", world={"blind": "berta"}, run=tmp_path, copies=2)
    with pytest.raises(
        TrainingError, match="observation of agent 'berta' in world 0 is not finite in step 0"
    ):
        train(config)


def test_a_loss_that_is_not_a_number_stops_the_update_that_it_is_found_in():
    learner, worker = set_up(FLOCK)
    worker.reset(0)
    batch = worker.collect().batch
    batch.values[-1] = np.inf
    with pytest.raises(TrainingError, match=r"update 3: a loss is not finite .*value_loss nan"):
        learner.update(batch, 2)
    worker.close()


def test_neighbours_rewards_count_where_the_world_is_a_graph():
    """A star, whose hub has as many neighbours as a cell of other tests: more or less is compiled anew."""
    star = np.array([0, 6, 7, 8, 9, 10, 11, 12]), np.array([1, 2, 3, 4, 5, 6, *[0] * 6])
    config = TrainConfig(
        env="pcs_v0", world={"n_agents": 7, "topology": star}, copies=1, rollout_steps=2, neighbour_reward=0.5
    )
    _, worker = set_up(config)
    own = np.array([[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]])
    assert worker._shared(own).tolist() == [[64.0, 2.5, 4.5, 8.5, 16.5, 32.5, 64.5]]
    worker.close()


def test_neighbours_rewards_need_a_graph():
    with pytest.raises(ConfigError, match="neighbour_reward: flock_v0 is no graph"):
        set_up(dataclasses.replace(FLOCK, neighbour_reward=0.5))


@pytest.mark.parametrize(
    "overlap", [{}, {"ring": 2}, {"staleness": 1}, {"staleness": 2, "micro_batches": 2}], ids=str
)
def test_a_run_that_was_interrupted_goes_on_bit_for_bit(tmp_path, monkeypatch, overlap):
    whole, parts = (dataclasses.replace(FLOCK, run=tmp_path / name, **overlap) for name in ("whole", "parts"))
    assert train(whole).updates == 4
    with monkeypatch.context() as patch:
        interrupted_after(2, patch)
        assert train(parts).updates == 2
    assert train(parts, resume=find_checkpoint(parts.run)).updates == 4
    assert files(whole.run).keys() == {"model.safetensors", "state.safetensors", "world_0.npz", "world_1.npz"}
    assert files(whole.run) == files(parts.run)


def test_a_run_in_a_pettingzoo_env_goes_on_bit_for_bit(tmp_path, monkeypatch):
    whole, parts = (
        dataclasses.replace(FLOCK, env=f"{GAMES}:Wandering", world={}, max_cycles=3, run=tmp_path / name)
        for name in ("whole", "parts")
    )
    train(whole)
    with monkeypatch.context() as patch:
        interrupted_after(2, patch)
        train(parts)
    train(parts, resume=find_checkpoint(parts.run))
    assert files(whole.run) == files(parts.run)


def test_sums_of_episodes_that_begin_anew_begin_at_zero(tmp_path, capsys):
    config = dataclasses.replace(
        FLOCK, env=f"{GAMES}:Wandering", world={"moody": True}, rollout_steps=3, updates=1, run=tmp_path
    )
    train(config)
    learner, worker = set_up(config)
    restore(find_checkpoint(tmp_path), learner, worker)
    assert not worker.resumable
    assert not worker.returns.any()
    assert not worker.lengths.any()
    train(dataclasses.replace(config, updates=2), resume=find_checkpoint(tmp_path))
    assert "do not repeat an episode" in capsys.readouterr().err


@pytest.mark.parametrize("staleness", [0, 1])
def test_progress_of_an_interrupted_run_is_complete(tmp_path, monkeypatch, staleness):
    config = dataclasses.replace(FLOCK, run=tmp_path, staleness=staleness)
    with monkeypatch.context() as patch:
        interrupted_after(2, patch)
        train(config)
    train(config, resume=find_checkpoint(tmp_path))
    rows = progress_of(tmp_path)
    assert [int(row["update"]) for row in rows] == [1, 2, 3, 4]
    decisions = [int(float(row["charts/decisions"])) for row in rows]
    assert decisions == [320, 640, 960, 1280], "2 copies of 20 agents for 8 steps"


def test_the_same_seed_is_the_same_run_and_another_is_not(tmp_path):
    runs = [
        dataclasses.replace(FLOCK, updates=1, run=tmp_path / str(i), seed=seed)
        for i, seed in enumerate((1, 1, 2))
    ]
    for config in runs:
        train(config)
    first, again, other = (files(config.run)["model.safetensors"] for config in runs)
    assert first == again != other


def test_networks_that_the_last_step_spoilt_are_not_saved(tmp_path):
    """The losses were finite before it."""
    one_step = {"epochs": 1, "minibatch_size": 10_000, "group_size": 100}
    config = dataclasses.replace(FLOCK, updates=1, run=tmp_path, entropy=3e38, **one_step)
    with pytest.raises(TrainingError, match=r"update 1: the networks are not finite \(actor\."):
        train(config)
    assert not list(tmp_path.glob("checkpoint*"))


def test_the_critic_in_a_thread_of_its_own_is_trained_to_the_same_bits(monkeypatch):
    trained = []
    for cpus in (1, 2):
        monkeypatch.setattr(mappo, "effective_cpus", lambda cpus=cpus: cpus)
        learner, worker = set_up(FLOCK)
        worker.reset(0)
        means = [learner.update(worker.collect().batch, index) for index in range(2)]
        trained.append((learner.networks.state_dict(), means))
        worker.close()
    (one, its_means), (two, their_means) = trained
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert its_means == their_means


def test_what_an_agent_that_is_not_live_left_has_no_influence():
    config = TrainConfig(env=f"{GAMES}:Patience", copies=4, rollout_steps=8, hidden=(8,))
    learner, worker = set_up(config)
    worker.reset(0)
    batch = worker.collect().batch
    assert not batch.active.all()
    before = {name: tensor.clone() for name, tensor in learner.networks.state_dict().items()}
    shuffling = learner.generator.get_state()
    updated = []
    for rubbish in (0.0, 1e6):
        learner, worker = set_up(config)
        learner.networks.load_state_dict(before)
        learner.generator.set_state(shuffling)
        for tensor in (batch.observations, batch.rewards, batch.values):
            tensor[~batch.active] = rubbish
        learner.update(batch, 0)
        updated.append({name: tensor.clone() for name, tensor in learner.networks.state_dict().items()})
    assert all(torch.equal(updated[0][name], updated[1][name]) for name in before)


@pytest.mark.parametrize(("version", "corrected"), [(2, False), (1, False), (0, True)])
def test_rollouts_more_than_an_update_behind_are_corrected(version, corrected):
    """The returns are then V-trace's, with the ratios of the policy that has moved since."""
    config = TrainConfig(env=f"{GAMES}:Endless", copies=2, rollout_steps=6, hidden=(8,))
    learner, worker = set_up(config)
    worker.reset(0)
    batch = worker.collect().batch
    actor = learner.networks.actor
    with torch.no_grad():
        actor.last.bias += 0.3
        log_probs = actor(batch.observations.flatten(0, 2)).log_prob(batch.actions.flatten(0, 2))
    ratios = (log_probs.reshape(batch.log_probs.shape) - batch.log_probs).exp()
    assert ratios.min() < 0.9
    assert ratios.max() > 1.0
    weights = ratios.clamp(max=1.0) if corrected else None
    expected = batch.values + advantages(
        batch.rewards, batch.values, batch.following, batch.ended, batch.active,
        config.discount, config.gae_lambda, weights,
    )  # fmt: skip
    learner.update(batch, 2, version)
    assert torch.allclose(batch.returns, expected, rtol=1e-6)


@pytest.mark.parametrize("version", [2, 1, 0])
def test_the_ratios_are_to_the_policy_at_the_beginning_of_the_update(version, monkeypatch):
    """One update behind, the ratios between the two policies, truncated at 1, weight the advantages."""
    config = TrainConfig(env=f"{GAMES}:Endless", copies=2, rollout_steps=6, hidden=(8,), minibatch_size=5)
    learner, worker = set_up(config)
    worker.reset(0)
    batch, seen = worker.collect().batch, []
    with torch.no_grad():
        learner.networks.actor.last.bias += 0.3
        now = learner.networks.actor(batch.observations.flatten(0, 2)).log_prob(batch.actions.flatten(0, 2))
    now = now.reshape(batch.log_probs.shape)
    descend = learner._descend
    monkeypatch.setattr(
        learner, "_descend", lambda found, bonus: (seen.append(found), descend(found, bonus))[1]
    )
    learner.update(batch, 2, version)
    (found,) = seen
    assert torch.allclose(found.log_probs, batch.log_probs if version == 2 else now)
    if version > 0:
        weights = (now - batch.log_probs).exp().clamp(max=1.0) if version == 1 else 1.0
        assert torch.allclose(found.advantages, weights * normalised(batch.returns - batch.values), atol=1e-5)


def test_the_probabilities_of_now_are_those_of_live_agents_allowed_choices():
    learner, worker = set_up(
        TrainConfig(env=f"{GAMES}:Patience", copies=2, rollout_steps=6, hidden=(8,), minibatch_size=5)
    )
    generator, shape = torch.Generator().manual_seed(1), (6, 2, 2)
    batch = Batch.empty(shape, 3, 1, 3)
    batch.observations.normal_(generator=generator)
    batch.active[:] = torch.rand(shape, generator=generator) < 0.6
    batch.masks[:] = torch.rand((*shape, 3), generator=generator) < 0.6
    batch.masks[..., 1] = True
    batch.actions[:] = 1.0
    with torch.no_grad():
        learner.networks.actor.last.bias.copy_(torch.tensor([0.5, -0.5, 1.0]))
        actor = learner.networks.actor
        logits = actor.last(actor.body(actor.norm(batch.observations)))
    chances = torch.where(batch.masks, logits.exp(), 0.0)
    expected = torch.where(batch.active, (chances[..., 1] / chances.sum(dim=-1)).log(), 0.0)
    torch.testing.assert_close(learner._log_probs(batch), expected)
    worker.close()


def test_it_trains_in_an_env_of_pettingzoo(tmp_path):
    pytest.importorskip("mpe2", reason="PettingZoo's particle envs are a package of their own")
    config = TrainConfig(
        env="mpe2.simple_spread_v3:parallel_env", world={"max_cycles": 10}, run=tmp_path, copies=2, updates=2,
        rollout_steps=16,
    )  # fmt: skip
    assert train(config).decisions == 2 * 2 * 3 * 16
    assert np.isfinite(float(progress_of(tmp_path)[-1]["charts/reward"]))
