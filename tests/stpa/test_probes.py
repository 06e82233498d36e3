"""Sources of the operating system: what they read, and that what is missing stays missing."""

from __future__ import annotations

import errno
import os
import sys
import threading
import time

import numpy as np
import pytest

from seer_env.stpa.probes import THREAD_COLUMNS, Probes

linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")


def write_task(proc, task, schedstat, status):
    folder = proc / "task" / str(task)
    folder.mkdir(parents=True)
    if schedstat is not None:
        (folder / "schedstat").write_text(schedstat)
    if status is not None:
        (folder / "status").write_text(status)


def test_the_columns_are_those_of_the_kernels_files(tmp_path):
    status = "Name:\tx\nMems_allowed_list:\t0\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n"
    write_task(tmp_path, 7, "1000 200 5\n", status)
    with Probes(str(tmp_path), hardware=False) as probes:
        row = dict(zip(THREAD_COLUMNS, probes.threads()[0]))
    assert (row["run_ns"], row["delay_ns"], row["voluntary"], row["involuntary"]) == (1000, 200, 12, 3)


def test_a_missing_source_is_masked_alone(tmp_path):
    write_task(tmp_path, 7, None, "voluntary_ctxt_switches:\t1\nnonvoluntary_ctxt_switches:\t2\n")
    write_task(tmp_path, 8, "1 2 3\n", None)
    with Probes(str(tmp_path), hardware=False) as probes:
        rows = [dict(zip(THREAD_COLUMNS, row)) for row in probes.threads()]
    assert np.isnan(rows[0]["run_ns"])
    assert rows[0]["voluntary"] == 1
    assert rows[1]["run_ns"] == 1
    assert np.isnan(rows[1]["voluntary"])
    assert all(np.isnan(row["cycles"]) for row in rows)


def test_a_hardware_event_is_counted_for_every_thread_or_masked_for_all(tmp_path, monkeypatch):
    def open_counter(name: str, task: int) -> int:
        if name == "cache misses" or (name == "instructions" and task == 8):
            raise OSError(errno.ENOENT, "the processor has no such counter")
        path = tmp_path / f"{name} of {task}"
        path.write_bytes((1000 * task).to_bytes(8, "little"))
        return os.open(path, os.O_RDONLY)

    monkeypatch.setattr("seer_env.stpa.probes.open_counter", open_counter)
    for task in (7, 8):
        write_task(tmp_path, task, None, None)
    with Probes(str(tmp_path)) as probes:
        assert probes.hardware == ("cycles", "cache references")
        rows = [dict(zip(THREAD_COLUMNS, row)) for row in probes.threads()]
    assert [row["cycles"] for row in rows] == [row["cache references"] for row in rows] == [7000, 8000]
    assert np.isnan([row[name] for row in rows for name in ("instructions", "cache misses")]).all()


def test_without_a_proc_nothing_is_known(tmp_path):
    with Probes(str(tmp_path / "none"), hardware=False) as probes:
        assert probes.threads().shape == (0, len(THREAD_COLUMNS))
        assert np.isnan(probes.process().resident)


@linux
def test_a_busy_thread_runs_and_a_sleeping_one_does_not():
    stop, tasks = threading.Event(), {}

    def spin():
        tasks["spin"] = threading.get_native_id()
        while not stop.is_set():
            pass

    spinning = threading.Thread(target=spin)
    spinning.start()
    try:
        with Probes(hardware=False) as probes:
            before = probes.threads()
            time.sleep(0.1)
            change = probes.threads() - before
    finally:
        stop.set()
        spinning.join()
    run_ns = change[:, THREAD_COLUMNS.index("run_ns")]
    assert run_ns.max() > 10e6, "of 100 ms"
    assert change[:, THREAD_COLUMNS.index("voluntary")].max() >= 1, "the sleep gave up a CPU"


@linux
def test_resident_memory_grows_by_what_is_touched():
    with Probes(hardware=False) as probes:
        before = probes.process()
        block = np.ones(8_000_000)
        after = probes.process()
    assert after.resident - before.resident == pytest.approx(block.nbytes, rel=0.2)
    assert after.faults > before.faults


@linux
def test_a_closed_probe_holds_no_file_open():
    def held():
        return len(os.listdir("/proc/self/fd"))

    before = held()
    probes = Probes()
    assert held() > before
    probes.close()
    assert held() == before
