"""The accesses that model programs yield, one constructor per operation of `atomics.py` and `waiting.py`."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple


class Op(NamedTuple):
    """One access to shared memory, or a note of the model (`NOTES`), which takes no time."""

    kind: str
    word: Hashable = None
    a: int = 0
    b: int = 0
    acquire: bool = True
    release: bool = True


def load(word):
    """Mirrors `atomics.load`."""
    return Op("load", word)


def plain_load(word):
    """A load that the compiler and the processor may take early."""
    return Op("load", word, acquire=False)


def store(word, value):
    """Mirrors `atomics.store`."""
    return Op("store", word, value)


def plain_store(word, value):
    """A store that the compiler and the processor may let others see late."""
    return Op("store", word, value, release=False)


def compare_and_swap(word, expected, value, release=True):
    """Mirrors `atomics.compare_and_swap`."""
    return Op("cas", word, expected, value, release=release)


def exchange(word, value):
    """Mirrors `atomics.exchange`."""
    return Op("exchange", word, value)


def add(word, value, acquire=True, release=True):
    """Mirrors `atomics.add`."""
    return Op("add", word, value, acquire=acquire, release=release)


def bit_or(word, bits):
    """Mirrors `atomics.bit_or`."""
    return Op("or", word, bits)


def block_while_equal(word, value):
    """Mirrors `waiting.block_while_equal`: compare and block in one step, as the kernel does."""
    return Op("block", word, value)


def block(word):
    """A wait that compares nothing: what `block_while_equal` must not be."""
    return Op("block", word, b=1)


def wake_all(word):
    """Mirrors `waiting.wake_all`."""
    return Op("wake", word)


def until_not(word, value):
    """Wait for a word to change: a join or a start of threads, which the runtime leaves to numba."""
    return Op("until", word, value)


def count(name):
    """A note: how often this name was counted before."""
    return Op("count", name)


def mark(name, value):
    """A note: remember a value under a name."""
    return Op("mark", name, value)


def recall(name):
    """A note: what was marked or counted under a name, 0 at first."""
    return Op("recall", name)


NOTES = ("count", "mark", "recall")
PLAIN = ("load", "store")


class Violation(AssertionError):
    """A schedule that breaks a rule."""


def require(condition, rule: str) -> None:
    """A rule that holds here in every schedule."""
    if not condition:
        raise Violation(rule)
