"""The TimesURL encoder in NumPy: what `training/network.py` trains with torch, without torch.

A residual network of dilated convolutions over the trace (Liu and Chen, "TimesURL", AAAI 2024); the
representation of a trace is the maximum over time. `reset` needs one forward pass of some 16 steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from seer_env.stpa.features import channels

__all__ = ["Encoder", "gelu"]


class Encoder:
    """A trained encoder.

    Args:
        weights: `mean`, `scale` `[C]` of the channels; `input.weight` `[W, C]`; for each block `b`
            `blocks.b.first.weight` `[out, in, 3]` and `blocks.b.second.weight` `[out, out, 3]`, and where
            `out` is not `in` `blocks.b.skip.weight` `[out, in, 1]`; each `.weight` with its `.bias`.
    """

    def __init__(self, weights: Mapping[str, np.ndarray]):
        self.weights = weights
        self._blocks = len({name.split(".")[1] for name in weights if name.startswith("blocks.")})

    @property
    def size(self) -> int:
        """Length of a representation."""
        return self.weights[f"blocks.{self._blocks - 1}.second.bias"].shape[0]

    def __call__(self, trace: np.ndarray) -> np.ndarray:
        """The representation of a trace `F` `[metrics, T, 3]`: float32 `[size]`."""
        return self.per_step(self.prepared(trace)).max(axis=0)

    def prepared(self, trace: np.ndarray) -> np.ndarray:
        """Channels `[T, C]`, standardised; what is masked is 0, the mean of the training data."""
        standard = (channels(trace) - self.weights["mean"]) / self.weights["scale"]
        return np.nan_to_num(standard, nan=0.0).astype(np.float32)

    def per_step(self, x: np.ndarray) -> np.ndarray:
        """Representations of the steps, `[T, size]`, of prepared channels."""
        w = self.weights
        x = x @ w["input.weight"].T + w["input.bias"]
        for block in range(self._blocks):
            name, dilation = f"blocks.{block}", 2**block
            skip = x
            if f"{name}.skip.weight" in w:
                skip = x @ w[f"{name}.skip.weight"][:, :, 0].T + w[f"{name}.skip.bias"]
            x = convolve(gelu(x), w[f"{name}.first.weight"], w[f"{name}.first.bias"], dilation)
            x = convolve(gelu(x), w[f"{name}.second.weight"], w[f"{name}.second.bias"], dilation)
            x = x + skip
        return x


def convolve(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, dilation: int) -> np.ndarray:
    """A dilated convolution over time of kernel 3, zeros beyond the ends: `[T, in]` to `[T, out]`."""
    steps = len(x)
    padded = np.zeros((steps + 2 * dilation, x.shape[1]), np.float32)
    padded[dilation : dilation + steps] = x
    y = np.broadcast_to(bias, (steps, len(bias))).copy()
    for tap in range(3):
        y += padded[tap * dilation : tap * dilation + steps] @ weight[:, :, tap].T
    return y


def gelu(x: np.ndarray) -> np.ndarray:
    """GELU by its tanh form (Hendrycks and Gimpel 2016), which NumPy has the functions for."""
    return 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)))
