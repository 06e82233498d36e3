"""TimesURL's augmentations of a batch of traces `[B, T, C]` (Liu and Chen, AAAI 2024, section 3)."""

from __future__ import annotations

from typing import NamedTuple

import torch

__all__ = ["Crops", "crops", "derangement", "frequency_mix", "hide", "universum"]

#: Frequencies of the largest amplitudes that mixing leaves alone, and probability of the others to be mixed.
PROTECTED, MIXED = 3, 0.5
#: Hidden per channel for reconstruction: segments, and the share of the trace that one covers.
SEGMENTS, SEGMENT_SHARE = 3, 0.05
#: How much of itself a universum keeps.
OWN_SHARE = 0.2


class Crops(NamedTuple):
    """Two crops of one trace, `[begin, end)` each, and the part that they share."""

    left: tuple[int, int]
    right: tuple[int, int]
    shared: tuple[int, int]


def crops(length: int, generator: torch.Generator) -> Crops:
    """Draw overlapping crops of a trace of `length >= 2` steps; they share at least two steps."""

    def draw(low: int, high: int) -> int:
        return int(torch.randint(low, high + 1, (1,), generator=generator))

    shared = draw(2, length)
    begin = draw(0, length - shared)
    end = begin + shared
    return Crops((draw(0, begin), end), (begin, draw(end, length)), (begin, end))


def frequency_mix(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Replace about half of each trace's weaker frequencies by those of another trace of the batch.

    The spectrum is that of real signals (rfft), so what comes back is real, with its sign, whatever is mixed.
    """
    spectrum = torch.fft.rfft(x, dim=1)
    strongest = torch.topk(spectrum.abs(), min(PROTECTED, spectrum.shape[1]), dim=1).indices
    mixed = torch.rand(spectrum.shape, generator=generator) < MIXED
    mixed = mixed.scatter(1, strongest, False)
    other = spectrum[derangement(len(x), generator)]
    return torch.fft.irfft(torch.where(mixed, other, spectrum), n=x.shape[1], dim=1)


def derangement(n: int, generator: torch.Generator) -> torch.Tensor:
    """A permutation of `n >= 2` that moves everything: a random cycle through all."""
    order = torch.randperm(n, generator=generator)
    result = torch.empty_like(order)
    result[order] = order.roll(-1)
    return result


def universum(z: torch.Tensor, dim: int, generator: torch.Generator) -> torch.Tensor:
    """Hard negatives: each representation mixed with another one along `dim` (0: traces, 1: steps)."""
    other = z.index_select(dim, derangement(z.shape[dim], generator))
    return OWN_SHARE * z + (1.0 - OWN_SHARE) * other


def hide(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Positions to hide, bool `[B, T, C]`: three segments of 5 % of the trace per channel."""
    batch, steps, channels = x.shape
    length = max(1, round(SEGMENT_SHARE * steps))
    hidden = torch.zeros(x.shape, dtype=torch.bool)
    for _ in range(SEGMENTS):
        begin = torch.randint(0, steps - length + 1, (batch, 1, channels), generator=generator)
        for offset in range(length):
            hidden.scatter_(1, begin + offset, True)
    return hidden
