"""How an idle worker waits, and the fallbacks where there is no futex and no pause instruction."""

from __future__ import annotations

import platform
import runpy
import sys
import threading
import time

import numba
import numpy as np
import pytest
from programs import phold_digest, run

from seer_env.runtime import waiting
from seer_env.runtime.atomics import store
from seer_env.runtime.waiting import block_while_equal, clock_ns, pause, wake_all

FALLBACK = "spin (no pause instruction), then yield and growing sleeps"

FORCED = """
import json
from programs import *
from seer_env.runtime import waiting
digests = [phold_digest("serial", 1)] + [phold_digest("seer", threads) for threads in (1, 2, 4)]
print(json.dumps([waiting.describe(), digests]))
"""


def test_forced_fallbacks_give_the_same_results_at_every_thread_count():
    how, digests = run(FORCED, SEER_ENV_WAITING="yield", SEER_ENV_PAUSE="no")
    assert how == FALLBACK
    assert digests == [phold_digest("serial", 1)] * 4


@pytest.mark.parametrize(
    ("machine", "system", "futex", "has_pause"),
    [
        ("x86_64", "linux", True, True),
        ("aarch64", "linux", True, True),
        ("riscv64", "linux", True, False),
        ("s390x", "linux", False, False),
        ("arm64", "darwin", False, True),
        ("x86_64", "freebsd14", False, True),
    ],
)
def test_what_is_known_of_a_platform_decides(machine, system, futex, has_pause, monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(sys, "platform", system)
    there = runpy.run_path(waiting.__file__)
    assert (there["USES_FUTEX"], there["HAS_PAUSE"]) == (futex, has_pause)
    assert ("futex" in there["describe"]()) == futex
    assert ("no pause" in there["describe"]()) == (not has_pause)


# -- the intrinsics of this platform -------------------------------------------------------------------


@numba.njit(nogil=True)
def block(words, value, milliseconds):
    block_while_equal(words, 0, value, milliseconds)


@numba.njit(nogil=True)
def change_and_wake(words, value):
    store(words, 0, value)
    wake_all(words, 0)


@numba.njit(nogil=True)
def pause_and_look():
    pause()
    return clock_ns()


def seconds_blocked(words, value, milliseconds) -> float:
    start = time.perf_counter()
    block(words, np.int64(value), np.int64(milliseconds))
    return time.perf_counter() - start


@pytest.fixture(scope="module", autouse=True)
def compiled():
    words = np.zeros(1, np.int64)
    block(words, np.int64(1), np.int64(0))
    change_and_wake(words, np.int64(1))
    pause_and_look()


def test_a_word_that_has_changed_already_does_not_block():
    assert seconds_blocked(np.ones(1, np.int64), 0, 0) < 1.0


def test_blocking_ends_when_its_time_is_over():
    assert seconds_blocked(np.zeros(1, np.int64), 0, 20) < 5.0


def test_whoever_blocks_is_woken_or_looks_up_in_time():
    words = np.zeros(1, np.int64)
    blocked = threading.Thread(target=block, args=(words, np.int64(0), np.int64(400)))
    start = time.perf_counter()
    blocked.start()
    time.sleep(0.05)
    change_and_wake(words, np.int64(1))
    blocked.join(5.0)
    assert not blocked.is_alive()
    assert time.perf_counter() - start < 5.0


def test_only_the_low_half_of_the_word_is_compared():
    assert seconds_blocked(np.full(1, (5 << 32) | 3, np.int64), 4, 10_000) < 5.0


def test_clock_runs_as_the_monotonic_clock_does():
    before, first = time.monotonic_ns(), pause_and_look()
    time.sleep(0.05)
    elapsed, here = pause_and_look() - first, time.monotonic_ns() - before
    assert 0.03e9 <= elapsed <= here
