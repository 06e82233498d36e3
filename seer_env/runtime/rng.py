"""One random stream per entity: SplittableRandom's mixing of a Weyl sequence.

Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. A stream is
a start and an odd increment (gamma) of its own, both hashed from `(seed, entity)`; its n-th value
is `mix64(start + n * gamma)`. The streams are therefore independent of the order in which
entities run. This module holds the reference in Python integers; `sim_events.py` holds the compiled
twin, and a test compares the two.
"""

from __future__ import annotations

import math

import numpy as np

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
TO_UNIT = 1.0 / (1 << 53)


def mix64(z: int) -> int:
    """Stafford's variant 13 of the 64-bit finaliser: a bijection on 64-bit integers."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def streams(seed: int, n_entities: int) -> tuple[np.ndarray, np.ndarray]:
    """Starts and gammas of the streams of entities `0..n_entities-1`, each uint64 `[n_entities]`."""
    index = np.arange(n_entities, dtype=np.uint64)
    base = np.uint64(seed & MASK)
    with np.errstate(over="ignore"):
        start = _mix64_array(base + np.uint64(GOLDEN) * (np.uint64(2) * index + np.uint64(1)))
        gamma = _mix64_array(base + np.uint64(GOLDEN) * (np.uint64(2) * index + np.uint64(2)))
    gamma |= np.uint64(1)
    # A gamma with few bit transitions mixes badly (section 5 of the paper).
    transitions = np.unpackbits((gamma ^ (gamma >> np.uint64(1))).view(np.uint8)).reshape(-1, 64).sum(1)
    gamma[transitions < 24] ^= np.uint64(0xAAAAAAAAAAAAAAAA)
    return start, gamma


def step_random(key: int, step: int) -> np.random.Generator:
    """The random numbers of one step of a world that all entities share: no state, so nothing to save.

    Philox (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011) with a key per episode; a
    step has 2^192 values of its counter to itself.
    """
    return np.random.Generator(np.random.Philox(key=key, counter=[0, 0, 0, step]))


def _mix64_array(z: np.ndarray) -> np.ndarray:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


class Stream:
    """One entity's stream over the arrays that `streams` made; draws advance `starts[entity]`."""

    def __init__(self, starts: np.ndarray, gammas: np.ndarray, entity: int):
        self._starts, self._gamma, self._entity = starts, int(gammas[entity]), entity

    def bits(self) -> int:
        """The next 64 random bits."""
        state = (int(self._starts[self._entity]) + self._gamma) & MASK
        self._starts[self._entity] = state
        return mix64(state)

    def random(self) -> float:
        """Uniform on [0, 1), 53 bits."""
        return (self.bits() >> 11) * TO_UNIT

    def exponential(self, mean: float = 1.0) -> float:
        """Exponential with the given mean."""
        return -math.log(1.0 - self.random()) * mean

    def normal(self, mean: float = 0.0, std: float = 1.0) -> float:
        """Normal by Box and Muller's cosine branch; takes two draws."""
        radius = math.sqrt(-2.0 * math.log(1.0 - self.random()))
        return mean + std * (radius * math.cos(2.0 * math.pi * self.random()))

    def integers(self, n: int) -> int:
        """Uniform on 0..n-1; the bias is below n / 2**53."""
        return int(self.random() * n)
