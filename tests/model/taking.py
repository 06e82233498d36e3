"""The takers of `runtime/schedulers/taking.py` as model programs.

Each method mirrors the function of its name, access by access; a mutant overrides one method.
"""

from __future__ import annotations

from model.access import add, compare_and_swap, count, load, mark, plain_load, plain_store, recall, require

#: The window that the models are in, and the bits of a taker's number.
WINDOW, BITS = 5, 4
#: Events between owning and executing; the runtime's is larger.
AHEAD = 1


class Taking:
    """Takers walk over a run; event `k` of it belongs to entity `run[k]`.

    Every entity has an owner from the window before: a taker of this one, or another.
    """

    def __init__(self, *run: int, takers: int, before: int = WINDOW - 1):
        self.run, self.takers, self.before = run, takers, before

    def words(self) -> dict:
        """Owners, and the state of each entity: how many of its events were executed."""
        words = {}
        for i in sorted(set(self.run)):
            words[f"owner{i}"], words[f"state{i}"] = self.before << BITS | 1, 0
        return words

    def programs(self):
        """One program per taker."""
        return [self.program_of(taker) for taker in range(self.takers)]

    def program_of(self, taker):
        return lambda: self.take(taker)

    def take(self, taker):
        """Mirrors `take` and `take_range`, which make entities their own `AHEAD` events early."""
        mine: tuple[bool, ...] = ()
        ahead = 0
        while ahead < len(self.run) + AHEAD:
            if ahead < len(self.run):
                own = yield from self.own(self.run[ahead], taker)
                mine = (*mine, own)
            k = ahead - AHEAD
            if k >= 0 and mine[k]:
                yield from self.execute(k)
                yield from self.executed(self.run[k])
            ahead += 1
        return 0

    def own(self, target, taker):
        """Mirrors `own`."""
        token = WINDOW << BITS | taker
        seen = yield load(f"owner{target}")
        if seen >> BITS == WINDOW:
            return seen == token
        return (yield compare_and_swap(f"owner{target}", seen, token)) == seen

    def execute(self, k):
        """A handler reads and writes its entity's state: nobody else may in between, and order counts."""
        i = self.run[k]
        require((yield count(("ran", k))) == 0, f"event {k} ran twice")
        earlier = self.run[:k].count(i)
        seen = yield plain_load(f"state{i}")
        require(seen == earlier, f"event {k} ran before an earlier one of its entity, or beside it")
        require((yield recall(("inside", i))) == 0, f"two takers are inside entity {i}")
        yield mark(("inside", i), 1)
        yield load(f"owner{i}")
        yield mark(("inside", i), 0)
        yield plain_store(f"state{i}", seen + 1)

    def executed(self, i):
        """What a taker does behind an event: nothing."""
        return
        yield

    def at_end(self, value, notes):
        """Every event ran."""
        for k in range(len(self.run)):
            require(notes.get(("ran", k)) == 1, f"event {k} was lost")


class CutShort(Taking):
    """Takers that stop before their `stops[taker]`-th event; the rest returns to the queue.

    `places[k]` is where event `k` of the walk lies in the run: ranges reserve places in any order.
    """

    def __init__(self, *run: int, stops: tuple[int, ...], places: tuple[int, ...]):
        super().__init__(*run, takers=len(stops))
        self.stops, self.places = stops, places

    def words(self) -> dict:
        return {**super().words(), **{f"CUT_AT{taker}": len(self.run) for taker in range(self.takers)}}

    def take(self, taker):
        """As of the parent, up to where this taker stops."""
        mine: tuple[bool, ...] = ()
        ahead = 0
        while ahead < len(self.run) + AHEAD:
            if ahead < len(self.run):
                own = yield from self.own(self.run[ahead], taker)
                mine = (*mine, own)
            k = ahead - AHEAD
            if k == self.stops[taker]:
                yield plain_store(f"CUT_AT{taker}", self.place_of(k))
                return 0
            if k >= 0 and mine[k]:
                yield from self.execute(k)
            ahead += 1
        return 0

    def place_of(self, k):
        """Mirrors `place_of`: what grows along the walk."""
        return k

    def at_end(self, value, notes):
        """Mirrors `put_back`: every event ran or returns, and none behind one of its entity that returns."""
        returned = set()
        for k, i in enumerate(self.run):
            owner = value(f"owner{i}")
            returns = True
            if owner >> BITS == WINDOW:
                returns = self.place_of(k) >= value(f"CUT_AT{owner & ((1 << BITS) - 1)}")
            ran = notes.get(("ran", k)) == 1
            require(ran != returns, f"event {k} ran and returned, or was lost")
            require(not ran or i not in returned, f"event {k} ran before an earlier one of its entity")
            returned |= {i} if returns else set()


class Reserving:
    """Workers reserve places of the run for ranges of so many events."""

    def __init__(self, *counts: int):
        self.counts = counts

    def words(self) -> dict:
        return {"RUN_NEXT": 0}

    def programs(self):
        """One program per range."""
        return [self.program_of(count) for count in self.counts]

    def program_of(self, n):
        return lambda: self.order_range(n)

    def order_range(self, n):
        """Mirrors `order_range`."""
        at = yield from self.reserve(n)
        k = at
        while k < at + n:
            require((yield count(("place", k))) == 0, f"place {k} was given twice")
            k += 1
        return 0

    def reserve(self, n):
        """`add(words, RUN_NEXT, count)`."""
        return (yield add("RUN_NEXT", n))

    def at_end(self, value, notes):
        require(value("RUN_NEXT") == sum(self.counts), "places were lost")
