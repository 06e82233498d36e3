"""Worlds that the machine cannot hold are refused before anything is allocated."""

from __future__ import annotations

import numpy as np
import pytest

import seer_env
from seer_env.envs.flock_v0 import Flock
from seer_env.errors import ModelError
from seer_env.machine import memory_bytes
from seer_env.runtime import room
from seer_env.runtime.engine import make_engine


@pytest.mark.parametrize("scheduler", ["auto", "python"])
def test_copies_beyond_all_memory_are_refused_by_number(scheduler):
    with pytest.raises(ModelError, match=r"^copies=1000000000 of Flock\(50 entities.* GB are needed"):
        seer_env.make("flock_v0", n_agents=50, copies=10**9, scheduler=scheduler)


def test_one_world_beyond_all_memory_is_refused(monkeypatch):
    monkeypatch.setattr(room, "memory_bytes", lambda: 1000.0)
    with pytest.raises(ModelError, match=r"^Flock\(50 entities, 50 agents\): at least"):
        make_engine(Flock(50), "python")


def test_the_least_is_no_more_than_what_the_rows_and_outputs_take():
    model = Flock(1000)
    engine = make_engine(model, "serial")
    outputs = sum(array.nbytes for array in engine.new_outputs() if array is not None)
    taken = engine.state.nbytes + engine._memory.leq.nbytes + engine._memory.public.nbytes + outputs
    assert 0.9 * taken <= room.least_bytes(model) <= taken


def test_memory_is_what_the_system_tells(monkeypatch):
    pages = {"SC_PHYS_PAGES": 10, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr("os.sysconf_names", pages, raising=False)
    monkeypatch.setattr("os.sysconf", pages.__getitem__, raising=False)
    assert memory_bytes() == 40960.0


def test_memory_is_unlimited_where_the_system_does_not_tell(monkeypatch):
    monkeypatch.delattr("os.sysconf", raising=False)
    assert memory_bytes() == np.inf
