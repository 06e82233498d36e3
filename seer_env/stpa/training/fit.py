"""Training the encoder: contrast between crops and reconstruction of what is hidden, no labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

from seer_env.stpa.features import channels
from seer_env.stpa.training.augment import crops, frequency_mix, hide
from seer_env.stpa.training.losses import hierarchical, reconstruction
from seer_env.stpa.training.network import Network

__all__ = ["Options", "fit_encoder", "standard"]

#: The least steps of a trace that is trained on; shorter ones have no two crops worth contrasting.
SHORTEST = 4


@dataclass(frozen=True)
class Options:
    """How the encoder is trained; the weights of the losses are those of the TimesURL paper."""

    steps: int = 200
    """Batches."""
    batch: int = 32
    """Traces in a batch, all cut to the length of the shortest."""
    rate: float = 1e-3
    """AdamW's step size."""
    decay: float = 5e-4
    """AdamW's weight decay."""
    contrastive: float = 0.01
    """Weight of the contrastive losses."""
    reconstruction: float = 1.0
    """Weight of the reconstruction loss."""


def standard(traces: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and scale `[C]` of the channels over all traces, masked entries left out."""
    steps = np.concatenate([channels(trace) for trace in traces]).astype(np.float64)
    known = np.isfinite(steps)
    count = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, steps, 0.0).sum(axis=0) / count
    variance = np.where(known, np.square(steps - mean), 0.0).sum(axis=0) / count
    return mean, np.where(variance > 1e-12, np.sqrt(variance), 1.0)


def fit_encoder(
    traces: Sequence[np.ndarray], seed: int, options: Options | None = None
) -> dict[str, np.ndarray]:
    """Weights for `encoder.Encoder`, trained on traces `F` `[metrics, T, 3]`.

    Those of the last half of the batches are averaged.
    """
    options = options or Options()
    torch.set_num_threads(1)  # of a network this small, threads would mostly wait for each other
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    mean, scale = standard(traces)
    known = [torch.from_numpy(_standardised(trace, mean, scale)) for trace in traces]
    long = [x for x in known if len(x) >= SHORTEST] or known
    lengths = torch.tensor([len(x) for x in long])
    network = Network(channels(traces[0]).shape[1])
    averaged = AveragedModel(network)
    optimiser = torch.optim.AdamW(network.parameters(), lr=options.rate, weight_decay=options.decay)
    for step in range(options.steps):
        # Traces of like length share a batch, so that little is cut off.
        noisy = lengths + torch.rand(len(long), generator=generator)
        order = torch.argsort(noisy)
        first = int(torch.randint(0, max(1, len(long) - options.batch + 1), (1,), generator=generator))
        batch = [long[int(i)] for i in order[first : first + options.batch]]
        shortest = min(len(x) for x in batch)
        optimiser.zero_grad()
        loss(network, torch.stack([x[:shortest] for x in batch]), options, generator).backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        if step >= options.steps // 2:
            averaged.update_parameters(network)
    network.load_state_dict(averaged.module.state_dict())
    return network.exported(mean, scale)


def _standardised(trace: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> np.ndarray:
    return ((channels(trace) - mean) / scale).astype(np.float32)


def loss(network: Network, x: torch.Tensor, options: Options, generator: torch.Generator) -> torch.Tensor:
    """The loss of a batch `[B, T, C]`, NaN where masked."""
    known = torch.isfinite(x)
    x = torch.nan_to_num(x, nan=0.0)
    cut = crops(x.shape[1], generator)
    left, right = (x[:, begin:end] for begin, end in (cut.left, cut.right))
    mixed = frequency_mix(right, generator)
    shared, restoring = [], torch.zeros(())
    for view, (begin, end) in ((left, cut.left), (mixed, cut.right)):
        seen = known[:, begin:end]
        view = torch.where(seen, view, 0.0)  # mixing must not fill in what nobody measured
        hidden = hide(view, generator)
        z = network(torch.where(hidden, 0.0, view))
        restoring = restoring + reconstruction(network.head(z), view, hidden & seen)
        shared.append(z[:, cut.shared[0] - begin : cut.shared[1] - begin])
    contrastive = hierarchical(shared[0], shared[1], generator)
    return options.contrastive * contrastive + options.reconstruction * restoring / 2.0
