"""What is held back: configurations, ranges, worlds and machines. Real and simulated sweeps apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import GroupShuffleSplit

from seer_env.stpa.dataset import Sweep

__all__ = ["Split", "splits"]

#: Share of the configurations that a group split holds back.
HELD_BACK = 0.25


@dataclass(frozen=True)
class Split:
    """Sweeps to learn from, and to be asked about. `name` says what was held back."""

    name: str
    seed: int
    train: list[Sweep]
    test: list[Sweep]


def splits(sweeps: Sequence[Sweep], seeds: int) -> Iterator[Split]:
    """All splits of Table 1: groups, ranges, worlds and machines held back.

    What is learned from always has real and simulated sweeps; what is held back is one kind only. A
    simulated sweep made from a held-back configuration is not learned from.
    """
    real, simulated = ([s for s in sweeps if s.simulated == wanted] for wanted in (False, True))
    for kind, some, others in (("real", real, simulated), ("simulated", simulated, real)):
        for seed in range(seeds if some else 0):
            yield _split(f"{kind}: configurations", seed, some, others, _group_test(some, seed))
    if real:
        scale = np.quantile([s.profile.events for s in real], 1.0 - HELD_BACK)
        large = [s for s in real if s.profile.events > scale]
        for seed in range(seeds):
            yield _split("real: range (most events per step)", seed, real, simulated, large)
        for seed, world in enumerate(sorted({s.configuration.world for s in real})):
            held = [s for s in real if s.configuration.world == world]
            yield _split("real: worlds", seed, real, simulated, held)
    if simulated:
        largest = sorted({s.cpus for s in simulated})[-2:]
        held = [s for s in simulated if s.cpus in largest]
        for seed in range(seeds):
            yield _split("simulated: machines (the two largest)", seed, simulated, real, held)


def _group_test(sweeps: Sequence[Sweep], seed: int) -> list[Sweep]:
    groups = [_group(s) for s in sweeps]
    splitter = GroupShuffleSplit(n_splits=1, test_size=HELD_BACK, random_state=seed)
    _, test = next(splitter.split(np.zeros(len(sweeps)), groups=groups))
    return [sweeps[int(i)] for i in test]


def _group(sweep: Sweep) -> int:
    """The real configuration that a sweep is of, or was made from."""
    return int(sweep.configuration.arguments.get("source", sweep.configuration.index))


def _split(name: str, seed: int, some: Sequence[Sweep], others: Sequence[Sweep], test: list[Sweep]) -> Split:
    held = {s.configuration.index for s in test}
    sources = {_group(s) for s in test}
    train = [s for s in some if s.configuration.index not in held]
    train += [s for s in others if _group(s) not in sources]
    if not test[0].simulated:
        train = [s for s in train if _group(s) not in sources]
    return Split(name, seed, train, test)
