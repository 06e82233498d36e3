"""Contenders in a process of their own."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack

import pytest

from seer_env.bench.child import Child
from seer_env.bench.experiment import Contender


def contenders(factor: float, stack: ExitStack) -> dict:
    stack.callback(print, "closed", file=sys.stderr, flush=True)
    return {
        Contender("pid"): lambda: {"pid": os.getpid()},
        Contender("pool", 8): lambda: {"threads": factor * float(os.environ["NUMBA_NUM_THREADS"])},
    }


def broken(stack: ExitStack) -> dict:
    raise SystemExit(3)


def test_measurements_are_made_in_another_process_with_its_own_environment():
    before = dict(os.environ)
    child = Child(contenders, (2.0,), {"NUMBA_NUM_THREADS": "8"})
    assert os.environ == before
    assert child.contenders[Contender("pool", 8)]() == {"threads": 16.0}
    assert child.contenders[Contender("pid")]()["pid"] != os.getpid()
    child.close()


def test_the_process_closes_what_it_opened_and_ends_when_it_is_closed(capfd):
    child = Child(contenders, (1.0,), {"NUMBA_NUM_THREADS": "8"})
    pid = int(child.contenders[Contender("pid")]()["pid"])
    child.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert capfd.readouterr().err == "closed\n"


def test_a_process_that_fails_is_told():
    with pytest.raises(RuntimeError, match="ended with status 3"):
        Child(broken)
