"""`seer-env doctor`: each finding's level and advice, and the command on this machine."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from seer_env.commands import doctor
from seer_env.machine import CpuLimits, HardwareCounters


@pytest.mark.parametrize("minor", [10, 11, 12, 13])
def test_supported_python_needs_nothing(minor):
    assert doctor.python_finding((3, minor), "CPython").level == "ok"


@pytest.mark.parametrize(
    ("version", "implementation"), [((3, 9), "CPython"), ((3, 14), "CPython"), ((3, 11), "PyPy")]
)
def test_other_python_must_be_replaced(version, implementation):
    finding = doctor.python_finding(version, implementation)
    assert finding.level == "fix"
    assert "3.10 to 3.13" in finding.advice


def test_disabled_compilation_is_told():
    finding = doctor.jit_finding({"numba": "0.61", "llvmlite": "0.44", "jit": False})
    assert finding.level == "fix"
    assert "NUMBA_DISABLE_JIT" in finding.advice


@pytest.mark.parametrize(("layer", "level"), [("tbb", "ok"), ("omp", "ok"), ("workqueue", "note")])
def test_only_workqueue_limits_python_threads(layer, level):
    assert doctor.layer_finding(layer).level == level


def test_a_layer_that_numba_is_told_to_use_and_cannot_is_named(monkeypatch):
    monkeypatch.setenv("NUMBA_THREADING_LAYER", "unheard_of")
    findings = {finding.name: finding for finding in doctor.numba_findings(CpuLimits(2, None, None))}
    layer = findings["threading layer"]
    assert layer.level == "fix"
    assert layer.value.startswith("NUMBA_THREADING_LAYER=unheard_of: ")
    assert "unset NUMBA_THREADING_LAYER" in layer.advice
    assert findings["numba"].level == "ok"


def test_without_any_layer_numba_must_be_reinstalled():
    assert "reinstall numba" in doctor.missing_layer("No threading layer could be loaded", {}).advice


def test_disabled_compilation_is_found(monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    numba, *_ = doctor.numba_findings(CpuLimits(2, None, None))
    assert "compilation disabled" in numba.value


def test_thread_cap_below_the_cpus_leaves_some_idle():
    finding = doctor.cap_finding(2, CpuLimits(8, None, None), {"NUMBA_NUM_THREADS": "2"})
    assert finding.level == "note"
    assert "NUMBA_NUM_THREADS is set: 6 of 8" in finding.advice


def test_thread_cap_follows_the_quota_not_the_affinity():
    assert doctor.cap_finding(2, CpuLimits(8, 1.5, "cpu.max"), {}).level == "ok"


def test_quota_and_its_file_are_shown():
    finding = doctor.cpu_finding(CpuLimits(8, 2.5, "/sys/fs/cgroup/a/cpu.max"))
    assert finding.value == "3 (affinity 8, quota 2.5 in /sys/fs/cgroup/a/cpu.max)"


def test_one_cpu_is_told_that_threads_do_not_help():
    assert "threads=1" in doctor.cpu_finding(CpuLimits(1, None, None)).advice


def test_svml_is_told_to_differ_from_libm():
    assert "NUMBA_DISABLE_INTEL_SVML=1" in doctor.svml_finding(True).advice


def test_counters_that_are_not_permitted_can_be_allowed():
    finding = doctor.counter_finding(HardwareCounters((), "EACCES: not permitted (...)"))
    assert "perf_event_paranoid" in finding.advice


def test_cache_folder_need_not_exist_yet(tmp_path):
    assert doctor.cache_finding(tmp_path / "not" / "yet").level == "ok"


def test_cache_folder_in_the_way_of_a_file_must_be_moved(tmp_path):
    (tmp_path / "file").write_text("")
    finding = doctor.cache_finding(tmp_path / "file" / "cache")
    assert finding.level == "fix"
    assert "SEER_ENV_CACHE_DIR" in finding.advice


def run_probe(monkeypatch, code):
    """The findings when the probe is the program `code`."""
    real = subprocess.run

    def run(command, **options):
        return real([sys.executable, "-c", code], **options)

    monkeypatch.setattr(subprocess, "run", run)
    return list(doctor.numba_findings(CpuLimits(2, None, None)))


def test_probe_that_fails_is_quoted(monkeypatch):
    (finding,) = run_probe(monkeypatch, "raise ImportError('libgomp is missing')")
    assert finding.level == "fix"
    assert "ImportError: libgomp is missing" in finding.value


def test_probe_that_dies_silently_gives_its_status(monkeypatch):
    (finding,) = run_probe(monkeypatch, "import os; os._exit(7)")
    assert "status 7" in finding.value


def test_probe_that_hangs_is_ended(monkeypatch):
    monkeypatch.setattr(doctor, "PROBE_TIMEOUT_S", 0.5)
    (finding,) = run_probe(monkeypatch, "import time; time.sleep(60)")
    assert "did not end" in finding.value


def test_exit_status_tells_whether_something_must_be_fixed(monkeypatch):
    finding = doctor.Finding("x", "y", "fix", "do this")
    monkeypatch.setattr(doctor, "examine", lambda: iter([finding]))
    assert doctor.Doctor().main() == 1


def test_doctor_examines_this_machine(tmp_path):
    file = tmp_path / "doctor.json"
    command = [sys.executable, "-m", "seer_env.cli", "doctor", "--json", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    findings = {finding["name"]: finding for finding in json.loads(file.read_text())}
    assert set(findings) == {
        "seer_env", "Python", "numba", "threading layer", "numba thread cap", "SVML", "effective CPUs",
        "idle workers", "hardware counters", "compile cache",
    }  # fmt: skip
    assert all(name in done.stdout for name in findings)
