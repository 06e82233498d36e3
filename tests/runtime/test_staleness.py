"""Compiled code is found again by a new process, and is never that of an earlier source."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from seer_env.runtime import shims
from seer_env.runtime.engine import make_engine
from seer_env.runtime.entry import engine

WORLD = """
from enum import IntEnum
import numpy as np
from gymnasium import spaces
from seer_env.model import EventModel, handles
import helper
from helper import through as forward

RATE = 1.0
UNIQUE = 0.0  # another number in each run of the tests, so that no cache has seen it

class Level(IntEnum):
    LOW = 10
    HIGH = 20

class Kind(IntEnum):
    GO = 0

def scaled(x, gain=1.0):
    return x * gain

def shifted_by(amount):
    def shifted(me, event, sim):
        me.x = forward(scaled(me.x)) + RATE + Level.HIGH.value + helper.LIMIT + amount + 0.0 * UNIQUE + 0.5
        sim.emit(sim.me, 1.0, Kind.GO)
    return shifted

class World(EventModel):
    name = "world"
    entity = np.dtype([("x", "f8")])
    observation_space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, state, schedule, rng):
        schedule(0, 0.0, Kind.GO)

    go = handles(Kind.GO)(shifted_by(100.0))

World.Kind = Kind
"""
HELPER = """
LIMIT = 1000.0

def deepest(x):
    return x + 1.0

def through(x):
    return deepest(x)
"""
#: x after one event: forward(0) + RATE + HIGH + LIMIT + amount + 0.5
ORIGINAL = 1.0 + 1.0 + 20 + 1000.0 + 100.0 + 0.5
RUN = """
import json, sys
import numpy as np
from seer_env.runtime.engine import make_engine
from world import World
engine = make_engine(World(1, 0), "serial")
engine.reset(0)
engine.step(np.zeros((0, 1)), np.zeros(0, bool))
compiled = engine.compiled
print(json.dumps([float(engine.state["x"][0]), compiled.compilations, compiled.stamp is not None]))
"""
_UNIQUE = time.time_ns()
#: Edit: file, before, after (of the same length, so that size and time stamp can both be put back), result.
EDITS = {
    "a function of a function of another module": ("helper.py", "x + 1.0", "x + 2.0", ORIGINAL + 1),
    "a constant of another module": ("helper.py", "= 1000.0", "= 2000.0", ORIGINAL + 1000),
    "the handler": ("world.py", "+ 0.5", "- 0.5", ORIGINAL - 1),
}


def written(folder):
    (folder / "world.py").write_text(WORLD.replace("UNIQUE = 0.0", f"UNIQUE = {_UNIQUE}.0"))
    (folder / "helper.py").write_text(HELPER)


def ran(folder):
    """`[x, compilations, cached]` of a new process that imports the world."""
    environment = {
        **os.environ,
        "PYTHONDONTWRITEBYTECODE": "1",  # Python's own bytecode cache trusts size and time stamp
        "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    done = subprocess.run(
        [sys.executable, "-c", RUN], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which the world has run once."""
    folder = tmp_path_factory.mktemp("stale")
    written(folder)
    assert ran(folder) == [ORIGINAL, 1, True]
    return folder


def test_a_new_process_finds_the_same_source_in_the_cache(folder):
    written(folder)
    assert ran(folder) == [ORIGINAL, 0, True]


@pytest.mark.parametrize("what", EDITS)
def test_an_edit_is_seen_by_a_new_process_even_with_size_and_time_stamp_put_back(folder, what):
    written(folder)
    name, before, after, result = EDITS[what]
    path, stamp = folder / name, (folder / name).stat()
    text = path.read_text()
    assert text.count(before) == 1
    path.write_text(text.replace(before, after))
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (stamp.st_size, stamp.st_mtime_ns)
    assert ran(folder) == [result, 1, True]


# -- one process: notebooks and exec ---------------------------------------------------------------------


class Notebook:
    """Cells executed in one namespace, and the worlds made from it."""

    def __init__(self, monkeypatch):
        helper = type(sys)("helper")
        exec(HELPER, vars(helper))
        monkeypatch.setitem(sys.modules, "helper", helper)
        self.helper, self.scope = helper, {"__name__": "__main__"}
        self.cell(WORLD)

    def cell(self, source):
        exec(compile(source, "<cell>", "exec"), self.scope)

    def x(self):
        made = make_engine(self.scope["World"](1, 0), "serial")
        made.reset(0)
        made.step(np.zeros((0, 1)), np.zeros(0, bool))
        return float(made.state["x"][0])


@pytest.fixture
def notebook(monkeypatch, tmp_path):
    engine()  # not from the empty cache
    monkeypatch.setenv("SEER_ENV_CACHE_DIR", str(tmp_path))
    return Notebook(monkeypatch)


CELLS = {
    "a called function": ("def scaled(x, gain=1.0):\n    return x * gain + 5.0", ORIGINAL + 5),
    "a default argument": ("def scaled(x, gain=1.0, more=7.0):\n    return x * gain + more", ORIGINAL + 7),
    "a global constant": ("RATE = 2.5", ORIGINAL + 1.5),
    "an enum's member": ("class Level(IntEnum):\n    LOW = 10\n    HIGH = 30", ORIGINAL + 10),
    "another module's constant": ("helper.LIMIT = 1500.0", ORIGINAL + 500),
    "another module's function": ("helper.deepest = lambda x: x + 4.0", ORIGINAL + 3),
    "a closure's cell": ("World.handlers = {0: shifted_by(300.0)}", ORIGINAL + 200),
    "the class": (WORLD.replace("+ 0.5", "+ 1.5"), ORIGINAL + 1),
}


@pytest.mark.parametrize("what", CELLS)
def test_a_cell_that_changes_something_reached_is_seen_at_once(notebook, what):
    cell, result = CELLS[what]
    assert notebook.x() == ORIGINAL
    notebook.cell(cell)
    assert notebook.x() == result


def test_a_cell_executed_again_compiles_nothing(notebook, monkeypatch):
    notebook.x()
    monkeypatch.setattr(shims, "c_function", None)
    notebook.cell(WORLD)
    assert notebook.x() == ORIGINAL


def test_what_cannot_be_compared_across_processes_is_compiled_anew_each_time(notebook, monkeypatch):
    def refuse(*_):
        raise shims.Unfingerprintable

    monkeypatch.setattr(shims, "fingerprint", refuse)
    assert notebook.x() == ORIGINAL
    notebook.cell("RATE = 2.5")
    assert notebook.x() == ORIGINAL + 1.5
    assert make_engine(notebook.scope["World"](1, 0), "serial").compiled.stamp is None
