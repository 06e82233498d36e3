"""Choosing threads inside envs and copies: the same bytes with and without, and what is said about it."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from time import perf_counter

import numpy as np
import pytest
from interrupts import Interrupt
from worlds import Lamps, Ring, Unruly

from seer_env.copies import Copies
from seer_env.env import SeerParallelEnv
from seer_env.stpa import machine, tuner
from seer_env.stpa.choices import Choices
from seer_env.stpa.machine import Machine
from seer_env.stpa.search import GuardedSearch

FOUR_CPUS = Machine("test", affinity=4, quota=None, cores=4, numba_threads=4, torch_threads=0, cpus=4)
#: Milliseconds that also a busy machine finds enough.
LONG = 60_000.0


@pytest.fixture(autouse=True)
def choosing(tmp_path, monkeypatch):
    """Nothing is remembered, there are candidates, and none is skipped for short steps."""
    monkeypatch.setattr(tuner, "Choices", lambda machine, model: None)
    monkeypatch.setattr(tuner, "describe", lambda: FOUR_CPUS)
    monkeypatch.setattr("seer_env.stpa.search.UNSHARED_S", 0.0)


def digests(env: SeerParallelEnv, steps: int = 60) -> list[str]:
    """Digests of the reset's boundary and of each step's, under actions that depend on nothing else."""
    env.reset(seed=3)
    seen, rng = [env.digest()], np.random.default_rng(0)
    for _ in range(steps):
        size = (len(env.possible_agents), env.model.action_size)
        high = 5 if isinstance(env.model, Lamps) else 2
        env.step_arrays(rng.integers(0, high, size).astype(float))
        seen.append(env.digest())
    return seen


class Turns(GuardedSearch):
    """A search that tries all candidates in turn a hundred times, so that every step changes the threads."""

    def _search(self):
        for _ in range(100):
            for count in self._ladder:
                self.blocks[count].append((yield count))


@pytest.mark.parametrize("model", [Ring(40, 30), Ring(6, 2, patience=9), Lamps(150, life=7)])
def test_bytes_are_the_same_with_and_without(model):
    expected = digests(SeerParallelEnv(model, threads=1))
    assert digests(SeerParallelEnv(model)) == expected


@pytest.mark.parametrize("model", [Ring(40, 30), Ring(6, 2, patience=9), Lamps(150, life=7)])
@pytest.mark.parametrize("preflight_ms", [0.0, LONG])
def test_bytes_are_the_same_where_every_step_changes_the_threads(monkeypatch, model, preflight_ms):
    monkeypatch.setattr(tuner, "GuardedSearch", Turns)
    env = SeerParallelEnv(model, preflight_ms=preflight_ms)
    seen = digests(env)
    assert seen == digests(SeerParallelEnv(model, threads=1))


def test_the_rehearsal_leaves_the_episode_alone():
    """State, pending events, streams, generators, outputs and counters are those of an env without it."""
    model = Ring(40, 30)
    plain, chosen = SeerParallelEnv(model, threads=1), SeerParallelEnv(model, preflight_ms=LONG)
    seen, infos = plain.reset(seed=5)
    seen_too, infos_too = chosen.reset(seed=5)
    assert chosen.stpa_report.rehearsed
    assert all((seen[a] == seen_too[a]).all() for a in seen)
    assert infos == infos_too
    assert chosen.digest() == plain.digest()
    assert chosen.np_random.bit_generator.state == plain.np_random.bit_generator.state
    assert chosen.policy_random.bit_generator.state == plain.policy_random.bit_generator.state
    assert (chosen.steps, chosen.agents) == (0, plain.agents)
    assert (chosen.last_step_stats.events, chosen.last_step_stats.window_s) == (0, 0.0)


class Brief(Turns):
    """The same, twice."""

    def _search(self):
        for _ in range(2):
            for count in self._ladder:
                self.blocks[count].append((yield count))


@pytest.mark.parametrize("made", [SeerParallelEnv, lambda model, **more: Copies(model, 3, **more)])
def test_ctrl_c_anywhere_in_a_reset_leaves_an_env_that_can_be_reset(monkeypatch, made):
    monkeypatch.setattr(tuner, "GuardedSearch", Brief)
    monkeypatch.setattr(tuner, "predicted", lambda *arguments: arguments[5])
    model = Ring(40, 30)

    def digest(env) -> list[str]:
        env.reset_arrays(3)
        return [env.digest(0), env.digest(1)] if isinstance(env, Copies) else [env.digest()]

    expected, n, sent = digest(made(model, threads=1)), 1, True
    while sent:
        env = made(model, preflight_ms=LONG)
        with Interrupt(n) as interrupt:
            try:
                env.reset_arrays(3)
            except KeyboardInterrupt:
                assert interrupt.sent
        assert digest(env) == expected, n
        env.close()
        sent, n = interrupt.sent, n + 23


def test_copies_choose_too_and_show_the_same_bytes(monkeypatch):
    monkeypatch.setattr(tuner, "GuardedSearch", Turns)
    model, rng = Ring(12, 6, patience=20), np.random.default_rng(1)
    plain, chosen = Copies(model, 5, threads=1), Copies(model, 5, preflight_ms=LONG)
    assert (plain.reset_arrays(7) == chosen.reset_arrays(7)).all()
    assert chosen.stpa_report.rehearsed
    for k in range(40):
        actions = rng.uniform(-1.0, 1.0, (5, 12, 2))
        for mine, other in zip(plain.step_arrays(actions), chosen.step_arrays(actions)):
            assert (mine == other).all()
        if k % 10 == 9:
            assert [plain.digest(c) for c in range(5)] == [chosen.digest(c) for c in range(5)]
            plain.reset_copy(k % 5, seed=k)
            chosen.reset_copy(k % 5, seed=k)


def test_what_random_actions_break_does_not_break_the_reset():
    env = SeerParallelEnv(Unruly())
    env.reset(seed=0)
    (decision,) = env.stpa_report.decisions
    assert "ContractBreach" in decision.reason
    for _ in range(5):
        env.step({"agent_0": 0})


@pytest.mark.parametrize(
    ("scheduler", "threads", "shown"),
    [("auto", 1, "serial"), ("auto", 3, "seer"), ("seer", 1, "seer"), ("seer", 3, "seer")],
)
def test_scheduler_and_threads_in_force(monkeypatch, scheduler, threads, shown):
    class Fixed(GuardedSearch):
        choice = threads
        rivals = (threads,)

    monkeypatch.setattr(tuner, "GuardedSearch", Fixed)
    env = SeerParallelEnv(Ring(40, 30), scheduler=scheduler, preflight_ms=5.0)
    env.reset(seed=0)
    assert (env.scheduler, env.threads) == (shown, threads)
    assert env.stpa_report.threads == threads


@pytest.mark.parametrize("arguments", [{"threads": 2}, {"scheduler": "serial"}, {"scheduler": "python"}])
def test_what_is_asked_for_is_not_chosen(arguments):
    env = SeerParallelEnv(Ring(), **arguments)
    env.reset(seed=0)
    assert env.stpa_report.decisions[0].source == "asked"
    assert env.threads == arguments.get("threads", 1)


def test_checked_steps_are_not_timed():
    env = SeerParallelEnv(Ring(), check=True)
    env.reset(seed=0)
    env.step_arrays(np.zeros((6, 2)))
    assert not env.stpa_report.rehearsed


def test_a_loaded_boundary_is_gone_on_from(tmp_path, monkeypatch):
    monkeypatch.setattr(tuner, "GuardedSearch", Turns)
    model, file = Ring(40, 30), tmp_path / "boundary.npz"
    plain = SeerParallelEnv(model, threads=1)
    plain.reset(seed=2)
    plain.save(file)
    chosen = SeerParallelEnv(model)
    chosen.load(file)
    for _ in range(20):
        plain.step_arrays(np.zeros((40, 2)))
        chosen.step_arrays(np.zeros((40, 2)))
    assert chosen.digest() == plain.digest()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copied_envs_go_on_alike(copied):
    env = SeerParallelEnv(Ring(40, 30), preflight_ms=5.0)
    env.reset(seed=2)
    env.step_arrays(np.zeros((40, 2)))
    other = copied(env)
    for _ in range(30):
        env.step_arrays(np.full((40, 2), 0.25))
        other.step_arrays(np.full((40, 2), 0.25))
    assert env.digest() == other.digest()


@pytest.mark.parametrize("value", [-1.0, float("nan"), "fast", None])
def test_an_impossible_budget_is_refused(value):
    with pytest.raises(ValueError, match="preflight_ms"):
        SeerParallelEnv(Ring(), preflight_ms=value)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity masks here")
def test_an_affinity_mask_of_one_cpu_means_one_thread(monkeypatch):
    monkeypatch.setattr(tuner, "describe", machine.describe)
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        env = SeerParallelEnv(Ring(200, 100))
        env.reset(seed=0)
        assert (env.scheduler, env.threads) == ("serial", 1)
        assert env.stpa_report.ladder == (1,)
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.parametrize(("quota", "most"), [("100000 100000\n", 1), ("150000 100000\n", 2)])
def test_a_cgroups_quota_bounds_the_choice(tmp_path, monkeypatch, quota, most):
    for name, text in {
        "proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        "proc/self/cgroup": "0::/job\n",
        "sys/fs/cgroup/job/cpu.max": quota,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr("seer_env.machine._affinity", lambda: 4)
    monkeypatch.setattr(tuner, "describe", lambda: machine.describe(tmp_path))
    env = SeerParallelEnv(Ring(200, 100))
    env.reset(seed=0)
    assert env.stpa_report.ladder[-1] == most
    assert env.threads <= most
    for _ in range(30):
        env.step_arrays(np.zeros((200, 2)))
        assert env.threads <= most


def test_a_remembered_choice_costs_a_reset_at_most_3_milliseconds(tmp_path, monkeypatch):
    monkeypatch.setattr(tuner, "Choices", Choices)
    monkeypatch.setattr("seer_env.stpa.choices.cache_directory", lambda: tmp_path)
    model = Ring(40, 30)
    SeerParallelEnv(model, preflight_ms=LONG).reset(seed=0)  # chooses, and remembers

    def reset_s(**arguments) -> float:
        env = SeerParallelEnv(model, **arguments)
        start = perf_counter()
        env.reset_arrays(0)
        seconds = perf_counter() - start
        assert env.stpa_report.decisions[0].source == ("asked" if arguments else "remembered")
        return seconds

    remembered, asked = zip(*((reset_s(), reset_s(threads=1)) for _ in range(10)))
    assert min(remembered) - min(asked) < 3e-3


def test_neither_torch_nor_xgboost_is_imported():
    code = (
        "import sys, seer_env; env = seer_env.make('flock_v0', n_agents=20); env.reset(seed=0); "
        "print([name for name in ('torch', 'xgboost') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
