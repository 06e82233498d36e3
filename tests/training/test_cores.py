"""When a core moves, to whom, and when it goes back, with given times; and that stages get their cores."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from training_runs import FLOCK, progress_of

from seer_env.training import cores as cores_module
from seer_env.training.cores import Cores, CoreSplit
from seer_env.training.trainer import set_up, train

EIGHT = {"cores": 8, "rollouts": 4, "most": 8}


def moves(split: CoreSplit, rollout_s: float, training_s: float, updates: int) -> list[int]:
    """The updates, counted from 1, behind which a core moved."""
    return [i for i in range(1, updates + 1) if split.observe(rollout_s, training_s)]


@pytest.mark.parametrize(("rollout_s", "training_s", "cores"), [(1.16, 1.0, (5, 3)), (1.0, 1.16, (3, 5))])
def test_a_core_moves_to_who_is_15_percent_behind_for_20_updates(rollout_s, training_s, cores):
    split = CoreSplit(**EIGHT)
    assert moves(split, rollout_s, training_s, 20) == [20]
    assert (split.rollouts, split.training) == cores


def test_behind_a_move_the_count_begins_again():
    split = CoreSplit(**EIGHT)
    assert moves(split, 2.0, 1.0, 65) == [20, 40, 60]
    assert (split.rollouts, split.training) == (7, 1)


@pytest.mark.parametrize("interruption", [(1.0, 1.0), (1.14, 1.0), (1.0, 2.0)])
def test_updates_must_be_in_a_row(interruption):
    split = CoreSplit(**EIGHT)
    assert moves(split, 1.2, 1.0, 19) == []
    assert not split.observe(*interruption)
    assert moves(split, 1.2, 1.0, 19) == []
    assert split.observe(1.2, 1.0)


def test_nothing_moves_within_15_percent():
    split = CoreSplit(**EIGHT)
    assert moves(split, 1.14, 1.0, 100) == moves(split, 1.0, 1.14, 100) == []


@pytest.mark.parametrize(("rollout_s", "cores"), [(9.0, (7, 1)), (0.1, (1, 7))])
def test_nobody_loses_the_last_core(rollout_s, cores):
    split = CoreSplit(**EIGHT)
    assert len(moves(split, rollout_s, 1.0, 500)) == 3
    assert (split.rollouts, split.training) == cores


def test_rollouts_get_no_core_that_they_cannot_use():
    split = CoreSplit(cores=8, rollouts=4, most=5)
    assert moves(split, 9.0, 1.0, 500) == [20]
    assert (split.rollouts, split.training) == (5, 3)


@pytest.mark.parametrize("cores", [1, 2])
def test_with_less_than_three_cores_each_stage_has_one(cores):
    split = CoreSplit(cores, rollouts=1, most=cores)
    assert split.fixed
    assert moves(split, 9.0, 1.0, 100) == moves(split, 1.0, 9.0, 100) == []
    assert (split.rollouts, split.training) == (1, 1)


def test_a_move_that_made_the_slower_stage_slower_is_taken_back_once():
    split = CoreSplit(**EIGHT)
    assert moves(split, 2.0, 1.0, 20) == [20]
    assert moves(split, 2.1, 1.1, 20) == [20]
    assert split.rollouts == 4
    assert moves(split, 2.0, 1.0, 200) == [], "it is not tried again"


def test_after_a_move_was_taken_back_the_other_way_is_open():
    split = CoreSplit(**EIGHT)
    moves(split, 2.0, 1.0, 20)
    moves(split, 2.1, 1.1, 20)
    assert moves(split, 1.0, 2.0, 20) == [20]
    assert (split.rollouts, split.training) == (3, 5)


def test_a_move_that_helped_stays_though_the_others_are_slower_now():
    split = CoreSplit(**EIGHT)
    moves(split, 2.0, 1.0, 20)
    assert moves(split, 1.7, 1.6, 100) == []
    assert split.rollouts == 5


def test_rollouts_that_were_begun_before_a_move_do_not_count():
    split = CoreSplit(**EIGHT, settling=3)
    assert moves(split, 2.0, 1.0, 20) == [20]
    assert moves(split, 99.0, 1.0, 3) == []
    assert moves(split, 1.5, 1.4, 100) == []
    assert split.rollouts == 5


# -- the stages --------------------------------------------------------------------------------------


@pytest.fixture(params=[1, 2], ids="micro_batches {}".format)
def opened(request):
    """A learner, and rollouts whose worlds may have up to 8 threads, however many this machine has."""
    learner, rollouts = set_up(
        replace(FLOCK, staleness=1, ring=2, micro_batches=request.param, copies=4, threads=8)
    )
    rollouts.reset(1)
    yield learner, rollouts
    rollouts.close()


def test_worlds_and_torch_get_the_cores_of_the_split(opened):
    learner, rollouts = opened
    cores = Cores(rollouts, staleness=1, cpus=8)
    assert (cores.split.rollouts, torch.get_num_threads()) == (4, 2), "two for each network"

    def threads_in_update(version):
        rollouts.publish(learner.networks, version)
        for _ in range(rollouts.parts):
            rollouts.collect()
        return {worlds.threads for worlds in rollouts.groups()}

    assert threads_in_update(0) == {4}
    had = [cores.observe(2.0, 1.0)["cores/rollouts"] for _ in range(20)]
    assert (had, torch.get_num_threads()) == ([4.0] * 20, 1)
    threads_in_update(1)  # of version 0, begun before the move or behind it
    assert threads_in_update(2) == {5}


def test_on_two_cpus_it_says_once_that_there_is_nothing_to_move(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(cores_module, "effective_cpus", lambda: 2)
    train(replace(FLOCK, staleness=1, elastic=True, run=tmp_path))
    assert capsys.readouterr().err.count("elastic: nothing to move") == 1
    had = [(row["cores/rollouts"], row["cores/training"]) for row in progress_of(tmp_path)]
    assert had == [("1.0", "1.0")] * FLOCK.updates
