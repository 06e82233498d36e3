"""Calls into the engine: compiled once for all models, and what of the pool is the caller's own."""

from __future__ import annotations

import threading

import numba
import pytest
from programs import run

from seer_env.runtime import entry

COMPILED = """
import collections, json
import numba.core.event as event

class Compiled(event.Listener):
    def __init__(self):
        self.kernels = collections.Counter()
    def on_start(self, started):
        dispatcher = started.data["dispatcher"]
        self.kernels[dispatcher.py_func] += 1
    def on_end(self, _):
        pass

compiled = Compiled()
event.register("numba:compile", compiled)
from programs import *
from worlds import Lamps, Ring
from seer_env.runtime import entry
from seer_env.runtime.engine import make_engine
engines = [phold("seer", 2), *(make_engine(world, "serial") for world in (Ring(6), Lamps(3)))]
for engine in engines:
    engine.reset(1)
    model = engine.model
    engine.step(np.zeros((model.n_agents, model.action_size)), np.ones(model.n_agents, bool))
found = entry._worker()._cache_hits
models = [engine.compiled.compilations for engine in engines]
print(json.dumps({"kernels": sum(compiled.kernels.values()), "engine_found": found, "models": models}))
"""


def test_nothing_is_compiled_in_a_process_that_finds_the_cache_filled():
    run(COMPILED)
    assert run(COMPILED) == {"kernels": 0, "engine_found": 1, "models": [0, 0, 0]}


def test_one_engine_serves_all_models():
    assert entry.engine() is entry.engine()


@pytest.fixture
def idle(monkeypatch):
    """A pool whose workers do nothing, so that a call needs no world."""
    entry.pool()  # which starts the threading layer
    calls = []
    monkeypatch.setattr(entry, "pool", lambda: lambda *a: calls.append(a))
    return calls


def test_a_pool_gets_the_threads_that_are_asked_for_within_numbas_cap(idle):
    cap = numba.config.NUMBA_NUM_THREADS
    assert entry.run_pool(1, 0)
    assert entry.run_pool(1000, 0)
    assert [threads for _, threads, _ in idle] == [1, cap]


def test_the_callers_count_of_numba_threads_is_its_own_after_a_shared_step():
    code = """
from programs import *
import numba
numba.set_num_threads(1)
engine = phold("seer", 2)
engine.step(*NOBODY)
print(json.dumps([engine.stats.shared_rounds > 0, numba.get_num_threads()]))
"""
    assert run(code) == [True, 1]


@pytest.mark.parametrize("copies", [False, True])
def test_a_shared_step_leaves_the_callers_openmp_threads_as_they_were(copies):
    """Torch runs under the same library: numba's layer would have its ops take as many threads as numba's."""
    code = """
import ctypes
from importlib.util import find_spec
layer = ctypes.CDLL(find_spec("numba.np.ufunc.omppool").origin)
layer.omp_set_num_threads(1)
import json, sys
from seer_env.runtime.driver import pool_of_copies
from seer_env.runtime.entry import pool
(pool_of_copies if sys.argv[1] == "True" else pool)()
import numba
numba.get_num_threads()  # as the loop asks; it starts the layer if nothing else has
print(json.dumps([numba.threading_layer(), layer.omp_get_max_threads()]))
"""
    assert run(code, arguments=(copies,), NUMBA_THREADING_LAYER="omp") == ["omp", 1]


def test_a_layer_that_numba_cannot_load_is_refused_and_the_world_goes_on_with_one_thread():
    code = """
import sys
sys.modules["numba.np.ufunc.tbbpool"] = None  # as where there is no such library
from programs import *
from seer_env import ThreadingLayerError
one, two = phold("seer", 1), phold("seer", 2)
told = []
for _ in range(2):
    try:
        two.step(*NOBODY)
    except ThreadingLayerError as error:
        told.append(str(error))
two.use_threads(1)
one.step(*NOBODY)
two.step(*NOBODY)
print(json.dumps([told, one.digest() == two.digest()]))
"""
    told, went_on = run(code, NUMBA_THREADING_LAYER="tbb")
    refused = "numba: No threading layer could be loaded: unset NUMBA_THREADING_LAYER=tbb, install what it"
    assert [error.partition(" needs")[0] for error in told] == [refused] * 2
    assert went_on, "one thread needs no layer, and begins where the refused step had"


def test_steps_are_shared_by_a_thread_that_outlives_the_main_one():
    code = """
from programs import *
import threading
engine = phold("seer", 2)
def last():
    threading.main_thread().join()
    engine.step(*NOBODY)
    print(json.dumps(engine.stats.shared_rounds > 0), flush=True)
threading.Thread(target=last).start()
"""
    assert run(code) is True


def test_a_layer_for_one_caller_is_not_entered_twice(idle, monkeypatch):
    monkeypatch.setattr(entry, "_layer_takes_one_caller", lambda: True)
    told = []
    monkeypatch.setattr(entry, "_warn_busy", lambda: told.append(1))
    results = []

    def enter(*_):
        second = threading.Thread(target=lambda: results.append(entry.run_pool(2, 0)))
        second.start()
        second.join(10.0)

    monkeypatch.setattr(entry, "pool", lambda: enter)
    assert entry.run_pool(2, 0)
    assert results == [False], "the second caller must run its step itself"
    assert told == [1]
    assert entry.run_pool(2, 0), "the pool was not given back"
