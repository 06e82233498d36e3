"""What a fingerprint tells apart, and what it does not: code is compared, not where it was written."""

from __future__ import annotations

import math
import types
from enum import IntEnum

import numpy as np
import pytest

from seer_env.runtime.fingerprint import Unfingerprintable, fingerprint

BASE = """
from enum import IntEnum
import math
import helpers
from helpers import through

class Kind(IntEnum):
    A = 0
    B = 1

RATE = 0.5
TABLE = np.array([1.0, 2.0])
PAIR = (1, 2.5)

def inner(x):
    return x + 1.0

def outer(x, gain=2.0):
    return inner(x) * gain

def make(bias):
    def closed(x):
        return x + bias
    return closed

shifted = make(3.0)

def handle(me, event, sim):
    me.x = outer(me.x) + RATE * TABLE[0] + PAIR[1] + math.sqrt(2.0)
    if event.kind == Kind.B:
        me.x = shifted(me.x) + through(me.x) + helpers.LIMIT
    return [y for y in range(3)]
"""
HELPERS = """
LIMIT = 10.0

def deepest(x):
    return x - 1.0

def through(x):
    return deepest(x) * 2.0
"""


def module(name, source, **scope):
    made = types.ModuleType(name)
    vars(made).update(np=np, **scope)
    exec(compile(source, f"<{name}>", "exec"), vars(made))
    return made


def handler(monkeypatch, source=BASE, helpers=HELPERS):
    """`handle` of the source, as a fresh interpreter would see it."""
    import sys

    monkeypatch.setitem(sys.modules, "helpers", module("helpers", helpers))
    return module("world", source).handle


def test_the_same_source_has_the_same_fingerprint(monkeypatch):
    assert fingerprint(handler(monkeypatch)) == fingerprint(handler(monkeypatch))


EDITS = {
    "the handler": ("+ RATE *", "- RATE *"),
    "a literal": ("math.sqrt(2.0)", "math.sqrt(2.5)"),
    "a literal's type": ("range(3)", "range(True)"),
    "a called function": ("return x + 1.0", "return x + 1.5"),
    "a default argument": ("gain=2.0", "gain=2.5"),
    "a default argument's type": ("gain=2.0", "gain=2"),
    "a global constant": ("RATE = 0.5", "RATE = 0.25"),
    "the sign of zero": ("RATE = 0.5", "RATE = -0.5"),
    "a global array": ("[1.0, 2.0]", "[1.0, 2.5]"),
    "a global array's dtype": ("[1.0, 2.0]", "[1, 2]"),
    "a global tuple": ("(1, 2.5)", "(1, 3.5)"),
    "a closure's cell": ("make(3.0)", "make(4.0)"),
    "a closure's code": ("return x + bias", "return x - bias"),
    "a member's value": ("B = 1", "B = 2"),
    "which member": ("== Kind.B", "== Kind.A"),
    "the body of a comprehension": ("[y for y", "[y + 1 for y"),
    "another function of the same module": ("math.sqrt", "math.cbrt"),
}
EDITED_HELPERS = {
    "a nested function of another module": ("x - 1.0", "x - 1.5"),
    "a constant read through another module": ("LIMIT = 10.0", "LIMIT = 11.0"),
    "a function imported from another module": ("deepest(x) * 2.0", "deepest(x) * 3.0"),
}


@pytest.mark.parametrize("what", EDITS)
def test_an_edit_gives_another_fingerprint(monkeypatch, what):
    before, after = EDITS[what]
    assert BASE.count(before) == 1
    edited = handler(monkeypatch, BASE.replace(before, after))
    assert fingerprint(edited) != fingerprint(handler(monkeypatch))


@pytest.mark.parametrize("what", EDITED_HELPERS)
def test_an_edit_in_another_module_gives_another_fingerprint(monkeypatch, what):
    before, after = EDITED_HELPERS[what]
    assert HELPERS.count(before) == 1
    edited = handler(monkeypatch, helpers=HELPERS.replace(before, after))
    assert fingerprint(edited) != fingerprint(handler(monkeypatch))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("RATE = 0.5", "RATE = 0.5\nUNUSED = 7"),
        ("def inner", "# a comment\n\n\ndef inner"),
        ("\ndef make", "\ndef never_called():\n    return 4\n\ndef make"),
    ],
    ids=["an unused global", "comments and lines", "an unused function"],
)
def test_an_edit_of_what_is_not_reached_keeps_the_fingerprint(monkeypatch, before, after):
    edited = handler(monkeypatch, BASE.replace(before, after))
    assert fingerprint(edited) == fingerprint(handler(monkeypatch))


def test_a_global_set_after_definition_counts(monkeypatch):
    function = handler(monkeypatch)
    before = fingerprint(function)
    function.__globals__["RATE"] = 0.75
    assert fingerprint(function) != before


def test_a_global_that_hides_a_builtin_counts(monkeypatch):
    function = handler(monkeypatch)
    before = fingerprint(function)
    function.__globals__["range"] = lambda n: (n,)
    assert fingerprint(function) != before


def test_functions_that_call_each_other_have_a_fingerprint():
    source = (
        "def even(n):\n    return n == 0 or odd(n - 1)\n\ndef odd(n):\n    return n != 0 and even(n - 1)\n"
    )
    first, second = module("a", source), module("b", source)
    assert fingerprint(first.even) == fingerprint(second.even)
    assert fingerprint(first.even) != fingerprint(first.odd)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, 1.0),
        (1, True),
        (0.0, -0.0),
        ("1", 1),
        ((1, (2,)), ((1, 2),)),
        (("ab", "c"), ("a", "bc")),
        (None, "None"),
        (np.float32(1), np.float64(1)),
        (np.zeros(2), np.zeros((1, 2))),
        (np.dtype([("x", "f8")]), np.dtype([("y", "f8")])),
        (np.dtype([("x", "f8"), ("y", "i4")]), np.dtype([("x", "f8"), ("y", "i4")], align=True)),
        (frozenset({1, 2}), frozenset({1, 3})),
        (math.sin, math.cos),
    ],
)
def test_different_values_have_different_fingerprints(a, b):
    assert fingerprint(a) != fingerprint(b)


@pytest.mark.parametrize("value", [object(), object, open, lambda: None], ids=repr)
def test_what_cannot_be_compared_across_processes_is_refused_or_compared_by_code(value):
    if value is open or isinstance(value, types.FunctionType):
        assert fingerprint(value) == fingerprint(value)
    elif value is object:
        assert fingerprint(value) != fingerprint(int)
    else:
        with pytest.raises(Unfingerprintable):
            fingerprint(value)


def test_an_enum_is_told_by_its_members():
    class Kind(IntEnum):
        A = 0
        B = 1

    original = fingerprint(Kind)

    class Kind(IntEnum):
        A = 0
        B = 2

    assert fingerprint(Kind) != original


def test_an_enums_aliases_are_told():
    class Kind(IntEnum):
        A = 0
        C = 1
        B = 0

    original = fingerprint(Kind)

    class Kind(IntEnum):
        A = 0
        C = 1
        B = 1

    assert fingerprint(Kind) != original


def test_a_field_named_like_a_global_is_not_that_global():
    source = (
        "class Shape:\n    pass\n\n"
        "def tiny():\n    return Shape()\n\n"
        "def handle(me, event, sim):\n    me.tiny = 1.0\n"
    )
    scopes = [{}, {}]
    exec(source, scopes[0])
    exec(source.replace("return Shape()", "return None"), scopes[1])
    assert fingerprint(scopes[0]["handle"]) == fingerprint(scopes[1]["handle"])
