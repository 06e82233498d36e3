"""The driver of copies, `runtime/driver.py`, as a model program over one `Pool` per copy."""

from __future__ import annotations

from model.access import add, count, load, mark, plain_load, plain_store, recall, require, store, until_not
from model.pool import Pool

#: Words that all copies share.
COMMON = ("EXPIRED",)


class Within:
    """A program on one copy's words and notes, for `yield from`; to the explorer it is the program itself."""

    def __init__(self, copy, program):
        self._copy, self._program = copy, program

    def __iter__(self):
        return self

    def __next__(self):
        return self.send(None)

    def send(self, value):
        op = self._program.send(value)
        return op if op.word in COMMON else op._replace(word=(self._copy, op.word))

    gi_frame = property(lambda self: self._program.gi_frame)
    gi_code = property(lambda self: self._program.gi_code)
    gi_yieldfrom = property(lambda self: self._program.gi_yieldfrom)


class Driver:
    """Workers on copies; the first `alone` are not open to helpers. A mutant overrides one method."""

    def __init__(self, *pools: Pool, alone: int = 0, pauses: bool = False):
        self.pools, self.alone, self.pauses = pools, alone, pauses

    def words(self) -> dict:
        """The shared words once every copy has begun and is on the list."""
        words = {"NEXT": 0, "COUNT": len(self.pools), **{f"ORDER{k}": k for k in range(len(self.pools))}}
        for copy, pool in enumerate(self.pools):
            words.update({(copy, name): value for name, value in pool.words().items() if name not in COMMON})
        return {**words, **({"EXPIRED": 0, "CALL": 0, "RETURNED": 0} if self.pauses else {})}

    def at_end(self, value, notes):
        """Every copy's own rules hold."""
        for copy, pool in enumerate(self.pools):
            own = {name[1]: noted for name, noted in notes.items() if name[0] == copy}
            pool.at_end(lambda word, copy=copy: value((copy, word)), own)

    # -- driver.py -----------------------------------------------------------------------------------

    def take(self):
        """`add(words, NEXT, 1)` in `driver.drive`."""
        return (yield add("NEXT", 1))

    def open_to_helpers(self, copy):
        """Whether the copy's step has more than one worker."""
        return copy >= self.alone

    def expired(self):
        """Whether the deadline has passed; the word is left out of models without a pause."""
        if not self.pauses:
            return 0
        return (yield load("EXPIRED"))

    def enter(self, copy):
        """Mirrors `driver.enter`; who has a copy alone is the only one to enter it in this call."""
        if copy < self.alone:
            again = yield count((copy, "entered"))
            require(again == 0, f"two workers entered copy {copy}, which is one worker's alone")
            del again
        yield from Within(copy, self.pools[copy].work())

    def drive(self, index=0):
        """Mirrors `driver.drive`."""
        total = yield plain_load("COUNT")
        while True:
            taken = yield from self.take()
            if taken >= total:
                break
            copy = yield plain_load(f"ORDER{taken}")
            del taken
            yield from self.enter(copy)
            del copy
            if (yield from self.expired()):
                return 0
        del taken
        k = 0
        while k < total:
            copy = yield plain_load(f"ORDER{(index + k) % total}")
            if self.open_to_helpers(copy):
                yield from self.enter(copy)
            k += 1
        return 0

    # -- compiled_copies.py --------------------------------------------------------------------------

    def entered(self):
        """A worker that Python enters once per call, in `CompiledCopies._run`."""
        call = 0
        while True:
            call = yield until_not("CALL", call)
            if call < 0:
                return 0
            yield from self.drive()
            yield add("RETURNED", 1)

    def caller(self, workers):
        """Mirrors `CompiledCopies._run`: enter again until no copy is unfinished."""
        call = 0
        while True:
            call = 2 if call == 1 else 1
            yield store("CALL", call)
            returned = 0
            while returned < workers:
                returned = yield until_not("RETURNED", returned)
            kept, copy = 0, 0
            while copy < len(self.pools):
                now = yield recall((copy, "phase"))
                if now < len(self.pools[copy].plan) - 1:
                    yield plain_store(f"ORDER{kept}", copy)
                    kept += 1
                copy += 1
            if kept == 0:
                yield store("CALL", -1)
                return 0
            copy = 0
            while copy < len(self.pools):
                yield mark((copy, "entered"), 0)
                yield store((copy, "PAUSED"), 0)
                copy += 1
            yield plain_store("COUNT", kept)
            yield store("NEXT", 0)
            yield store("RETURNED", 0)
            del returned, kept, copy, now

    def clock(self):
        """As `Pool.clock`."""
        yield store("EXPIRED", 1)
        return 0
