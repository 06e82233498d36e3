"""MAPPO (Yu et al., *The Surprising Effectiveness of PPO in Cooperative Multi-Agent Games*, 2103.01955).

`Worker.collect` makes a rollout, `Learner.update` turns it into advantages and gradient steps, and
`trainer.train` does one after the other. Workers and learner share the networks and nothing else.
"""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from seer_env.machine import effective_cpus
from seer_env.training.buffer import Batch
from seer_env.training.config import ConfigError, TrainConfig
from seer_env.training.descent import ActorDescent, CriticDescent
from seer_env.training.executors import AtOnce, second_thread
from seer_env.training.gae import advantages
from seer_env.training.losses import normalised
from seer_env.training.networks import Actor, Critic
from seer_env.training.normalising import RunningNorm
from seer_env.training.rollouts import Rollout, TrainingError
from seer_env.training.worlds import Worlds, WorldStep

__all__ = ["Learner", "Networks", "TrainingError", "Worker"]

#: Minibatches that the critic may be behind the actor, which bounds memory.
BEHIND = 2


class Networks(nn.Module):
    """The actor and the critic of all agents.

    Args:
        worlds: give the spaces.
        config: gives sizes and initial values.
    """

    def __init__(self, worlds: Worlds, config: TrainConfig):
        super().__init__()
        size, hidden, normalise = worlds.observation_size, config.hidden, config.normalise_observations
        self.actor = Actor(size, worlds.action_space, hidden, normalise, config.log_std)
        self.critic = Critic(size, hidden, normalise)

    @torch.no_grad()
    def see(self, observations: Tensor) -> None:
        """Take observations `[n, D]` into the running moments of both, which are the same."""
        if isinstance(self.actor.norm, RunningNorm):
            self.actor.norm.update(observations)
            self.critic.norm.load_state_dict(self.actor.norm.state_dict())


class Worker:
    """Steps worlds under the current policy, a rollout at a time: the plainest `Rollouts`.

    Args:
        worlds: the worker alone steps them.
        networks: read at every step.
        generator: draws the actions.
        config: the settings.

    Attributes:
        returns: float64 `[B, M]`, sums of the rewards of the running episodes.
        lengths: int64 `[B]`, steps of the running episodes.

    Raises:
        ConfigError: neighbours' rewards are to count in a world without neighbours.
    """

    parts = 1
    _rollout: Rollout  # that is being made

    def __init__(self, worlds: Worlds, networks: Networks, generator: torch.Generator, config: TrainConfig):
        if config.neighbour_reward and worlds.graph is None:
            raise ConfigError(f"neighbour_reward: {config.env} is no graph of agents; set it to 0")
        self.worlds, self.networks, self.generator = worlds, networks, generator
        self.resumable, self.version = True, 0
        self._steps, self._neighbour_reward = config.rollout_steps, config.neighbour_reward
        self._at_once, self._device = config.minibatch_size, torch.device(config.device)
        self.returns = np.zeros((worlds.copies, len(worlds.names)))
        self.lengths = np.zeros(worlds.copies, np.int64)

    def groups(self) -> list[Worlds]:
        """See `Rollouts`."""
        return [self.worlds]

    def reset(self, seed: int) -> None:
        """See `Rollouts`."""
        self.worlds.reset(seed)
        self.returns[:], self.lengths[:] = 0.0, 0

    def publish(self, networks: Networks, version: int) -> None:
        """See `Rollouts`."""
        self.networks, self.version = networks, version

    def collect(self) -> Rollout:
        """See `Rollouts`."""
        start = time.perf_counter()
        self.begin(self.empty_batch(self.worlds.copies))
        for t in range(self._steps):
            self.decide(t)
            self.step(t)
        rollout = self.end()
        rollout.elapsed_s = time.perf_counter() - start
        return rollout

    def empty_batch(self, copies: int) -> Batch:
        """A batch for a rollout of `copies` worlds like the worker's."""
        worlds = self.worlds
        choices = None if worlds.masks is None else worlds.masks.shape[-1]
        shape = self._steps, copies, len(worlds.names)
        return Batch.empty(shape, worlds.observation_size, self.networks.actor.head.actions, choices)

    def begin(self, batch: Batch) -> None:
        """Begin a rollout that fills `batch`."""
        self._rollout = Rollout(batch, self.version)

    @torch.no_grad()
    def decide(self, t: int) -> None:
        """Choose the actions of step `t`.

        Raises:
            TrainingError: an observation is not finite; names the agent.
        """
        start = time.perf_counter()
        batch, live, masks = self._rollout.batch, self.worlds.live, self.worlds.masks
        self._require_finite("observation", self.worlds.observations, self.lengths)
        observations = torch.from_numpy(self.worlds.observations[live])
        allowed = None if masks is None else torch.from_numpy(masks[live])
        policy = self.networks.actor(
            observations.to(self._device), None if allowed is None else allowed.to(self._device)
        )
        actions = policy.sample(self.generator)
        log_probs = policy.log_prob(actions)
        batch.active.numpy()[t] = live
        batch.write(t, live, observations=observations, actions=actions, log_probs=log_probs, masks=allowed)
        self._rollout.seconds["inference"] += time.perf_counter() - start

    def step(self, t: int) -> None:
        """Step the worlds with the actions of step `t`, and note what came of it.

        Raises:
            TrainingError: a reward or an observation is not finite; names the agent.
        """
        start = time.perf_counter()
        batch, seconds, live = self._rollout.batch, self._rollout.seconds, self.worlds.live
        step = self.worlds.step(batch.actions.numpy()[t])
        self._require_finite("reward", step.rewards, self.lengths + 1)
        self._require_finite("observation", step.final, self.lengths + 1)
        batch.rewards.numpy()[t] = self._shared(step.rewards)
        batch.ended.numpy()[t] = step.terminated | step.truncated
        self._count(step, live)
        spent = time.perf_counter() - start
        seconds["window"] += step.window_s
        seconds["outputs"] += step.outputs_s
        seconds["other"] += spent - step.window_s - step.outputs_s
        cut = step.truncated & ~step.terminated
        if cut.any():
            batch.following[t] = self._judged(step.final, cut)

    def end(self) -> Rollout:
        """The rollout, complete."""
        start, batch = time.perf_counter(), self._rollout.batch
        batch.values[:] = self._values(batch.observations, batch.active)
        after = self._judged(self.worlds.observations, self.worlds.live)
        going_on = torch.cat([batch.values[1:], after[None]])
        batch.following[:] = torch.where(batch.ended, batch.following, going_on)
        self._rollout.seconds["inference"] += time.perf_counter() - start
        return self._rollout

    def save(self, folder: Path) -> dict[str, Tensor]:
        """See `Rollouts`."""
        self.worlds.save(folder)
        return {
            "generator": self.generator.get_state(),
            "returns": torch.from_numpy(self.returns),
            "lengths": torch.from_numpy(self.lengths),
        }

    def load(self, folder: Path, state: Mapping[str, Tensor], seed: int) -> None:
        """See `Rollouts`."""
        self.generator.set_state(state["generator"])
        self.returns = state["returns"].numpy().reshape(self.returns.shape)
        self.lengths = state["lengths"].numpy().reshape(self.lengths.shape)
        went_on = self.worlds.load(folder, seed)
        self.returns[~went_on], self.lengths[~went_on] = 0.0, 0
        self.resumable = bool(went_on.all())

    def close(self) -> None:
        """See `Rollouts`."""
        self.worlds.close()

    def _values(self, observations: Tensor, live: Tensor) -> Tensor:
        """Values `[T, B, M]` of observations `[T, B, M, D]`, zeros where not live."""
        values = torch.zeros(live.shape, device="cpu")
        at_once = max(1, self._at_once // live[0].numel())  # steps, which bounds memory
        for some, seen, present in zip(*(each.split(at_once) for each in (values, observations, live))):
            present = present.flatten(0, 1)
            rows, world = seen.flatten(0, 1)[present], present.nonzero()[:, 0]
            judged = self.networks.critic.values(rows.to(self._device), world.to(self._device), len(present))
            some.flatten(0, 1)[present] = judged.cpu()
        return values

    def _judged(self, observations: np.ndarray, live: np.ndarray) -> Tensor:
        """Values `[B, M]` of the observations `[B, M, D]` of one moment."""
        return self._values(torch.from_numpy(observations)[None], torch.from_numpy(live)[None])[0]

    def _shared(self, rewards: np.ndarray) -> np.ndarray:
        """Rewards `[B, M]` and, weighted, the sum of the neighbours'."""
        graph = self.worlds.graph
        if not self._neighbour_reward or graph is None:
            return rewards
        shared, (agents, neighbours) = rewards.copy(), graph
        for own, shown in zip(shared, rewards):
            own += self._neighbour_reward * np.bincount(agents, shown[neighbours], len(own))
        return shared

    def _count(self, step: WorldStep, live: np.ndarray) -> None:
        """Add up the episodes; a world whose last live agents ended has begun another."""
        self.returns += step.rewards
        self._rollout.earned += float(step.rewards.sum())
        self.lengths += 1
        over = ~(live & ~(step.terminated | step.truncated)).any(axis=1)
        for copy in np.flatnonzero(over).tolist():
            self._rollout.finished.append((float(self.returns[copy].mean()), int(self.lengths[copy])))
        self.returns[over], self.lengths[over] = 0.0, 0

    def _require_finite(self, what: str, values: np.ndarray, steps: np.ndarray) -> None:
        """Refuse `values` `[B, M, ...]` that are no numbers, `steps` `[B]` into the episodes."""
        finite = np.isfinite(values)
        if finite.all():
            return
        copy, agent = np.argwhere(~finite)[0][:2].tolist()
        name, world = self.worlds.names[agent], self.worlds.first + copy
        raise TrainingError(
            f"the {what} of agent {name!r} in world {world} is not finite in step {steps[copy]} of its "
            f"episode: {values[copy, agent].tolist()}"
        )


class Learner:
    """Updates the networks on rollouts.

    Args:
        networks: what it updates.
        config: the settings.
        generator: draws the minibatches, on the CPU.
    """

    def __init__(self, networks: Networks, config: TrainConfig, generator: torch.Generator):
        self.networks, self.config, self.generator = networks, config, generator
        self.actor, self.critic = ActorDescent(networks.actor, config), CriticDescent(networks.critic, config)
        self._apart = config.device == "cpu" and effective_cpus() > 1  # a GPU has one queue for both

    def update(self, batch: Batch, index: int, version: int | None = None) -> dict[str, float]:
        """Train on a rollout.

        Args:
            batch: of the rollout.
            index: of the update, from 0; it decides the schedules.
            version: updates that the networks had had which acted; `index` if None. PPO's ratios are to the
                probabilities at the beginning of this update, and weights correct for what is between those
                and the ones at the rollout (the decoupled objective of Hilton, Cobbe and Schulman, *Batch
                size-invariance for policy optimization*, 2022). Networks that were one update behind have
                the advantages weighted; older ones have V-trace's, see `gae.advantages`.

        Returns:
            Means over the minibatches, named as TensorBoard shows them.

        Raises:
            TrainingError: a loss is not finite.
        """
        config, batch = self.config, batch.to(torch.device(self.config.device))
        rate = config.scheduled(index, config.learning_rate, config.learning_rate_end)
        for descent in (self.actor, self.critic):
            descent.set_rate(rate)
        behind = 0 if version is None else index - version
        before = self._log_probs(batch) if behind > 0 else batch.log_probs
        weights = (before - batch.log_probs).exp().clamp(max=1.0)
        explained = self._estimate(batch, weights if behind > 1 else None)
        if behind == 1:
            batch.advantages *= weights
        self.networks.critic.last.update(batch.returns[batch.active])
        scaled = replace(self._scaled(batch), log_probs=before)
        means = self._descend(scaled, config.scheduled(index, config.entropy, config.entropy_end))
        self.networks.see(batch.observations[batch.active])
        require_finite(means, self.networks, index)
        return means | {"losses/explained_variance": explained, "charts/learning_rate": rate}

    def _descend(self, batch: Batch, bonus: float) -> dict[str, float]:
        """All steps of an update, on a batch of `_scaled`; means over the minibatches.

        The critic's may run in a second thread: on the same minibatches in the same order, so what comes of
        them is the same, bit for bit. Minibatches are gathered while the critic is at earlier ones.
        """
        config, behind = self.config, deque[Future[dict[str, Tensor]]]()
        sums: Counter = Counter()  # of tensors, which are read at the end: reading one waits for a GPU
        with second_thread("critic") if self._apart else AtOnce() as critic:
            for _ in range(config.epochs):
                for minibatch in batch.minibatches(config.minibatch_size, config.group_size, self.generator):
                    behind.append(critic.submit(self.critic.step, minibatch))
                    sums.update(self.actor.step(minibatch, bonus), minibatches=1)
                    if len(behind) > BEHIND:
                        sums.update(behind.popleft().result())
            for step in behind:
                sums.update(step.result())
        count = sums.pop("minibatches")
        return {name: float(total) / count for name, total in sums.items()}

    @torch.no_grad()
    def _log_probs(self, batch: Batch) -> Tensor:
        """Logarithms of the actions' probabilities now, `[T, B, M]`; zeros where not active."""
        flat = batch.flat()
        log_probs = torch.zeros_like(flat.log_probs)
        (active,) = flat.active.nonzero(as_tuple=True)
        for rows in active.split(self.config.minibatch_size):  # which bounds memory
            masks = None if flat.masks is None else flat.masks[rows]
            policy = self.networks.actor(flat.observations[rows], masks)
            log_probs[rows] = policy.log_prob(flat.actions[rows])
        return log_probs.reshape(batch.log_probs.shape)

    def _estimate(self, batch: Batch, weights: Tensor | None) -> float:
        """Fill in returns and normalised advantages; how much of the returns' variance the values explain."""
        gained = advantages(
            batch.rewards, batch.values, batch.following, batch.ended, batch.active,
            self.config.discount, self.config.gae_lambda, weights,
        )  # fmt: skip
        batch.returns = torch.where(batch.active, gained + batch.values, 0.0)
        batch.advantages[batch.active] = normalised(gained[batch.active])
        variance = batch.returns[batch.active].var(correction=0).clamp_min(1e-12)
        return (1.0 - gained[batch.active].var(correction=0) / variance).item()

    @torch.no_grad()
    def _scaled(self, batch: Batch) -> Batch:
        """The batch with observations, values and returns as the networks have them, throughout an update."""
        scale = self.networks.critic.last.normalise
        return replace(
            batch,
            observations=self.networks.actor.norm(batch.observations),  # the critic's has the same moments
            values=scale(batch.values),
            returns=scale(batch.returns),
        )


def require_finite(means: Mapping[str, float], networks: Networks, index: int) -> None:
    """Refuse losses of update `index` that are no numbers, and networks, which its last step may spoil."""
    spoilt = [name for name, tensor in networks.state_dict().items() if not tensor.isfinite().all()]
    if not all(map(math.isfinite, means.values())):
        values = ", ".join(f"{name.partition('/')[2]} {value:g}" for name, value in means.items())
        raise TrainingError(
            f"update {index + 1}: a loss is not finite ({values}): a smaller learning_rate or "
            "max_gradient may help"
        )
    if spoilt:
        raise TrainingError(
            f"update {index + 1}: the networks are not finite ({', '.join(spoilt)}): a smaller learning_rate "
            "or max_gradient, or smaller observations, may help"
        )
