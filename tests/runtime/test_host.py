"""Fork, spawn and threads of the host program: nothing hangs or aborts, and no result changes."""

from __future__ import annotations

import pytest
from programs import phold_digest, run

#: `omp` is numba's choice where it is there; `workqueue` is everywhere and the least able.
LAYERS = ["omp", "workqueue"]


@pytest.fixture(scope="module")
def expected() -> str:
    """The digest after four steps, by `serial` in this process."""
    return phold_digest("serial", 1)


FORK = """
import json, os, sys, warnings
from programs import *
runs, layer_ran_before = pool_runs(), sys.argv[1] == "after"
steps = 2 if layer_ran_before else 4
if layer_ran_before:
    engine = phold("seer", 2)
    stepped(engine, 2)
ran_before = len(runs)
read, write = os.pipe()
child = os.fork()
if not layer_ran_before:
    engine = phold("seer", 2)
if child == 0:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        digest = stepped(engine, steps)
        other = phold_digest("seer", 2)
        stepped(engine)
    report = {"digest": digest, "other": other, "told": [str(w.message) for w in told], "runs": len(runs)}
    os.write(write, json.dumps(report).encode())
    sys.exit(0)
os.close(write)
report = json.loads(os.fdopen(read).read() or "{}")
_, status = os.waitpid(child, 0)
ran_at_fork = len(runs)
report.update(status=status, ran_before=ran_before, parent=stepped(engine, steps))
report["parent_pool"] = len(runs) > ran_at_fork
print(json.dumps(report))
"""


def test_child_of_a_fork_after_a_parallel_step_steps_alone_and_says_so_once(expected):
    result = run(FORK, arguments=("after",), NUMBA_THREADING_LAYER="omp")
    assert result["ran_before"] > 0, "the fact is about a process whose pool has run"
    assert result["status"] == 0
    assert (result["digest"], result["other"]) == (expected, expected)
    assert len(result["told"]) == 1
    assert "forked after a parallel step" in result["told"][0]
    assert result["runs"] == result["ran_before"], "the child entered the pool"


def test_parent_goes_on_in_parallel_after_a_fork(expected):
    result = run(FORK, arguments=("after",), NUMBA_THREADING_LAYER="omp")
    assert result["parent"] == expected
    assert result["parent_pool"]


def test_child_of_a_fork_after_a_parallel_step_under_workqueue(expected):
    result = run(FORK, arguments=("after",), NUMBA_THREADING_LAYER="workqueue")
    assert result["status"] == 0
    assert (result["digest"], result["other"], result["parent"]) == (expected,) * 3
    assert len(result["told"]) <= 1


@pytest.mark.parametrize("layer", LAYERS)
def test_fork_before_any_env_costs_nothing(layer, expected):
    result = run(FORK, arguments=("before",), NUMBA_THREADING_LAYER=layer)
    assert (result["status"], result["told"]) == (0, [])
    assert (result["digest"], result["parent"]) == (expected, expected)
    assert result["runs"] > 0, "the child did not enter the pool"
    assert result["parent_pool"]


FORK_WARNINGS_AS_ERRORS = """
import json, os, sys, warnings
from programs import *
engine = phold("seer", 2)
before = stepped(engine, 2)
read, write = os.pipe()
if os.fork() == 0:
    warnings.simplefilter("error")
    try:
        stepped(engine, 1)
        raised = ""
    except RuntimeWarning as warning:
        raised = str(warning)
    unchanged = engine.digest() == before
    os.write(write, json.dumps([raised, unchanged, stepped(engine, 2)]).encode())
    sys.exit(0)
os.close(write)
report = os.fdopen(read).read()
os.wait()
print(report)
"""


def test_warning_of_a_forked_child_as_an_error_is_raised_once_and_undoes_the_step(expected):
    raised, unchanged, digest = run(FORK_WARNINGS_AS_ERRORS, NUMBA_THREADING_LAYER="omp")
    assert "forked after a parallel step" in raised
    assert unchanged
    assert digest == expected


MULTIPROCESSING = """
import json, multiprocessing, sys, warnings
warnings.simplefilter("ignore")
from programs import *
if __name__ == "__main__":
    digests = [phold_digest("seer", 2)]
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as workers:
        digests += workers.starmap(phold_digest, [("seer", 2), ("serial", 1)])
    print(json.dumps(digests))
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_multiprocessing(method, expected):
    assert run(MULTIPROCESSING, arguments=(method,)) == [expected] * 3


THREADS = """
import json, sys, warnings
from programs import *
count, threads = int(sys.argv[1]), int(sys.argv[2])
runs = pool_runs()
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    digests = [in_python_threads(count, 4, threads) for _ in range(3)]
layer = __import__("numba").threading_layer()
told = [str(w.message) for w in told]
print(json.dumps({"digests": digests, "told": told, "runs": len(runs), "layer": layer}))
"""


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize(("count", "threads"), [(2, 2), (4, 3)])
def test_envs_stepped_at_once_by_threads_of_the_program(layer, count, threads, expected):
    result = run(THREADS, arguments=(count, threads), NUMBA_THREADING_LAYER=layer)
    assert result["layer"] == layer
    assert result["runs"] > 0, "no step entered the pool"
    assert result["digests"] == [[expected] * count] * 3
    assert len(result["told"]) <= (1 if layer == "workqueue" else 0)


FORK_WHILE_STEPPING = """
import json, os, sys, threading, warnings
warnings.simplefilter("ignore")
from programs import *
engine, busy, stop = phold("seer", 2), phold("seer", 2), threading.Event()
def drive():
    while not stop.is_set():
        stepped(busy, 1)
driver = threading.Thread(target=drive)
driver.start()
statuses = []
for _ in range(8):
    child = os.fork()
    if child == 0:
        digest = phold_digest("seer", 2)
        os._exit(0 if digest == sys.argv[1] else 1)
    statuses.append(os.waitpid(child, 0)[1])
stop.set()
driver.join()
print(json.dumps(statuses))
"""


@pytest.mark.parametrize("layer", LAYERS)
def test_fork_while_another_thread_steps(layer, expected):
    assert run(FORK_WHILE_STEPPING, arguments=(expected,), NUMBA_THREADING_LAYER=layer) == [0] * 8


DIGESTS = """
import json, sys
from programs import *
runs = pool_runs()
print(json.dumps({"digests": [phold_digest("seer", int(n)) for n in sys.argv[1:]], "runs": len(runs)}))
"""


@pytest.mark.parametrize("layer", LAYERS)
def test_layer_that_delivers_one_thread_where_eight_are_asked_for(layer, expected):
    result = run(DIGESTS, arguments=(8,), NUMBA_NUM_THREADS="1", NUMBA_THREADING_LAYER=layer)
    assert result["runs"] > 0
    assert result["digests"] == [expected]


def test_layer_that_is_limited_to_fewer_threads_than_asked_for(expected):
    result = run(DIGESTS, arguments=(2, 3, 5, 16), OMP_THREAD_LIMIT="2", NUMBA_THREADING_LAYER="omp")
    assert result["digests"] == [expected] * 4


def test_parallel_regions_of_openmp_that_may_not_nest(expected):
    settings = {"OMP_DYNAMIC": "true", "OMP_MAX_ACTIVE_LEVELS": "1", "OMP_NUM_THREADS": "1"}
    assert run(DIGESTS, arguments=(4,), NUMBA_THREADING_LAYER="omp", **settings)["digests"] == [expected]


NUMBA_THREADS = """
import json, sys
import numba, numpy
from programs import *

@numba.njit(parallel=True)
def doubled(values):
    for i in numba.prange(values.size):
        values[i] *= 2.0
    return values.sum()

digests, counts = [], []
for before, after in ((1, 2), (2, 1)):
    numba.set_num_threads(before)
    engine = phold("seer", 2)
    stepped(engine, 1)
    counts.append(numba.get_num_threads() == before)
    doubled(numpy.ones(10_000))
    stepped(engine, 1)
    numba.set_num_threads(after)
    stepped(engine, 1)
    total = doubled(numpy.ones(10_000))
    digests.append(stepped(engine, 1))
    counts.append(numba.get_num_threads() == after)
print(json.dumps({"digests": digests, "counts": counts, "total": total}))
"""


@pytest.mark.parametrize("layer", LAYERS)
def test_numbas_thread_count_is_the_users(layer, expected):
    result = run(NUMBA_THREADS, NUMBA_NUM_THREADS="2", NUMBA_THREADING_LAYER=layer)
    assert result["counts"] == [True] * 4, "a step changed numba.get_num_threads()"
    assert result["digests"] == [expected] * 2
    assert result["total"] == 20_000.0


TORCH_THREADS = """
import json, sys
import torch
from programs import *
torch.set_num_threads(1)
engine = phold("seer", 2)
stepped(engine, 1)
(torch.ones(500, 500) @ torch.ones(500, 500)).sum()
stepped(engine, 1)
torch.set_num_threads(2)
stepped(engine, 1)
product = float((torch.ones(500, 500) @ torch.ones(500, 500)).sum())
print(json.dumps([stepped(engine, 1), product, torch.get_num_threads()]))
"""


def test_torchs_thread_count_before_and_after(expected):
    pytest.importorskip("torch", reason="torch is an extra of the project")
    assert run(TORCH_THREADS) == [expected, 500.0**3, 2]


NO_JIT = """
import json, warnings
import numpy as np
import seer_env
from worlds import Ring
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    envs = [seer_env.make(Ring(4), scheduler=s) for s in ("auto", "auto", "python")]
shown = []
for env in envs:
    env.reset(seed=1)
    env.step_arrays(np.zeros((4, 2)))
    shown.append(env.digest())
try:
    seer_env.make(Ring(4), scheduler="seer", threads=2)
    refused = ""
except seer_env.SeerError as error:
    refused = str(error)
told, schedulers = [str(w.message) for w in told], [e.scheduler for e in envs]
print(json.dumps({"schedulers": schedulers, "told": told, "refused": refused, "shown": shown}))
"""


def test_without_numbas_compiler_auto_means_python_and_seer_is_refused():
    result = run(NO_JIT, NUMBA_DISABLE_JIT="1")
    assert result["schedulers"] == ["python"] * 3
    assert len(set(result["shown"])) == 1
    assert len(result["told"]) == 1
    assert "NUMBA_DISABLE_JIT" in result["told"][0]
    assert "NUMBA_DISABLE_JIT" in result["refused"]
