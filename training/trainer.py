"""The training loop: rollout, update, log, checkpoint."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch

from seer_env.training.buffer import Batch
from seer_env.training.checkpoints import Progress, restore, save_checkpoint
from seer_env.training.config import TrainConfig, dump_config
from seer_env.training.logging import RunLog
from seer_env.training.mappo import PARTS, Learner, Networks, Worker
from seer_env.training.worlds import open_worlds

__all__ = ["train"]


def train(config: TrainConfig, resume: Path | None = None) -> Progress:
    """Train until `config.updates` updates are done, or Ctrl-C; either way a checkpoint is left.

    Args:
        config: the settings.
        resume: a checkpoint to go on from. The run is then, bit for bit, the one that was not interrupted,
            if its worlds can be saved (`Worlds.resumable`).

    Returns:
        What was done.

    Raises:
        TrainingError: a reward, an observation or a loss is not finite.
        CheckpointError, BoundaryFileError: `resume` does not fit.
    """
    torch.set_num_threads(config.torch_threads)
    learner, worker = set_up(config)
    progress = Progress()
    if resume is None:
        worker.worlds.reset(config.seed)
    else:
        progress = restore(resume, learner, worker)
        if not worker.worlds.resumable:
            print(f"{config.env} cannot be saved: its episodes begin anew", file=sys.stderr)
    config.run.mkdir(parents=True, exist_ok=True)
    (config.run / "config.yaml").write_text(dump_config(config), encoding="utf-8")
    with RunLog(config.run, config.updates, progress.updates) as log, interrupt_noted() as interrupted:
        while progress.updates < config.updates and not interrupted:
            start = time.perf_counter()
            batch = worker.collect()
            collected = time.perf_counter()
            losses = learner.update(batch, progress.updates)
            end = time.perf_counter()
            progress.updates += 1
            progress.decisions += int(batch.active.sum())
            progress.seconds += end - start
            log.write(
                progress.updates, losses | figures(batch, worker, progress, end - start, end - collected)
            )
            if progress.updates % config.checkpoint_every == 0:
                save_checkpoint(config, learner, worker, progress)
        save_checkpoint(config, learner, worker, progress)
    worker.worlds.close()
    return progress


def set_up(config: TrainConfig) -> tuple[Learner, Worker]:
    """A learner and a worker for new worlds, which are not reset yet; all follows from `config.seed`."""
    worlds = open_worlds(config)
    initial, acting, shuffling = np.random.SeedSequence(config.seed).generate_state(3)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(initial))
        networks = Networks(worlds, config)
    worker = Worker(worlds, networks, torch.Generator().manual_seed(int(acting)), config)
    return Learner(networks, config, torch.Generator().manual_seed(int(shuffling))), worker


def figures(
    batch: Batch, worker: Worker, progress: Progress, seconds: float, update_s: float
) -> dict[str, float]:
    """A rollout and the time it took, named as TensorBoard shows them; times are of this update alone."""
    decisions = int(batch.active.sum())
    result = {
        "charts/decisions": float(progress.decisions),
        "charts/seconds": progress.seconds,
        "charts/SPS": decisions / seconds,
        "charts/reward": worker.earned / decisions,
        "time/update": update_s,
    }
    for part in PARTS:
        result[f"time/{part}"], worker.seconds[part] = worker.seconds[part], 0.0
    if worker.finished:
        result["charts/episodic_return"], result["charts/episodic_length"] = np.mean(
            worker.finished, axis=0
        ).tolist()
    return result


@contextmanager
def interrupt_noted() -> Iterator[list[bool]]:
    """Ctrl-C inside the block fills the list, once; the second one interrupts as usual."""
    noted: list[bool] = []
    if threading.current_thread() is not threading.main_thread():
        yield noted
        return

    def note(*_: object) -> None:
        noted.append(True)
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)
