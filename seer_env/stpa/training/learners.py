"""One-shot predictors of the thread count: those that the SEER paper compares in Table 1.

Each learns the normalised thread count from sweeps. What the paper leaves open is decided here: "TimesURL" is
a ridge regression on the representation alone; "TR+GP", which the paper does not spell out, is read as trace
representation and Gaussian process.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import torch
import xgboost
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler
from torch import nn

from seer_env.stpa.dataset import Sweep
from seer_env.stpa.encoder import Encoder
from seer_env.stpa.features import channels
from seer_env.stpa.labels import label, log_ratio
from seer_env.stpa.training.fit import Options, fit_encoder, standard

__all__ = ["LEARNERS", "Lesson", "boosted"]

#: Boosted trees: small ones, many, each of a part of rows and columns.
TREES = {
    "n_estimators": 80,
    "max_depth": 3,
    "learning_rate": 0.1,
    "subsample": 0.8,
    "colsample_bytree": 0.5,
    "min_child_weight": 2,
    "n_jobs": 1,
}
#: Members of an ensemble.
MEMBERS = 5
#: A Gaussian process takes at most so many rows: its cost grows with their cube.
MOST_ROWS = 600
#: The LSTM: width, passes over the data, rows in a batch.
WIDTH, EPOCHS, BATCH = 32, 25, 32


class Lesson:
    """Sweeps to learn from, and what several learners need of them, computed once.

    Args:
        sweeps: the training part of a split.
        seed: of everything random.
        options: of the encoder.
    """

    def __init__(self, sweeps: Sequence[Sweep], seed: int, options: Options | None = None):
        torch.set_num_threads(1)  # of networks this small, threads would mostly wait for each other
        self.sweeps, self.seed, self._options = list(sweeps), seed, options
        self.targets = np.array([log_ratio(label(s), s) for s in self.sweeps])

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder, trained on these sweeps' traces alone."""
        return Encoder(fit_encoder([s.trace for s in self.sweeps], self.seed, self._options))

    @cached_property
    def representations(self) -> np.ndarray:
        """Of all sweeps, `[n, 64]`."""
        return np.stack([self.encoder(s.trace) for s in self.sweeps])


#: Learns from a lesson; returns the normalised thread count of a sweep.
Learner = Callable[[Lesson], Callable[[Sweep], float]]


def boosted(x: np.ndarray, y: np.ndarray, seed: int) -> list[xgboost.XGBRegressor]:
    """An ensemble of boosted trees, each of a bootstrap of the rows."""
    rng, members = np.random.default_rng(seed), []
    for member in range(MEMBERS):
        rows = rng.integers(len(x), size=len(x))
        model = xgboost.XGBRegressor(**TREES, random_state=seed * MEMBERS + member)
        members.append(model.fit(x[rows], y[rows]))
    return members


def _mean(members: Sequence[xgboost.XGBRegressor], row: np.ndarray) -> float:
    return float(np.mean([member.predict(row[None])[0] for member in members]))


def stpa(lesson: Lesson) -> Callable[[Sweep], float]:
    """Representation and static features, into boosted trees: the paper's STPA."""
    static = np.stack([s.static.vector() for s in lesson.sweeps])
    members = boosted(np.hstack([lesson.representations, static]), lesson.targets, lesson.seed)
    return lambda s: _mean(members, np.concatenate([lesson.encoder(s.trace), s.static.vector()]))


def xgboost_alone(lesson: Lesson) -> Callable[[Sweep], float]:
    """The trace's means over time and static features, into boosted trees."""
    members = boosted(np.stack([_summary(s) for s in lesson.sweeps]), lesson.targets, lesson.seed)
    return lambda s: _mean(members, _summary(s))


def _summary(sweep: Sweep) -> np.ndarray:
    """Channels, averaged over time (NaN where masked), and static features."""
    return np.concatenate([channels(sweep.trace).mean(axis=0), sweep.static.vector()])


def timesurl(lesson: Lesson) -> Callable[[Sweep], float]:
    """The representation, into ridge regression."""
    model = Ridge(alpha=1.0).fit(lesson.representations, lesson.targets)
    return lambda s: float(model.predict(lesson.encoder(s.trace)[None])[0])


def trace_gp(lesson: Lesson) -> Callable[[Sweep], float]:
    """The representation, into a Gaussian process."""
    rng = np.random.default_rng(lesson.seed)
    rows = rng.permutation(len(lesson.sweeps))[:MOST_ROWS]
    scaler = StandardScaler().fit(lesson.representations[rows])
    kernel = RBF(8.0, (0.1, 1000.0)) + WhiteKernel(0.1, (1e-3, 10.0))
    model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=lesson.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a scale at its bound is as good as beyond it
        model.fit(scaler.transform(lesson.representations[rows]), lesson.targets[rows])
    return lambda s: float(model.predict(scaler.transform(lesson.encoder(s.trace)[None]))[0])


def lstm(lesson: Lesson) -> Callable[[Sweep], float]:
    """The trace step by step, into a recurrent network."""
    torch.manual_seed(lesson.seed)
    mean, scale = standard([s.trace for s in lesson.sweeps])

    def prepared(sweep: Sweep) -> torch.Tensor:
        steps = np.nan_to_num((channels(sweep.trace) - mean) / scale).astype(np.float32)
        return torch.from_numpy(steps)

    network = Recurrent(len(mean))
    optimiser = torch.optim.Adam(network.parameters(), lr=3e-3)
    traces, targets = [prepared(s) for s in lesson.sweeps], torch.tensor(lesson.targets).float()
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(traces)).split(BATCH):
            optimiser.zero_grad()
            nn.functional.mse_loss(network([traces[int(i)] for i in rows]), targets[rows]).backward()
            optimiser.step()
    network.eval()

    def predicted(sweep: Sweep) -> float:
        with torch.no_grad():
            return float(network([prepared(sweep)])[0])

    return predicted


class Recurrent(nn.Module):
    """An LSTM over steps of `channels` channels, and a line from its last state."""

    def __init__(self, channels: int):
        super().__init__()
        self.cell = nn.LSTM(channels, WIDTH, batch_first=True)
        self.out = nn.Linear(WIDTH, 1)

    def forward(self, traces: Sequence[torch.Tensor]) -> torch.Tensor:
        """Traces `[T, channels]` of any lengths to `[len(traces)]`."""
        packed = nn.utils.rnn.pack_sequence(list(traces), enforce_sorted=False)
        _, (hidden, _) = self.cell(packed)
        return self.out(hidden[-1])[:, 0]


LEARNERS: dict[str, Learner] = {
    "LSTM": lstm,
    "XGBoost": xgboost_alone,
    "TimesURL": timesurl,
    "TR+GP": trace_gp,
    "STPA": stpa,
}
