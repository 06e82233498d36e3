"""Labels, halves and choices of sweeps."""

from __future__ import annotations

import numpy as np
import pytest
from stpa_sweeps import made_up

from seer_env.stpa.labels import choices, halves, label, label_noise, log_ratio, snapped, time_of


def test_the_label_is_the_smallest_count_within_one_percent():
    times = {1: 1.0, 2: 0.504, 3: 0.6, 4: 0.5, 6: 0.7, 8: 0.8}
    assert label(made_up(seconds=times.__getitem__)) == 2
    assert label(made_up(seconds={**times, 2: 0.506}.__getitem__)) == 4


def test_one_thread_is_serial_and_no_choice_exceeds_twice_the_cpus():
    sweep = made_up(cpus=2)
    assert choices(sweep) == (1, 2, 3, 4)
    assert time_of(sweep)[1] == sweep.times()[0]


def test_halves_share_no_turn_and_leave_none_out():
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(20):
        choose, score = halves(6, rng)
        assert sorted([*choose, *score]) == list(range(6))
        assert len(choose) == 3
        seen.add(tuple(choose))
    assert len(seen) > 5, "halves are random"


@pytest.mark.parametrize(("threads", "choice"), [(0.2, 1), (1.4, 1), (1.5, 2), (4.8, 4), (100.0, 8)])
def test_a_real_number_snaps_to_the_nearest_by_ratio(threads, choice):
    assert snapped(threads, made_up(cpus=4)) == choice


def test_the_normalised_count_is_the_logarithm_per_cpu():
    assert log_ratio(8, made_up(cpus=4)) == 1.0
    assert log_ratio(1, made_up(cpus=4)) == -2.0


def test_labels_without_noise_agree_with_themselves():
    rng = np.random.default_rng(0)
    assert label_noise([made_up(i) for i in range(5)], rng) == (0.0, 0.0)
    flat = [made_up(i, seconds=lambda k: 1e-3, noise=0.05) for i in range(20)]
    disagree, apart = label_noise(flat, rng)
    assert disagree > 0.3
    assert apart > 0.0
