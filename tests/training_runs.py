"""A small training run, and what tests look at of one."""

from __future__ import annotations

import csv
import os
import signal
from pathlib import Path

from seer_env.training import trainer
from seer_env.training.checkpoints import find_checkpoint
from seer_env.training.config import TrainConfig

GAMES = Path(__file__).parent / "parallel_games.py"
FLOCK = TrainConfig(
    env="flock_v0", world={"n_agents": 20}, max_cycles=10, copies=2, updates=4, rollout_steps=8, epochs=2,
    minibatch_size=64, group_size=16, hidden=(8, 8),
)  # fmt: skip


def progress_of(run: Path) -> list[dict[str, str]]:
    """The rows of a run's figures."""
    with (run / "progress.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def files(run: Path) -> dict[str, bytes]:
    """The last checkpoint, but for the time that it took and the name of its run."""
    folder = find_checkpoint(run)
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {n: path.read_bytes() for n, path in found.items() if n not in ("state.json", "config.yaml")}


def interrupted_after(update: int, monkeypatch) -> None:
    """Let the next runs get Ctrl-C behind an update."""
    write = trainer.RunLog.write

    def note(self, done, figures):
        write(self, done, figures)
        if done == update:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(trainer.RunLog, "write", note)
