"""`affinity`: which CPUs workers may use while an env is open, by the operating system's own account."""

from __future__ import annotations

import copy
import os

import pytest
from programs import run
from worlds import Lamps

import seer_env
from seer_env import SeerError, affinity
from seer_env.env import SeerParallelEnv

LINUX = hasattr(os, "sched_setaffinity")
CPUS = sorted(os.sched_getaffinity(0)) if LINUX else []
pytestmark = pytest.mark.skipif(not LINUX, reason="no affinity masks here")
two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="one CPU: nothing to choose from")

#: `during` notes, inside the engine's calls, the masks of all threads as sorted lists, by the kernel's id.
PROGRAM = """
import copy, gc, json, os, threading
import numpy as np
import seer_env
from seer_env.runtime.schedulers.compiled import CompiledEngine

ALL = sorted(os.sched_getaffinity(0))
A, B = ALL[-1], ALL[0]
me = threading.get_native_id()
during = {}

def masks():
    found = {}
    for thread in map(int, os.listdir("/proc/self/task")):
        found[thread] = sorted(os.sched_getaffinity(thread))
    return found

call = CompiledEngine._call
def noting(self, *arguments):
    during.clear()
    during.update(masks())
    return call(self, *arguments)
CompiledEngine._call = noting

def make(world="flock_v0", **arguments):
    return seer_env.make(world, **{"n_agents": 300, "threads": 2, "preflight_ms": 0.0, **arguments})

def steps(env, count=3):
    env.reset_arrays(seed=1)
    for _ in range(count):
        env.step_arrays(np.zeros((300, env.model.action_size)))
    return env

def pinned_to(cpu):
    return [thread for thread, mask in during.items() if mask == [cpu]]

def all_free():
    return all(mask == ALL for mask in masks().values())
"""


def told(code: str, **environment: str):
    """What a program in a process of its own prints as JSON; `PROGRAM` comes before it."""
    return run(PROGRAM + code, **environment)


@two_cpus
def test_worker_w_runs_on_the_wth_cpu_and_worker_0_is_the_caller():
    code = """
steps(make(affinity=[A, B]))
print(json.dumps([pinned_to(A) == [me], len(pinned_to(B))]))
"""
    assert told(code) == [True, 1]


@two_cpus
def test_between_steps_only_the_pool_is_pinned():
    code = """
env = steps(make(affinity=[A, B]))
between = masks()
print(json.dumps([between.pop(me) == ALL, sorted(between.values()).count([B])]))
"""
    assert told(code) == [True, 1]


@two_cpus
@pytest.mark.parametrize("end", ["env.close()", "del env; gc.collect()"])
def test_the_masks_come_back_at_the_end(end):
    code = f"""
env = steps(make(affinity=[A, B]))
held = all_free()
{end}
print(json.dumps([held, all_free()]))
"""
    assert told(code) == [False, True]


@two_cpus
def test_the_masks_come_back_if_pinning_fails_halfway():
    code = """
from seer_env import affinity
pin = affinity._pin
def fails(thread, cpu):
    pin(thread, cpu)
    raise seer_env.SeerError("no")
env = make(affinity=[A, B])
affinity._pin = fails
try:
    env.reset(seed=1)
except seer_env.SeerError as error:
    print(json.dumps([str(error), all_free()]))
"""
    assert told(code) == ["no", True]


@two_cpus
def test_a_failed_step_gives_the_caller_its_mask_back():
    code = """
env = make(affinity=[A, B])
def breaks(self, *arguments):
    raise KeyboardInterrupt
CompiledEngine._call = breaks
try:
    env.reset(seed=1)
except KeyboardInterrupt:
    print(json.dumps(sorted(os.sched_getaffinity(0)) == ALL))
"""
    assert told(code) is True


@two_cpus
def test_no_affinity_touches_nothing():
    code = """
os.sched_setaffinity = None
env = steps(make())
print(json.dumps(all(mask == ALL for mask in during.values())))
"""
    assert told(code) is True


@two_cpus
def test_a_thread_that_has_lost_its_cpu_is_pinned_anew():
    code = """
env = steps(make(affinity=[A, B]))
for thread in pinned_to(B):
    os.sched_setaffinity(thread, ALL)
env.step_arrays(np.zeros((300, env.model.action_size)))
print(json.dumps(len(pinned_to(B))))
"""
    assert told(code) == 1


@two_cpus
def test_another_calling_thread_has_workers_of_its_own():
    code = """
env = steps(make(affinity=[A, B]))
first = pinned_to(B)
thread = threading.Thread(target=lambda: env.step_arrays(np.zeros((300, env.model.action_size))))
thread.start()
thread.join()
second = [t for t in pinned_to(B) if t not in first]
env.close()
print(json.dumps([len(first), len(second), all_free()]))
"""
    assert told(code) == [1, 1, True]


@two_cpus
def test_another_affinity_is_refused_while_an_env_is_open():
    code = """
first = make(affinity=[A, B])
try:
    make(affinity=[B, A])
except seer_env.SeerError as error:
    message = str(error)
first.close()
print(json.dumps([message, sorted(pinned_to(A)), steps(make(affinity=[B, A])).threads, pinned_to(B) == [me]]))
"""
    first, second = [CPUS[-1], CPUS[0]], [CPUS[0], CPUS[-1]]
    message, *rest = told(code)
    assert message.startswith(f"affinity={second}: an open env has this process's pool")
    assert f"on {first}: give both the same affinity, or close that one" in message
    assert rest == [[], 2, True]


@two_cpus
def test_the_masks_come_back_with_the_last_of_several_envs():
    code = """
first, second = steps(make(affinity=[A, B])), steps(make(affinity=[A, B]))
first.close()
held = all_free()
second.close()
print(json.dumps([held, all_free()]))
"""
    assert told(code) == [False, True]


@two_cpus
def test_copies_are_pinned_until_they_are_closed():
    code = """
copies = make(copies=3, affinity=[A, B])
copies.reset_arrays(seed=1)
copies.step_arrays(np.zeros((3, 300, copies.model.action_size)))
held = sorted(masks().values()).count([B])
copies.close()
print(json.dumps([held, all_free()]))
"""
    assert told(code) == [1, True]


@two_cpus
def test_a_layer_without_a_fixed_thread_per_worker_is_refused():
    code = """
env = make(affinity=[A, B])
try:
    env.reset(seed=1)
except seer_env.SeerError as error:
    print(json.dumps(str(error)))
"""
    assert "NUMBA_THREADING_LAYER=omp" in told(code, NUMBA_THREADING_LAYER="workqueue")


@two_cpus
def test_outputs_do_not_depend_on_it():
    code = """
chosen = {"threads": "auto", "preflight_ms": 50.0, "affinity": [A, B]}
arguments = chosen, {"affinity": [A, B]}, {"threads": 1, "affinity": [B]}, {}
print(json.dumps([steps(make(**given)).digest() for given in arguments]))
"""
    assert len(set(told(code))) == 1


@two_cpus
def test_rehearsed_steps_are_pinned_too():
    code = """
callers = []
rehearse = CompiledEngine.rehearse
def noting(self, *arguments):
    callers.append(sorted(os.sched_getaffinity(0)))
    return rehearse(self, *arguments)
CompiledEngine.rehearse = noting
env = make(threads="auto", preflight_ms=50.0, affinity=[A, B])
env.forget_threads()
env.reset(seed=1)
print(json.dumps([callers[0] == [A], len(set(map(tuple, callers)))]))
"""
    assert told(code) == [True, 1]


def test_one_thread_is_pinned_during_a_step_and_needs_no_pool():
    code = """
env = steps(make(threads=1, affinity=[ALL[-1]]))
print(json.dumps([during[me], sorted(os.sched_getaffinity(0)) == ALL]))
"""
    assert told(code) == [[CPUS[-1]], True]


def test_no_more_threads_are_chosen_than_cpus_are_named():
    env = seer_env.make("flock_v0", n_agents=300, affinity=CPUS[:1])
    ladder = env.stpa_report.ladder
    env.close()
    assert ladder == (1,)


@two_cpus
def test_a_copy_of_an_env_has_no_affinity():
    env = SeerParallelEnv(Lamps(3), threads=2, affinity=CPUS[:2])
    other = copy.deepcopy(env)
    env.close()
    try:
        assert other._affinity.on(2) is affinity.ANYWHERE.on(2)
        assert affinity._claims == []
    finally:
        other.close()


NOWHERE = max(CPUS, default=0) + 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (0, "affinity must be None or a sequence of CPU numbers, got 0"),
        ("01", "affinity must be None or a sequence of CPU numbers, got '01'"),
        ({0, 1}, r"affinity must be None or a sequence of CPU numbers, got \{0, 1\}"),
        ([True], r"affinity\[0\] must be an integer from 0 up, got True"),
        ([0.0], r"affinity\[0\] must be an integer from 0 up, got 0.0"),
        ([-1], r"affinity\[0\] must be an integer from 0 up, got -1"),
        ([NOWHERE], rf"affinity\[0\] must be a CPU that this thread may use, one of .*, got {NOWHERE}"),
        (CPUS[:1] * 2, f"affinity names CPU {min(CPUS, default=0)} twice"),
        ([], "threads=auto needs 1, got"),
    ],
)
def test_what_is_no_list_of_cpus_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        SeerParallelEnv(Lamps(3), affinity=given)


def test_fewer_cpus_than_threads_are_refused():
    with pytest.raises(ValueError, match=r"threads=2 needs 2, got \[\d+\]: name more CPUs"):
        SeerParallelEnv(Lamps(3), threads=2, affinity=CPUS[:1])


def test_a_system_that_pins_no_threads_is_named(monkeypatch):
    monkeypatch.delattr(os, "sched_setaffinity")
    with pytest.raises(SeerError, match="under Linux only"):
        SeerParallelEnv(Lamps(3), affinity=[0])
