"""`seer-env bench memory`: peaks of processes of their own."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from made_up import made_up

from seer_env.bench import memory
from seer_env.bench.experiment import Contender
from seer_env.bench.memory import IMPORTS, MemoryExperiment, in_a_process
from seer_env.bench.stepping import World, stpa

PCS = World("pcs_v0", "guard", {"n_agents": 16})


def test_every_scheduler_and_the_imports_alone_are_measured_after_all_have_compiled(monkeypatch):
    started = []
    monkeypatch.setattr(memory, "in_a_process", lambda world, contender, *_: started.append(contender))
    contenders = list(MemoryExperiment().make(PCS, None))
    assert contenders == started == [
        IMPORTS, ("serial", 1), ("seer", 2), ("ross-t", 2), ("nbse", 2), ("root-sim", 2), stpa(),
    ]  # fmt: skip


def test_a_process_ends_where_all_others_do():
    digests = {in_a_process(PCS, Contender(*c), 3, 2)["digest"] for c in (("serial", 1), ("seer", 2))}
    assert len(digests) == 1


def test_a_worlds_size_is_in_the_peak():
    small, large = (
        in_a_process(PCS.but(n_agents=n), Contender("serial"), 0, 1)["peak MiB"] for n in (16, 4000)
    )
    rows = 4000 * 70 * 6 * 8 / 2**20  # six numbers per channel
    assert large - small > rows


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_peak_is_not_the_parents():
    held = np.ones(400 << 17)  # 400 MiB
    assert in_a_process(PCS, IMPORTS, 0, 1)["peak MiB"] < held.nbytes / 2**20


def test_the_peak_of_this_process_is_at_least_what_it_has_held():
    size = 300
    np.ones(size << 17).sum()
    assert memory.peak_mib() > size


def test_memory_is_told_above_that_of_the_imports():
    results = made_up({"g": {IMPORTS: {"peak MiB": 200.0}, Contender("seer", 2): {"peak MiB": 260.0}}})
    assert MemoryExperiment().above_imports(results, "g", Contender("seer", 2)) == 60.0


def test_a_process_that_fails_is_told():
    with pytest.raises(RuntimeError, match="a measuring process ended"):
        in_a_process(World("nonsense", "", {}), Contender("seer", 2), 0, 1)
