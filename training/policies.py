"""A trained actor as a policy of a world: `policy(env) -> actions`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from seer_env.commands.output import CommandError
from seer_env.env import SeerParallelEnv
from seer_env.episode import Episode, Policy
from seer_env.model import EventModel
from seer_env.training.checkpoints import CheckpointError, load_actor, observation_size
from seer_env.training.config import TrainConfig
from seer_env.training.networks import Actor
from seer_env.training.parallel import ParallelEpisode

__all__ = ["ActorPolicy", "facing", "load_policy"]


#: Agents whose actions are computed together: memory does not grow with the agents.
AT_ONCE = 8192


class ActorPolicy:
    """Chooses the actions of all agents, of however many; a `seer_env.episode.Policy`.

    Args:
        actor: trained on a world with the same spaces.
        sample: draw the actions, as in training, instead of taking the likeliest.
        seed: of the draws.
    """

    def __init__(self, actor: Actor, sample: bool = False, seed: int = 0):
        self._actor, self._sample = actor, sample
        self._generator = torch.Generator().manual_seed(seed)

    def __call__(self, env: Episode | ParallelEpisode) -> np.ndarray:
        """Actions at the env's boundary, float32 `[M, A]`; those of agents not live mean nothing."""
        info, mask = env.info_arrays, None
        if info is not None and "action_mask" in (info.dtype.names or ()):
            mask = torch.from_numpy(info["action_mask"] != 0)
        observations = torch.from_numpy(env.observations)
        masks = [None] * -(-len(observations) // AT_ONCE) if mask is None else mask.split(AT_ONCE)
        return torch.cat([self._act(*rows) for rows in zip(observations.split(AT_ONCE), masks)]).numpy()

    @torch.no_grad()
    def _act(self, observations: Tensor, mask: Tensor | None) -> Tensor:
        policy = self._actor(observations, mask)
        return policy.sample(self._generator) if self._sample else policy.mode()


def facing(env: SeerParallelEnv, policy: Policy, opponent: Policy, side: int) -> Policy:
    """`policy` plays one side of a world with two, `opponent` the other.

    Raises:
        CommandError: the world has no sides.
    """
    if not hasattr(env.model, "sides"):
        raise CommandError(f"{env} has no sides, so there is no opponent")
    mine = env.model.sides == side
    return lambda env: np.where(mine[:, None], policy(env), opponent(env))


def load_policy(
    folder: Path, config: TrainConfig, world: EventModel | ParallelEpisode, sample: bool
) -> ActorPolicy:
    """The actor of a checkpoint for a world.

    Args:
        folder, config: the checkpoint and its settings.
        world: the one to act in: that of training, perhaps with more agents.
        sample: see `ActorPolicy`.

    Raises:
        CheckpointError: it is damaged, or the world has other spaces.
    """
    trained, given = observation_size(folder), world.observation_size
    if given != trained:
        agents = world.n_agents if isinstance(world, EventModel) else len(world.possible_agents)
        raise CheckpointError(
            f"{folder}: an observation has {given} numbers with {agents} agents in {config.env}; the policy "
            f"was trained on {trained}, so it cannot act there"
        )
    actor = Actor(
        world.observation_size,
        world.action_space,
        config.hidden,
        config.normalise_observations,
        config.log_std,
    )
    load_actor(folder, actor)
    return ActorPolicy(actor, sample, config.seed)
