"""Training the shipped model: encoder, ensemble, and what they were trained on, in one folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from seer_env.stpa.dataset import Sweep
from seer_env.stpa.predictor import ENCODER, REFERENCE, TREES
from seer_env.stpa.tensors import write_tensors
from seer_env.stpa.training.fit import Options
from seer_env.stpa.training.learners import Lesson, boosted

__all__ = ["reference", "ship"]

#: Training rows that are kept as reference, and the share of the others that counts as near to them.
POINTS, NEAR = 384, 0.99


def ship(sweeps: Sequence[Sweep], folder: Path, seed: int = 0, options: Options | None = None) -> None:
    """Train on all sweeps and write the files that `predictor.Predictor` reads."""
    lesson = Lesson(sweeps, seed, options)
    static = np.stack([s.static.vector() for s in lesson.sweeps])
    features = np.hstack([lesson.representations, static]).astype(np.float32)
    folder.mkdir(parents=True, exist_ok=True)
    write_tensors(folder / ENCODER, lesson.encoder.weights)
    write_tensors(folder / REFERENCE, reference(features, seed))
    for old in folder.glob(TREES.format("*")):
        old.unlink()
    for member, model in enumerate(boosted(features, lesson.targets, seed)):
        model.save_model(folder / TREES.format(member))


def reference(features: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """Some training features, standardised, and how far the others mostly are from them."""
    mean, scale = features.mean(axis=0), features.std(axis=0)
    scale = np.where(scale > 1e-6, scale, 1.0)
    standard = (features - mean) / scale
    order = np.random.default_rng(seed).permutation(len(features))
    points, others = standard[order[:POINTS]], standard[order[POINTS:]]
    if not len(others):
        points, others = np.array_split(points, 2)
    distances = [np.sqrt(np.square(points - row).mean(axis=1).min()) for row in others]
    radius = np.quantile(distances, NEAR)
    arrays = {"points": points, "mean": mean, "scale": scale, "radius": np.array([radius])}
    return {name: np.asarray(values, np.float32) for name, values in arrays.items()}
