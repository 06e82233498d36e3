"""CPU limits from faked cgroup trees, as the kernel documents them, and the probe of counters."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from seer_env.machine import cpu_limits, effective_cpus, hardware_counters

V2_MOUNT = "30 23 0:26 {inside} /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate"
V1_MOUNT = "33 32 0:30 {inside} /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct"
V1_MEMORY = "34 32 0:31 / /sys/fs/cgroup/memory rw shared:10 - cgroup cgroup rw,memory"


@pytest.fixture
def machine(tmp_path):
    """Builds a root folder from mountinfo lines, `/proc/self/cgroup` lines and cgroup files."""

    def build(mounts: list[str], cgroups: list[str], files: dict[str, str]) -> Path:
        for name, text in {
            "proc/self/mountinfo": "\n".join(mounts) + "\n",
            "proc/self/cgroup": "\n".join(cgroups) + "\n",
            **{f"sys/fs/cgroup/{name}": text for name, text in files.items()},
        }.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        return tmp_path

    return build


def test_no_cgroups_leave_the_affinity_mask(tmp_path):
    assert effective_cpus(tmp_path, affinity=6) == 6


def test_v2_max_is_no_quota(machine):
    root = machine([V2_MOUNT.format(inside="/")], ["0::/app"], {"app/cpu.max": "max 100000\n"})
    assert cpu_limits(root, affinity=6).quota is None


def test_v2_quota_limits(machine):
    root = machine([V2_MOUNT.format(inside="/")], ["0::/app"], {"app/cpu.max": "200000 100000\n"})
    assert effective_cpus(root, affinity=6) == 2


def test_v2_ancestor_with_the_smaller_quota_decides(machine):
    files = {"a/b/cpu.max": "400000 100000\n", "a/cpu.max": "300000 100000\n", "cpu.max": "max 100000\n"}
    limits = cpu_limits(machine([V2_MOUNT.format(inside="/")], ["0::/a/b"], files), affinity=8)
    assert limits.quota == 3.0
    assert limits.quota_source.endswith("sys/fs/cgroup/a/cpu.max")


def test_v2_quota_of_a_sibling_does_not_count(machine):
    root = machine([V2_MOUNT.format(inside="/")], ["0::/a"], {"b/cpu.max": "100000 100000\n"})
    assert effective_cpus(root, affinity=4) == 4


def test_container_whose_own_cgroup_is_mounted(machine):
    root = machine(
        [V2_MOUNT.format(inside="/docker/f00")], ["0::/docker/f00"], {"cpu.max": "150000 100000\n"}
    )
    assert effective_cpus(root, affinity=8) == 2


def test_cgroup_outside_the_namespace_is_read_at_the_mount(machine):
    root = machine([V2_MOUNT.format(inside="/")], ["0::/../.."], {"cpu.max": "100000 100000\n"})
    assert effective_cpus(root, affinity=8) == 1


def test_v1_quota_limits(machine):
    files = {"cpu,cpuacct/job/cpu.cfs_quota_us": "250000\n", "cpu,cpuacct/job/cpu.cfs_period_us": "100000\n"}
    cgroups = ["4:memory:/other", "3:cpu,cpuacct:/job", "0::/"]
    root = machine([V1_MEMORY, V1_MOUNT.format(inside="/")], cgroups, files)
    assert cpu_limits(root, affinity=8).quota == 2.5


def test_v1_minus_one_is_no_quota(machine):
    files = {"cpu,cpuacct/cpu.cfs_quota_us": "-1\n", "cpu,cpuacct/cpu.cfs_period_us": "100000\n"}
    root = machine([V1_MOUNT.format(inside="/")], ["3:cpu,cpuacct:/"], files)
    assert cpu_limits(root, affinity=8).quota is None


def test_hybrid_takes_the_smaller_of_v1_and_v2(machine):
    v2 = V2_MOUNT.format(inside="/").replace("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
    files = {
        "cpu,cpuacct/cpu.cfs_quota_us": "500000\n",
        "cpu,cpuacct/cpu.cfs_period_us": "100000\n",
        "unified/cpu.max": "400000 100000\n",
    }
    root = machine([V1_MOUNT.format(inside="/"), v2], ["3:cpu,cpuacct:/", "0::/"], files)
    assert effective_cpus(root, affinity=8) == 4


def test_fraction_of_a_cpu_is_one_thread(machine):
    root = machine([V2_MOUNT.format(inside="/")], ["0::/"], {"cpu.max": "10000 100000\n"})
    assert effective_cpus(root, affinity=8) == 1


def test_mount_point_with_a_space(machine):
    mount = V2_MOUNT.format(inside="/").replace("/sys/fs/cgroup", r"/sys/fs/cgroup/my\040mount")
    root = machine([mount], ["0::/"], {"my mount/cpu.max": "300000 100000\n"})
    assert effective_cpus(root, affinity=8) == 3


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity masks here")
def test_affinity_of_this_process_is_an_upper_bound():
    assert 1 <= effective_cpus() <= len(os.sched_getaffinity(0))


def test_counters_are_closed_again():
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("open descriptors cannot be listed here")
    before = os.listdir("/proc/self/fd")
    hardware_counters()
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_counters_are_all_there_or_explained():
    counters = hardware_counters()
    assert (len(counters.available) == 4) == (counters.reason == "")


def test_counters_are_explained_outside_linux(monkeypatch):
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    assert hardware_counters() == ((), "perf_event_open is Linux's; this is Darwin")
