"""Where networks compute."""

from __future__ import annotations

import torch

from seer_env.training.config import ConfigError, TrainConfig

__all__ = ["open_device"]


def open_device(config: TrainConfig) -> torch.device:
    """The device that `config` names.

    Raises:
        ConfigError: torch finds no GPU.
    """
    if config.device == "cuda" and not torch.cuda.is_available():
        raise ConfigError("device: cuda, but torch finds no GPU here; set device to cpu")
    return torch.device(config.device)
