"""Gradient steps on minibatches. Actor and critic share no parameters, so neither waits for the other."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from seer_env.training.buffer import Minibatch
from seer_env.training.config import TrainConfig
from seer_env.training.losses import policy_loss, value_loss
from seer_env.training.networks import Actor, Critic

__all__ = ["ActorDescent", "CriticDescent"]


class Descent:
    """Adam on the parameters of one network.

    Args:
        network: what is trained.
        config: the settings.
    """

    def __init__(self, network: nn.Module, config: TrainConfig):
        self._config, self._parameters = config, list(network.parameters())
        self.optimiser = torch.optim.Adam(self._parameters, lr=config.learning_rate, eps=1e-5, fused=True)

    def set_rate(self, rate: float) -> None:
        """Let the next steps have a learning rate."""
        for group in self.optimiser.param_groups:
            group["lr"] = rate

    def _down(self, loss: Tensor) -> None:
        """One step down the gradient of `loss`, clipped."""
        self.optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self._parameters, self._config.max_gradient)
        self.optimiser.step()


class ActorDescent(Descent):
    """Trains the actor on the clipped surrogate and its entropy."""

    def __init__(self, actor: Actor, config: TrainConfig):
        super().__init__(actor, config)
        self._actor = actor

    def step(self, batch: Minibatch, bonus: float) -> dict[str, Tensor]:
        """One step on a minibatch of normalised observations; `bonus` is the weight of the entropy."""
        policy = self._actor.act(batch.observations, batch.masks)
        log_ratio = policy.log_prob(batch.actions) - batch.log_probs
        entropy = policy.entropy().mean()
        surrogate = policy_loss(log_ratio, batch.advantages, self._config.clip)
        self._down(surrogate - bonus * entropy)
        with torch.no_grad():
            ratio = log_ratio.exp()
            # Schulman's low-variance estimate, http://joschu.net/blog/kl-approx.html
            divergence = (ratio - 1.0 - log_ratio).mean()
            clipped = ((ratio - 1.0).abs() > self._config.clip).float().mean()
        return {
            "losses/policy_loss": surrogate.detach(),
            "losses/entropy": entropy.detach(),
            "losses/approx_kl": divergence,
            "losses/clipfrac": clipped,
        }


class CriticDescent(Descent):
    """Trains the critic on the clipped value loss."""

    def __init__(self, critic: Critic, config: TrainConfig):
        super().__init__(critic, config)
        self._critic = critic

    def step(self, batch: Minibatch) -> dict[str, Tensor]:
        """One step on a minibatch of normalised observations, values and returns."""
        values = self._critic.judge(batch.observations, batch.world, batch.worlds)
        error = value_loss(values, batch.values, batch.returns, self._config.clip)
        self._down(self._config.value_weight * error)
        return {"losses/value_loss": error.detach()}
