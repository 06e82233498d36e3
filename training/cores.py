"""How the machine's cores are split between rollouts and training that overlap (`elastic`)."""

from __future__ import annotations

import statistics
import sys
from typing import Literal, NamedTuple

import torch

from seer_env.machine import effective_cpus
from seer_env.training.asynchronous import Asynchronous
from seer_env.training.rollouts import Rollouts

__all__ = ["CoreSplit", "Cores"]

#: A stage is behind if it takes so many times as long as the other; a core moves after so many updates.
BEHIND, PATIENCE = 1.15, 20

Stage = Literal["rollouts", "training"]


class Move(NamedTuple):
    """A core that has moved: to whom, its seconds before, and the rollouts' cores before."""

    stage: Stage
    seconds: float
    rollouts: int


class CoreSplit:
    """Moves a core to the stage that stays behind; each keeps one at least.

    A stage is behind while it takes over 15 % longer than the other. After 20 updates in a row it gets a
    core, and the count begins again. If the median of its next 20 is longer than that of those, the core goes
    back, and that split is not tried again.

    Args:
        cores: to be split; at least two, since both stages need one.
        rollouts: those that rollouts begin with.
        most: those that rollouts can use.
        settling: updates after a move that do not count: their rollouts were begun before it.

    Attributes:
        rollouts: their cores.
    """

    def __init__(self, cores: int, rollouts: int, most: int, settling: int = 0):
        self._cores = max(cores, 2)
        self._most = max(1, min(most, self._cores - 1))
        self.rollouts = max(1, min(rollouts, self._most))
        self._settling = settling
        self._left = 0  # updates that do not count
        self._slower: Stage = "rollouts"
        self._behind: list[float] = []  # seconds of the slower stage, of each update in a row
        self._move: Move | None = None  # on trial
        self._tried: list[float] = []  # seconds, since then, of the stage that got the core
        self._worse: set[int] = set()  # rollouts' cores that were taken back

    @property
    def training(self) -> int:
        """Cores of training."""
        return self._cores - self.rollouts

    @property
    def fixed(self) -> bool:
        """Whether no core can ever move."""
        return self._most == self.rollouts == 1

    def observe(self, rollout_s: float, training_s: float) -> bool:
        """Take in an update's seconds; whether a core has moved, to be heeded from the next update on."""
        if self._left:
            self._left -= 1
            return False
        slower: Stage = "rollouts" if rollout_s > training_s else "training"
        shorter, longer = sorted((rollout_s, training_s))
        behind = longer > BEHIND * shorter
        if not behind or slower != self._slower:
            self._behind.clear()
        if behind:
            self._behind.append(longer)
        self._slower = slower
        return self._taken_back(rollout_s, training_s) or self._given()

    def _taken_back(self, rollout_s: float, training_s: float) -> bool:
        """Judge the move that is on trial, once enough has been seen of it."""
        move = self._move
        if move is None:
            return False
        self._tried.append(rollout_s if move.stage == "rollouts" else training_s)
        if len(self._tried) < PATIENCE:
            return False
        self._move = None
        if statistics.median(self._tried) <= move.seconds:
            return False
        self._worse.add(self.rollouts)
        self._change(move.rollouts)
        return True

    def _given(self) -> bool:
        """Give a core to the stage that has been behind for long enough, if the other has one to spare."""
        if len(self._behind) < PATIENCE:
            return False
        seconds = statistics.median(self._behind)
        rollouts = self.rollouts + (1 if self._slower == "rollouts" else -1)
        if not 1 <= rollouts <= self._most or rollouts in self._worse:
            self._behind.clear()
            return False
        self._move = Move(self._slower, seconds, self.rollouts)
        self._change(rollouts)
        return True

    def _change(self, rollouts: int) -> None:
        self.rollouts, self._left = rollouts, self._settling
        self._behind.clear()
        self._tried.clear()


class Cores:
    """Gives a run's stages the cores of a split, as threads: of worlds' steps, and of torch where it trains.

    Rollouts begin with as many as STPA chose for a step, half of the effective CPUs at most. What worlds do
    does not depend on their threads. What torch adds up may, so such a run is not repeated bit for bit.

    Args:
        rollouts: which have begun their episodes, and have rolled out nothing yet.
        staleness: of the run.
        cpus: to be split; the effective ones if None.
    """

    def __init__(self, rollouts: Rollouts, staleness: int, cpus: int | None = None):
        assert isinstance(rollouts, Asynchronous), "elastic runs have staleness"
        cpus = effective_cpus() if cpus is None else cpus
        groups = rollouts.groups()
        chosen = max(worlds.threads for worlds in groups)
        most = min(worlds.most_threads for worlds in groups)
        self._rollouts = rollouts
        self.split = CoreSplit(cpus, min(chosen, cpus // 2), most, staleness)
        if self.split.fixed:
            print(
                f"elastic: nothing to move on {cpus} effective CPUs, with steps on {most} threads at most: "
                f"rollouts keep 1, training {self.split.training}",
                file=sys.stderr,
            )
        self._heed()

    def observe(self, rollout_s: float, training_s: float) -> dict[str, float]:
        """Take in an update's seconds, in the thread that trains; the cores that it had, for the log."""
        had = {"cores/rollouts": float(self.split.rollouts), "cores/training": float(self.split.training)}
        if self.split.observe(rollout_s, training_s):
            self._heed()
        return had

    def _heed(self) -> None:
        self._rollouts.use_threads(self.split.rollouts)
        torch.set_num_threads(max(1, self.split.training // 2))  # actor and critic train beside each other
        torch.get_num_threads()  # torch heeds a first setting late, and then takes another thread's
