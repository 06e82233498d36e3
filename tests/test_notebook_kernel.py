"""Editing a world in a notebook: never stale code, and errors that lead to the handler's line."""

from __future__ import annotations

import re

import pytest
from kernels import notebook

WORLD = """from enum import IntEnum
import numpy as np
from gymnasium import spaces
import seer_env
from seer_env import EventModel, handles, output

STEP = 1.0

def advanced(x):
    return x + STEP

class Walkers(EventModel):
    Kind = IntEnum("Kind", "MOVE", start=0)
    name, action_kind, action_space = "walkers", Kind.MOVE, spaces.Discrete(2)
    entity = np.dtype([("x", "f8")])
    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)

    def reset(self, state, schedule, rng):
        pass

    @handles(Kind.MOVE)
    def move(me, event, sim):
        me.x = advanced(me.x)

    @output
    def observe(me, obs, info, sim):
        obs[0] = me.x
"""
RUN = """
env = seer_env.make(Walkers(4), scheduler=SCHEDULER, threads=THREADS)
env.reset_arrays(seed=0)
float(env.step_arrays(np.zeros(4)).observations[0, 0])
"""
#: An edit of the world's cell: what, by what, and where every walker stands then after one step.
EDITS = {
    "a handler": ("advanced(me.x)", "advanced(me.x) + 10.0", 11.0),
    "a function it calls": ("x + STEP", "x + 2.0 * STEP", 2.0),
    "a constant": ("STEP = 1.0", "STEP = 5.0", 5.0),
    "an output": ("obs[0] = me.x", "obs[0] = -me.x", -1.0),
}


def chosen(source, scheduler, threads):
    return source.replace("SCHEDULER", repr(scheduler)).replace("THREADS", str(threads))


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """A notebook, whose tests all begin with a cell that defines their world."""
    with notebook(tmp_path_factory.mktemp("notebook")) as running:
        yield running


@pytest.mark.parametrize("scheduler", [("serial", 1), ("seer", 2)], ids=lambda pair: pair[0])
def test_an_edit_is_seen_with_and_without_a_restart(book, scheduler):
    run = chosen(RUN, *scheduler)
    book.run(WORLD)
    assert float(book.value(run)) == 1.0
    for what, (before, after, expected) in EDITS.items():
        edited = WORLD.replace(before, after)
        assert edited != WORLD, what
        book.run(edited)
        assert float(book.value(run)) == expected, what
    book.restart()
    before, after, expected = EDITS["a handler"]
    book.run(WORLD.replace(before, after))
    assert float(book.value(run)) == expected
    book.restart()
    book.run(WORLD)
    assert float(book.value(run)) == 1.0


BROKEN = WORLD.replace(
    "        me.x = advanced(me.x)\n",
    "        slot = int(me.x)\n        me.x = sim.tables.steps[slot + 7]  # behind the end\n",
).replace("    def reset(", '    tables = {"steps": np.ones(3)}\n\n    def reset(')
MADE = RUN.replace("Walkers(4)", "Walkers(4, tables={'steps': np.ones(3)})")


@pytest.mark.parametrize("scheduler", [("python", 1), ("serial", 1), ("seer", 2)], ids=lambda pair: pair[0])
def test_an_exception_in_a_handler_names_the_handlers_line(book, scheduler):
    book.run(BROKEN)
    (error,) = book.run(chosen(MADE, *scheduler), raises=True)
    assert error["ename"] == "IndexError"
    shown = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error["traceback"]))
    line = 1 + BROKEN.splitlines().index("        me.x = sim.tables.steps[slot + 7]  # behind the end")
    assert re.search(rf"-+> {line}\s+me\.x = sim\.tables\.steps\[slot \+ 7\]", shown)
    assert "move(me, event, sim)" in shown
