"""Boosted trees from XGBoost's JSON, evaluated in NumPy.

Importing xgboost takes over a second, more than a reset may; a few hundred small trees take a fraction of a
millisecond here. The format is XGBoost's documented model schema ("Introduction to Model IO").
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

__all__ = ["Trees"]


class Trees:
    """A regression model `reg:squarederror` of trees with numerical splits.

    Raises:
        ValueError: the file holds another kind of model.
    """

    def __init__(self, path: Path):
        learner = json.loads(path.read_text())["learner"]
        if learner["objective"]["name"] != "reg:squarederror":
            raise ValueError(f"{path}: objective {learner['objective']['name']}, not reg:squarederror")
        self._base = float(learner["learner_model_param"]["base_score"].strip("[]"))
        trees = learner["gradient_booster"]["model"]["trees"]
        nodes = max(len(tree["left_children"]) for tree in trees)

        def table(name: str, dtype: type) -> np.ndarray:
            padded: np.ndarray = np.zeros((len(trees), nodes), dtype)
            for row, tree in zip(padded, trees):
                row[: len(tree[name])] = tree[name]
            return padded

        self._left, self._right = table("left_children", np.int64), table("right_children", np.int64)
        self._feature = table("split_indices", np.int64)
        #: The threshold of a split; the value of a leaf.
        self._condition = table("split_conditions", np.float32)
        self._missing_left = table("default_left", np.int64) != 0

    def __call__(self, features: np.ndarray) -> float:
        """The prediction for a float32 vector; NaN is a missing value."""
        tree = np.arange(len(self._left))
        node = np.zeros(len(tree), np.int64)
        while True:
            left = self._left[tree, node]
            inner = left >= 0
            if not inner.any():
                return float(self._base + self._condition[tree, node].sum(dtype=np.float64))
            value = np.asarray(features, np.float32)[self._feature[tree, node]]
            unknown = np.isnan(value)
            goes_left = np.where(unknown, self._missing_left[tree, node], value < self._condition[tree, node])
            below = np.where(goes_left, left, self._right[tree, node])
            node = np.where(inner, below, node)
