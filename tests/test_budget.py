"""The compile budget: from import to the first step of Aircraft, cold and from the cache."""

from __future__ import annotations

import pytest
from programs import run

FIRST_STEP = """
import time
start = time.perf_counter()
import collections, json
compiled = collections.Counter()
import numba.core.event as event

class Compiled(event.Listener):
    def on_start(self, started):
        compiled[started.data["dispatcher"].py_func, started.data["args"]] += 1
    def on_end(self, _):
        pass

event.register("numba:compile", Compiled())
import seer_env
env = seer_env.make("aircraft_v0")
env.reset(seed=1)
env.step({agent: env.action_space(agent).sample() for agent in env.agents})
seconds = time.perf_counter() - start
twice = [str(kernel)[:200] for (kernel, _), times in compiled.items() if times > 1]
print(json.dumps({"seconds": seconds, "compiled": len(compiled), "twice": twice}))
"""
COLD_S, CACHED_S = 20.0, 2.5
#: Load of the machine lengthens a measurement, never shortens it: the best of these counts.
TRIES = 3


def best(limit: float, **environment: str) -> float:
    """The least of up to `TRIES` measurements; no more than needed to get below `limit`."""
    seconds = []
    while len(seconds) < TRIES and min(seconds, default=limit + 1.0) > limit:
        seconds.append(run(FIRST_STEP, **environment)["seconds"])
    return min(seconds)


def test_first_step_from_the_cache_and_nothing_is_compiled():
    run(FIRST_STEP)
    assert run(FIRST_STEP)["compiled"] == 0
    assert best(CACHED_S) <= CACHED_S


@pytest.mark.stress
def test_cold_first_step_compiles_every_kernel_once(tmp_path):
    result = run(FIRST_STEP, SEER_ENV_CACHE_DIR=str(tmp_path / "cache"))
    assert result["compiled"] > 0
    assert result["twice"] == []


@pytest.mark.stress
def test_cold_first_step(tmp_path):
    seconds = []
    while len(seconds) < TRIES and min(seconds, default=COLD_S + 1.0) > COLD_S:
        cache = str(tmp_path / f"cache_{len(seconds)}")
        seconds.append(run(FIRST_STEP, SEER_ENV_CACHE_DIR=cache)["seconds"])
    assert min(seconds) <= COLD_S
