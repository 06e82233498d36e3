"""What limits the threads, on faked machines."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from seer_env import machine as granted
from seer_env.stpa import machine as described
from seer_env.stpa.machine import Machine, describe, ladder


def machine(cpus: int, numba_threads: int = 1024) -> Machine:
    return Machine("test", cpus, None, cpus, numba_threads, 0, cpus)


@pytest.fixture
def without_torch(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)


def fake_torch(monkeypatch, threads: int) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(get_num_threads=lambda: threads))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cpus", "rungs"),
    [
        (1, (1,)),
        (2, (1, 2)),
        (3, (1, 2, 3)),
        (4, (1, 2, 3, 4)),
        (5, (1, 2, 3, 4, 5)),
        (8, (1, 2, 3, 4, 6, 8)),
        (10, (1, 2, 3, 4, 6, 8, 10)),
        (16, (1, 2, 3, 4, 6, 8, 12, 16)),
        (64, (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)),
    ],
)
def test_the_ladder(cpus, rungs):
    assert ladder(machine(cpus)) == rungs


def test_numba_bounds_the_ladder():
    assert ladder(machine(16, numba_threads=4)) == (1, 2, 3, 4)


def fake_root(folder, quota: str, siblings: dict[int, str]):
    """A root folder with a cgroup v2 quota and a processor topology."""
    files = {
        "proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        "proc/self/cgroup": "0::/a/b\n",
        "proc/cpuinfo": "processor\t: 0\nmodel name\t: Imagined 9000\n",
        "sys/fs/cgroup/a/cpu.max": quota,
        "sys/fs/cgroup/a/b/cpu.max": "max 100000\n",
        **{f"sys/devices/system/cpu/cpu{c}/topology/thread_siblings_list": s for c, s in siblings.items()},
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_an_ancestors_quota_bounds_the_effective_cpus(tmp_path, monkeypatch, without_torch):
    monkeypatch.setattr(granted, "_affinity", lambda: 8)
    root = fake_root(tmp_path, "300000 100000\n", {})
    found = describe(root)
    assert (found.affinity, found.quota, found.cpus) == (8, 3.0, 3)
    assert found.processor == "Imagined 9000"


@pytest.mark.parametrize(("threads", "cpus"), [(1, 8), (2, 7), (4, 5), (5, 4), (8, 4), (32, 4)])
def test_torchs_pool_counts_against_the_cpus(tmp_path, monkeypatch, threads, cpus):
    monkeypatch.setattr(granted, "_affinity", lambda: 8)
    fake_torch(monkeypatch, threads)
    found = describe(tmp_path)
    assert (found.torch_threads, found.cpus) == (threads, cpus)


@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("cpus", [1, 2])
def test_one_or_two_cpus_are_kept_beside_torch(tmp_path, monkeypatch, cpus, threads):
    monkeypatch.setattr(granted, "_affinity", lambda: cpus)
    fake_torch(monkeypatch, threads)
    assert describe(tmp_path).cpus == cpus


def test_without_torch_nothing_is_taken_off(tmp_path, monkeypatch, without_torch):
    monkeypatch.setattr(granted, "_affinity", lambda: 8)
    assert (describe(tmp_path).torch_threads, describe(tmp_path).cpus) == (0, 8)


def test_fingerprints_tell_machines_apart():
    assert machine(4).fingerprint == machine(4).fingerprint
    assert machine(4).fingerprint != machine(8).fingerprint


def test_describing_imports_no_torch(without_torch):
    describe()
    assert "torch" not in sys.modules
    assert described.describe().affinity >= 1
