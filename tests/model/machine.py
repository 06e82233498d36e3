"""A small shared-memory machine, and an explorer of all its schedules.

A worker is a generator that yields one `Op` before every access to shared memory and is sent the
access's result. `explore` runs every interleaving of the workers, and on the weak machine every
value that each load may return, and raises `Violation` with the schedule that broke a rule.

The weak machine keeps each word's history of stores. A worker has a view: for each word, the oldest
store it may still read. A store that releases carries its writer's view, and a load that acquires
joins it; plain loads and stores move no views, so what they should have made visible may stay stale
for ever. Read-modify-writes and the futex see the newest store, as on real machines. Without `weak`,
every access sees the newest store, and plain accesses are no steps of their own: in a program without
races, which the weak machine checks, nobody can tell when they happened. The promises of
Kang, Hur, Lahav, Vafeiadis and Dreyer, "A promising semantics for relaxed-memory concurrency", POPL
2017, are left out: the runtime has no loads whose effects a later store could precede.

Generators cannot be copied, but they are deterministic: where one stands is the code position and
the locals of its frames. Each position is run once, and exploring is a walk over the table of them.
Whatever a generator keeps across a yield must therefore be a hashable local, not a half-evaluated
expression or an iterator.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator, Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from model.access import NOTES, PLAIN, Op, Violation

Worker = Generator[Op, int, int]
#: In place of the word that a worker blocks on.
RUNNING = -1
#: A model that reaches this many states grows without end, most likely by a counter in a loop.
MOST_STATES = 2_000_000


@dataclass
class Result:
    """What an exploration saw."""

    states: int
    ends: int


class Table:
    """The positions of one worker's program, found as the exploration reaches them."""

    def __init__(self, program: Callable[[], Worker]):
        self._program = program
        self._ids: dict[Hashable, int] = {}
        self.ops: list[Op | None] = []
        self._sent: list[tuple[int, ...]] = []
        self._following: dict[tuple[int, int], int] = {}
        self.first = self._enter((), None, 0)

    def after(self, position: int, value: int) -> int:
        """Where the program stands when its access at `position` returned `value`."""
        found = self._following.get((position, value))
        if found is None:
            sent = self._sent[position]
            generator = self._program()
            next(generator)
            for earlier in sent:
                generator.send(earlier)
            found = self._following[position, value] = self._enter(sent, generator, value)
        return found

    def _enter(self, sent: tuple[int, ...], generator: Worker | None, value: int) -> int:
        try:
            if generator is None:
                generator, sent_now = self._program(), sent
                op: Op | None = next(generator)
            else:
                sent_now = (*sent, value)
                op = generator.send(value)
            key: Hashable = (op, *_frames(generator))
        except StopIteration:
            op, key = None, "end"
        if key not in self._ids:
            self._ids[key] = len(self.ops)
            self.ops.append(op)
            self._sent.append(sent_now)
        return self._ids[key]


def _frames(generator):
    while generator is not None and getattr(generator, "gi_frame", None) is not None:
        frame = generator.gi_frame
        yield generator.gi_code, frame.f_lasti, tuple(sorted(frame.f_locals.items()))
        generator = generator.gi_yieldfrom


class State(NamedTuple):
    """A state of the machine. `memory` holds per word its stores `(value, view)`, oldest first."""

    memory: tuple
    positions: tuple
    views: tuple
    blocked: tuple
    notes: frozenset


class Explorer:
    """All schedules of some programs over some words."""

    def __init__(self, programs, words, weak=False):
        shared = {program: Table(program) for program in dict.fromkeys(programs)}
        self.tables = [shared[program] for program in programs]
        groups = [[w for w, t in enumerate(self.tables) if t is table] for table in shared.values()]
        self.groups = [group for group in groups if len(group) > 1]
        self.index = {word: k for k, word in enumerate(words)}
        self.names = list(words)
        self.weak = weak
        n = len(self.tables)
        start = (0,) * len(words) if weak else ()
        memory = tuple(((value, ()),) for value in words.values())
        firsts = tuple(t.first for t in self.tables)
        self.start = State(memory, firsts, (start,) * n, (RUNNING,) * n, frozenset())

    # -- one access --------------------------------------------------------------------------------

    def steps(self, state: State, w: int):
        """The states that worker `w`'s next access may lead to."""
        op = self.tables[w].ops[state.positions[w]]
        if op is None or state.blocked[w] != RUNNING:
            return
        if op.kind in NOTES:  # only where a program begins with one
            yield self._settle(state, w)
            return
        at = self.index[op.word]
        stores = state.memory[at]
        newest = stores[-1][0]
        if op.kind == "load":
            for stamp in range(state.views[w][at] if self.weak else 0, len(stores)):
                yield self._advance(state, w, stores[stamp][0], self._seen(state, w, op, at, stamp))
        elif op.kind == "until":
            if newest != op.a:
                yield self._advance(state, w, newest, self._seen(state, w, op, at, len(stores) - 1))
        elif op.kind == "block":
            blocked = _with(state.blocked, w, at) if op.b or newest == op.a else state.blocked
            compared = op._replace(acquire=False)
            view = self._seen(state, w, compared, at, len(stores) - 1)
            yield self._advance(state._replace(blocked=blocked), w, 0, view)
        elif op.kind == "wake":
            blocked = tuple(RUNNING if b == at else b for b in state.blocked)
            yield self._advance(state._replace(blocked=blocked), w, 0, state.views[w])
        elif op.kind == "store":
            yield self._write(state, w, op, at, op.a, 0)
        elif op.kind == "cas" and newest != op.a:
            yield self._advance(state, w, newest, self._seen(state, w, op, at, len(stores) - 1))
        else:
            value = {"cas": op.b, "exchange": op.a, "add": newest + op.a, "or": newest | op.a}[op.kind]
            yield self._write(state, w, op, at, value, newest)

    def _seen(self, state, w, op, at, stamp):
        """Worker `w`'s view once it has read store number `stamp` of a word."""
        if not self.weak:
            return ()
        view = state.views[w]
        if op.acquire:
            view = _join(view, state.memory[at][stamp][1])
        return _with(view, at, max(view[at], stamp))

    def _write(self, state, w, op, at, value, result):
        stores, view, carried = state.memory[at], (), ()
        if self.weak:
            reads = op.kind != "store"
            before = stores[-1][1] if reads else ()
            view = self._seen(state, w, op, at, len(stores) - 1) if reads else state.views[w]
            view = _with(view, at, len(stores))
            # A read-modify-write hands on what the store it replaces had released.
            carried = _join(view, before) if op.release else before
            stores = (*stores, (value, carried))
        else:
            stores = ((value, ()),)
        return self._advance(state._replace(memory=_with(state.memory, at, stores)), w, result, view)

    def _advance(self, state, w, value, view):
        position = self.tables[w].after(state.positions[w], value)
        memory, positions, views, blocked, notes = state
        state = State(memory, _with(positions, w, position), _with(views, w, view), blocked, notes)
        return self._forget(self._settle(state, w))

    def _takes_no_time(self, op):
        """Notes, and on the strong machine plain accesses."""
        return op.kind in NOTES or (not self.weak and op.kind in PLAIN and not (op.acquire and op.release))

    def _settle(self, state, w):
        """Take worker `w` past what takes no time."""
        table = self.tables[w]
        while (op := table.ops[state.positions[w]]) is not None and self._takes_no_time(op):
            if op.kind in PLAIN:
                at = self.index[op.word]
                value = state.memory[at][0][0]
                if op.kind == "store":
                    state = state._replace(memory=_with(state.memory, at, ((op.a, ()),)))
            else:
                notes = dict(state.notes)
                value = notes.get(op.word, 0)
                if op.kind != "recall":
                    notes[op.word] = op.a if op.kind == "mark" else value + 1
                state = state._replace(notes=frozenset(notes.items()))
            position = table.after(state.positions[w], value)
            state = state._replace(positions=_with(state.positions, w, position))
        return state

    def _forget(self, state):
        """Drop the stores that no worker can read any more, so that equal states are equal."""
        if not self.weak:
            return state
        live = [v for w, v in enumerate(state.views) if self.tables[w].ops[state.positions[w]] is not None]
        live = live or [tuple(len(stores) - 1 for stores in state.memory)]
        base = tuple(map(min, zip(*live)))
        if not any(base):
            return state
        memory = tuple(
            tuple((value, _lower(view, base)) for value, view in stores[b:])
            for stores, b in zip(state.memory, base)
        )
        return state._replace(memory=memory, views=tuple(_lower(view, base) for view in state.views))

    def _key(self, state):
        """What tells states apart: not which of several workers with one program is where."""
        workers = list(zip(state.positions, state.views, state.blocked))
        for group in self.groups:
            for w, worker in zip(group, sorted(workers[w] for w in group)):
                workers[w] = worker
        return state.memory, tuple(workers), state.notes

    # -- all of them -------------------------------------------------------------------------------

    def run(self, at_end=None) -> Result:
        """Visit every reachable state; `at_end(value of a word, notes)` checks those where all ended."""
        numbers, parents = {self._key(self.start): 0}, [(-1, -1, None)]
        before: list[list[int]] = [[]]
        stack, ends = [(0, self.start)], []
        while stack:
            if len(parents) > MOST_STATES:
                raise RuntimeError(f"more than {MOST_STATES} states")
            number, state = stack.pop()
            following = self._following(state, number, parents)
            if not following:
                self._check_end(state, number, parents, at_end)
                ends.append(number)
            for w, op, child in following:
                key = self._key(child)
                known = numbers.get(key)
                if known is None:
                    known = numbers[key] = len(parents)
                    parents.append((number, w, op))
                    before.append([])
                    stack.append((known, child))
                before[known].append(number)
        self._check_that_all_can_end(before, ends, parents)
        return Result(len(parents), len(ends))

    def _following(self, state, number, parents):
        try:
            return [
                (w, self.tables[w].ops[state.positions[w]], child)
                for w in range(len(self.tables))
                for child in self.steps(state, w)
            ]
        except Violation as broken:
            raise Violation(f"{broken}\n{_trace(parents, number)}") from None

    def _check_end(self, state, number, parents, at_end):
        waiting = [
            w
            for w, (position, blocked) in enumerate(zip(state.positions, state.blocked))
            if blocked != RUNNING or self.tables[w].ops[position] is not None
        ]
        try:
            if waiting:
                raise Violation(f"deadlock: workers {waiting} wait for ever")
            if at_end is not None:
                at_end(lambda word: state.memory[self.index[word]][-1][0], dict(state.notes))
        except Violation as broken:
            raise Violation(f"{broken}\n{_trace(parents, number)}") from None

    def _check_that_all_can_end(self, before, ends, parents):
        """From every state some schedule must lead to an end: nobody spins on what cannot change."""
        reached, stack = set(ends), list(ends)
        while stack:
            for number in before[stack.pop()]:
                if number not in reached:
                    reached.add(number)
                    stack.append(number)
        for number in range(len(parents)):
            if number not in reached:
                raise Violation(f"livelock: no schedule ends\n{_trace(parents, number)}")


def explore(programs, words, weak=False, at_end=None) -> Result:
    """Run all schedules of `programs` over `words` (a dict of initial values)."""
    gc.disable()  # states are tuples without cycles, and so many that looking for cycles takes a third
    try:
        return Explorer(programs, words, weak).run(at_end)
    finally:
        gc.enable()


def _with(values: tuple, at: int, value) -> tuple:
    return (*values[:at], value, *values[at + 1 :])


def _join(a: tuple, b: tuple) -> tuple:
    return tuple(map(max, a, b)) if b else a


@lru_cache(1 << 16)
def _lower(view: tuple, base: tuple) -> tuple:
    return tuple(max(0, v - b) for v, b in zip(view, base))


def _trace(parents, number: int, limit: int = 80) -> str:
    lines = []
    while number > 0:
        number, w, op = parents[number]
        lines.append(f"worker {w}: {op}")
    lines.reverse()
    return "\n".join(lines[-limit:])
