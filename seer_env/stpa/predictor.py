"""The shipped predictor: a trace and static features in, a thread count with its uncertainty out.

The trace goes through the TimesURL encoder; representation and static features go into an ensemble of boosted
trees, which predict log2(threads / effective CPUs), the normalised thread count. Everything runs in NumPy.
The model, its data and its limits are described in `models/README.md`.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from seer_env.stpa.encoder import Encoder
from seer_env.stpa.features import StaticFeatures
from seer_env.stpa.tensors import read_tensors
from seer_env.stpa.trees import Trees

__all__ = ["MODELS", "Prediction", "Predictor", "predict"]

#: Where the shipped model lies.
MODELS = Path(__file__).parent / "models"
ENCODER, REFERENCE, TREES = "encoder.safetensors", "reference.safetensors", "trees_{}.json"


class Prediction(NamedTuple):
    """A proposed thread count.

    Attributes:
        threads: the ensemble's geometric mean, a real number of threads, at least 1.
        low, high: the ensemble's smallest and largest.
        trusted: False far from everything that the model was trained on: start from a simple rule then.
    """

    threads: float
    low: float
    high: float
    trusted: bool


class Predictor:
    """A model read from a folder.

    The folder holds the encoder's weights, one file of trees per member of the ensemble, and the training
    features (`points` `[n, f]`, standardised by `mean` and `scale` `[f]`) with the distance to their nearest
    (`radius`) beyond which a prediction is not trusted.
    """

    def __init__(self, folder: Path = MODELS):
        self.encoder = Encoder(read_tensors(folder / ENCODER))
        self.members = [Trees(path) for path in sorted(folder.glob(TREES.format("*")))]
        self._reference = read_tensors(folder / REFERENCE)

    def features(self, trace: np.ndarray, static: StaticFeatures) -> np.ndarray:
        """What the trees see: representation, then static features, float32."""
        return np.concatenate([self.encoder(trace), static.vector()])

    def distance(self, features: np.ndarray) -> float:
        """To the nearest training features, in standard deviations per root of the dimension."""
        known = self._reference
        standard = (features - known["mean"]) / known["scale"]
        nearest = np.square(known["points"] - standard).mean(axis=1).min()
        return float(np.sqrt(nearest))

    def __call__(self, trace: np.ndarray, static: StaticFeatures) -> Prediction:
        """Propose a thread count; see `predict`."""
        features = self.features(trace, static)
        ratios = [member(features) for member in self.members]
        trusted = self.distance(features) <= float(self._reference["radius"][0])
        mean, low, high = (max(1.0, float(static.cpus * 2.0 ** f(ratios))) for f in (np.mean, np.min, np.max))
        return Prediction(mean, low, high, trusted)


@lru_cache(maxsize=1)
def _shipped() -> Predictor:
    return Predictor()


def predict(trace: np.ndarray, static: StaticFeatures) -> Prediction:
    """Propose a thread count by the shipped model, which is read at the first call.

    Args:
        trace: `F` of `trace.record`, float32 `[metrics, T, 3]`, NaN where masked.
        static: `features.static_features` of the world that was traced.
    """
    return _shipped()(trace, static)
