"""The TimesURL encoder in torch, as it is trained; `encoder.Encoder` runs the same weights in NumPy."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

__all__ = ["Network"]

WIDTH, OUTPUT, BLOCKS = 32, 64, 4
RECONSTRUCTION = 256
DROPOUT = 0.1


class Block(nn.Module):
    """GELU, dilated convolution, twice, and what came in."""

    def __init__(self, inputs: int, outputs: int, dilation: int):
        super().__init__()
        self.first = nn.Conv1d(inputs, outputs, 3, padding=dilation, dilation=dilation)
        self.second = nn.Conv1d(outputs, outputs, 3, padding=dilation, dilation=dilation)
        self.skip = nn.Conv1d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """`[B, inputs, T]` to `[B, outputs, T]`."""
        y = self.first(nn.functional.gelu(x, approximate="tanh"))
        y = self.second(nn.functional.gelu(y, approximate="tanh"))
        return y + self.skip(x)


class Network(nn.Module):
    """Encoder and reconstruction head for standardised traces of `channels` channels.

    Four blocks see 61 steps, more than a trace has; the last one widens to the representation.
    """

    def __init__(self, channels: int):
        super().__init__()
        self.input = nn.Linear(channels, WIDTH)
        widths = [WIDTH] * BLOCKS + [OUTPUT]
        self.blocks = nn.ModuleList(Block(widths[b], widths[b + 1], 2**b) for b in range(BLOCKS))
        self.dropout = nn.Dropout(DROPOUT)
        self.head = nn.Sequential(
            nn.Linear(OUTPUT, RECONSTRUCTION), nn.ReLU(), nn.Linear(RECONSTRUCTION, channels)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Representations of the steps: `[B, T, channels]` to `[B, T, 64]`."""
        y = self.input(x).transpose(1, 2)
        for block in self.blocks:
            y = block(y)
        return self.dropout(y.transpose(1, 2))

    def exported(self, mean: np.ndarray, scale: np.ndarray) -> dict[str, np.ndarray]:
        """The encoder's weights as `encoder.Encoder` takes them: without the head."""
        arrays = {"mean": mean.astype(np.float32), "scale": scale.astype(np.float32)}
        for name, tensor in self.state_dict().items():
            if not name.startswith("head."):
                arrays[name] = tensor.detach().cpu().numpy()
        return arrays
