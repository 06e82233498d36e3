"""The comparison of copies with separate envs: the same episodes on both sides, and honest times."""

import pytest

from seer_env.bench import copies
from seer_env.bench.copies import CASES, Case, Pair, seconds_per_step


@pytest.mark.parametrize("case", [Case("flock_v0", 20, 3, 1), Case("aircraft_v0", 10, 2, 2)])
def test_both_sides_play_the_same_episodes(case):
    pair = Pair(case, seed=0)
    assert pair.equal_after_an_episode()
    pair.close()


def test_a_difference_is_told(monkeypatch):
    monkeypatch.setattr(copies.Pair, "step_envs", lambda self, k: None)
    pair = Pair(Case("flock_v0", 20, 2, 1), seed=0)
    assert not pair.equal_after_an_episode()
    pair.close()


def test_resets_are_not_timed(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(copies.time, "perf_counter", lambda: now[0])

    def take(seconds):
        now[0] += seconds

    assert seconds_per_step(lambda: take(1000.0), lambda k: take(0.5), 75.0) == 0.5


def test_cases_come_on_one_thread_and_on_two():
    assert {case.threads for case in CASES} == {1, 2}
