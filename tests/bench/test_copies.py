"""The comparison of copies with separate envs: the same episodes on both sides, and honest figures."""

import pytest

from seer_env.bench import copies
from seer_env.bench.copies import CASES, Case, compare_copies, print_copies, seconds_per_step


@pytest.mark.parametrize("case", [Case("flock_v0", 20, 3, 1), Case("aircraft_v0", 10, 2, 2)])
def test_both_sides_play_the_same_episodes(case):
    runs = []
    row = compare_copies(case, repeats=1, seconds=1e-9, done=lambda: runs.append(1))
    assert row["equal"]
    assert Case(row["world"], row["agents"], row["copies"], row["threads"]) == case
    assert row["ratio"] == pytest.approx(row["seer_ms"] / row["yardstick_ms"])
    agents = case.copies * case.agents
    assert row["agent_steps_per_s"] == pytest.approx(agents / (1e-3 * row["seer_ms"]))
    assert len(runs) == 3, "both, and what the second core is worth"


def test_a_difference_is_told(monkeypatch):
    monkeypatch.setattr(copies.Pair, "step_envs", lambda self, k: None)
    assert not compare_copies(Case("flock_v0", 20, 2, 1), repeats=1, seconds=1e-9)["equal"]


def test_resets_are_not_timed(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(copies.time, "perf_counter", lambda: now[0])

    def take(seconds):
        now[0] += seconds

    assert seconds_per_step(lambda: take(1000.0), lambda k: take(0.5), 75.0) == 0.5


def test_the_table_shows_the_gain(capsys):
    row = {
        **Case("flock_v0", 500, 8, 2)._asdict(),
        "yardstick_ms": 3.0,
        "seer_ms": 1.5,
        "ratio": 0.5,
        "agent_steps_per_s": 2e6,
        "second_core": 1.9,
    }
    print_copies([row])
    assert "2.00" in capsys.readouterr().out


def test_cases_come_on_one_thread_and_on_two():
    assert {case.threads for case in CASES} == {1, 2}
