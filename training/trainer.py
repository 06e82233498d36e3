"""The training loop: rollout, update, log, checkpoint."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import torch

from seer_env.training.checkpoints import Progress, restore, save_checkpoint, written
from seer_env.training.config import TrainConfig, dump_config
from seer_env.training.cores import Cores
from seer_env.training.logging import RunLog
from seer_env.training.mappo import Learner
from seer_env.training.rollouts import SPENT_ON, Rollout, Rollouts
from seer_env.training.sources import open_rollouts

__all__ = ["train"]


def train(config: TrainConfig, resume: Path | None = None) -> Progress:
    """Train until `config.updates` updates are done, or Ctrl-C; either way a checkpoint is left.

    Args:
        config: the settings.
        resume: a checkpoint to go on from. The run is then, bit for bit, the one that was not interrupted,
            unless it is `elastic`, or in a PettingZoo env that its seed and actions do not repeat.

    Returns:
        What was done.

    Raises:
        TrainingError: a reward, an observation or a loss is not finite.
        CheckpointError: `resume` does not fit, or the run's folder cannot be written.
        BoundaryFileError: a world's file does not fit.
    """
    torch.set_num_threads(config.torch_threads or 1)
    learner, rollouts = set_up(config)
    with closing(rollouts):
        progress = begin(config, resume, learner, rollouts)
        cores = Cores(rollouts, config.staleness) if config.elastic else None
        with written(config.run):
            config.run.mkdir(parents=True, exist_ok=True)
        saved = None  # updates that the last checkpoint has
        with RunLog(config.run, config.updates, progress.updates) as log, interrupt_noted() as interrupted:
            with written(config.run):
                (config.run / "config.yaml").write_text(dump_config(config), encoding="utf-8")
            while progress.updates < config.updates and not interrupted:
                log.write(progress.updates + 1, one_update(learner, rollouts, progress, cores))
                if progress.updates % config.checkpoint_every == 0:
                    save_checkpoint(config, learner, rollouts, progress)
                    saved = progress.updates
            if saved != progress.updates:
                save_checkpoint(config, learner, rollouts, progress)
    return progress


def begin(config: TrainConfig, resume: Path | None, learner: Learner, rollouts: Rollouts) -> Progress:
    """Begin episodes, or go on from a checkpoint; says so where that is not bit for bit."""
    if resume is None:
        rollouts.reset(config.seed)
        return Progress()
    progress = restore(resume, learner, rollouts)
    if not rollouts.resumable:
        print(
            f"{config.env}: its seed and actions do not repeat an episode, so new ones begin", file=sys.stderr
        )
    if config.elastic:
        print(
            "elastic: how torch adds depends on its threads, so the run goes on, but not bit for bit",
            file=sys.stderr,
        )
    return progress


def one_update(
    learner: Learner, rollouts: Rollouts, progress: Progress, cores: Cores | None = None
) -> dict[str, float]:
    """Collect the rollouts of an update and train on them; what came of it, named as TensorBoard shows it."""
    start, update_s, losses, collected = time.perf_counter(), 0.0, [], []
    rollouts.publish(learner.networks, progress.updates)
    for _ in range(rollouts.parts):
        rollout = rollouts.collect()
        begin = time.perf_counter()
        losses.append(learner.update(rollout.batch, progress.updates, rollout.version))
        update_s += time.perf_counter() - begin
        collected.append(rollout)
    seconds = time.perf_counter() - start
    progress.updates += 1
    progress.decisions += sum(int(rollout.batch.active.sum()) for rollout in collected)
    progress.seconds += seconds
    result = mean_of(losses) | figures(collected, progress, seconds) | {"time/update": update_s}
    return result if cores is None else result | cores.observe(result["charts/rollout_seconds"], update_s)


def set_up(config: TrainConfig) -> tuple[Learner, Rollouts]:
    """A learner, and rollouts of new worlds, which are not reset yet; all follows from `config.seed`."""
    networks, rollouts = open_rollouts(config)
    _, _, shuffling = np.random.SeedSequence(config.seed).generate_state(3).tolist()
    return Learner(networks, config, torch.Generator("cpu").manual_seed(shuffling)), rollouts


def figures(collected: list[Rollout], progress: Progress, seconds: float) -> dict[str, float]:
    """Figures of an update's rollouts; times are of this update alone."""
    decisions = sum(int(rollout.batch.active.sum()) for rollout in collected)
    result = {
        "charts/decisions": float(progress.decisions),
        "charts/seconds": progress.seconds,
        "charts/SPS": decisions / seconds,
        "charts/rollout_seconds": sum(rollout.elapsed_s for rollout in collected),
        "charts/reward": sum(rollout.earned for rollout in collected) / decisions,
    }
    for part in SPENT_ON:
        result[f"time/{part}"] = sum(rollout.seconds[part] for rollout in collected)
    finished = [episode for rollout in collected for episode in rollout.finished]
    if finished:
        result["charts/episodic_return"], result["charts/episodic_length"] = np.mean(
            finished, axis=0
        ).tolist()
    return result


def mean_of(losses: list[dict[str, float]]) -> dict[str, float]:
    """The mean of each figure."""
    return {name: sum(each[name] for each in losses) / len(losses) for name in losses[0]}


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
