"""The phase protocol of `runtime/worker.py` and `runtime/transition.py` as model programs.

Each method mirrors the function of its name, access by access. What a phase works on is reduced to
one plain word per direction: `WINDOW`, written by the transition before it publishes and read by
every item, stands for the control record and all arrays; `OUT`, one word per item, for what items
write and the next transition reads. Notes (`count`, `mark`, `recall`) watch the rules.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from model.access import (
    add,
    block_while_equal,
    compare_and_swap,
    count,
    exchange,
    load,
    mark,
    plain_load,
    plain_store,
    recall,
    require,
    store,
    until_not,
    wake_all,
)

STOP = 9
#: The first unclaimed item in a claim word; the phase is above it.
ITEM = 0xFFFFFFFF


class Phase(NamedTuple):
    """What `publish` is asked for."""

    kind: int
    total: int
    grain: int


class Pool:
    """Workers on a plan of phases, whose items are in `parts` parts; a mutant overrides one method."""

    def __init__(self, *plan: Phase, pauses: bool = False, parts: int = 1):
        self.plan = (*plan, Phase(STOP, 0, 1))
        self.pauses, self.parts = pauses, parts
        self.most = max(phase.total for phase in self.plan)

    def words(self) -> dict:
        """The shared words once the first phase is published."""
        first = self.plan[0]
        return {
            "PHASE": 1,
            "OPEN": 1,
            "KIND": first.kind,
            "TOTAL": first.total,
            "GRAIN": first.grain,
            "DONE": 0,
            "SLEEPERS": 0,
            "WINDOW": 0,
            **{f"CLAIM{part}": 1 << 32 | self.end_of(part - 1, first.total) for part in range(self.parts)},
            **{f"OUT{item}": -1 for item in range(self.most)},
            **({"PAUSED": 0, "EXPIRED": 0, "CALL": 0, "RETURNED": 0} if self.pauses else {}),
        }

    # -- what is watched ---------------------------------------------------------------------------

    def perform(self, kind, first, last):
        """Do items: in their own phase, once, with what was written before the phase opened."""
        item = first
        while item < last:
            now = yield recall("phase")
            phase = self.plan[now]
            require(kind == phase.kind, f"an item of kind {kind} ran in the phase of kind {phase.kind}")
            require(item < phase.total, f"item {item} ran in a phase of {phase.total}")
            again = yield count(("ran", now, item))
            require(again == 0, f"item {item} of phase {now} ran twice")
            seen = yield plain_load("WINDOW")
            require(seen == now, f"an item of phase {now} read what phase {seen} wrote")
            yield plain_store(f"OUT{item}", now)
            item += 1

    def transition(self):
        """Check that the phase is complete, read what it wrote, and publish the next one."""
        now = yield recall("phase")
        again = yield count(("transition", now))
        require(again == 0, f"two transitions left phase {now}")
        item = 0
        while item < self.plan[now].total:
            seen = yield plain_load(f"OUT{item}")
            require(seen == now, f"a transition came before item {item} of phase {now} was seen done")
            item += 1
        following = now + 1
        yield plain_store("WINDOW", following)
        phase = self.plan[following]
        yield from self.publish(following, phase.kind, phase.total, phase.grain)

    def at_end(self, value, notes):
        """Every item of every phase ran, and the last phase is STOP."""
        last = len(self.plan) - 1
        require(notes.get("phase", 0) == last, "the workers returned before STOP")
        for now, phase in enumerate(self.plan):
            for item in range(phase.total):
                require(notes.get(("ran", now, item)) == 1, f"item {item} of phase {now} was lost")
        require(value("SLEEPERS") == 0, "a sleeper was not counted out")

    # -- transition.py -----------------------------------------------------------------------------

    def publish(self, following, kind, total, grain):
        """Mirrors `transition.publish`; the note is made where the phase word changes."""
        phase = yield load("PHASE")
        phase += 1
        yield store("OPEN", phase)
        yield store("KIND", kind)
        yield store("TOTAL", total)
        yield store("GRAIN", grain)
        yield store("DONE", 0)
        yield mark("phase", following)
        yield from self.open_parts(phase, total)
        yield exchange("PHASE", phase)
        yield from self.wake()

    def open_parts(self, phase, total):
        """The loop of `transition.publish` over the parts."""
        part = 0
        while part < self.parts:
            yield store(f"CLAIM{part}", phase << 32 | self.end_of(part - 1, total))
            part += 1

    def end_of(self, part, total):
        """The item behind a part's last one."""
        return total * (part + 1) // self.parts

    def wake(self):
        """The end of `transition.publish` and of `worker.leave_early`."""
        sleepers = yield add("SLEEPERS", 0)
        if sleepers > 0:
            yield wake_all("PHASE")

    # -- worker.py ---------------------------------------------------------------------------------

    def claim(self, me, phase, total, grain):
        """Mirrors `worker.claim`."""
        if not (yield from self.is_open(phase)):
            return 0, 0
        k = 0
        while k < self.parts:
            part = (me + k) % self.parts
            end = self.end_of(part, total)
            word = yield load(f"CLAIM{part}")
            while word >> 32 == phase and word & ITEM < end:
                items = self.size_of(end - (word & ITEM), grain)
                seen = yield compare_and_swap(f"CLAIM{part}", word, word + items)
                if seen == word:
                    return word & ITEM, (word & ITEM) + items
                word = seen
            k += 1
        return 0, 0

    def is_open(self, phase):
        """`load(sync, OPEN) == phase`: whether the description that was read is of this phase."""
        return (yield load("OPEN")) == phase

    @staticmethod
    def size_of(left, grain):
        """As `worker.size_of`: more than `grain` while many items are left."""
        return min(left, max(grain, left // 2))

    def claim_of(self, me, kind, phase, total, grain):
        """The claim that `working` is given; a scheduler may claim by the kind of phase."""
        return (yield from self.claim(me, phase, total, grain))

    def wait_for_phase(self, phase):
        """Mirrors `worker.wait_for_phase`, with a sleep after every look: spinning adds no schedule."""
        while True:
            if (yield load("PHASE")) != phase:
                return 1
            if (yield from self.paused()):
                return 0
            yield add("SLEEPERS", 1)
            if (yield add("PHASE", 0)) == phase and not (yield from self.paused_now()):
                yield block_while_equal("PHASE", phase)
            yield add("SLEEPERS", -1)

    def paused(self):
        """`load(sync, PAUSED)`; the word is left out of models without a pause."""
        if not self.pauses:
            return 0
        return (yield load("PAUSED"))

    def paused_now(self):
        """`add(sync, PAUSED, 0)`."""
        if not self.pauses:
            return 0
        return (yield add("PAUSED", 0))

    def leave_early(self):
        """Mirrors `worker.leave_early`."""
        yield exchange("PAUSED", 1)
        yield from self.wake()

    def read_phase(self):
        """`phase = load(sync, PHASE)` in `worker.work`."""
        return (yield load("PHASE"))

    def count_done(self, items, total):
        """`add(sync, DONE, items) + items == total` in `worker.work`."""
        before = yield add("DONE", items)
        return before + items == total

    def program_of(self, me):
        """The program of worker `me`; where there is one part, all workers' are one."""
        return self.work if self.parts == 1 else partial(self.work, me)

    def work(self, me=0):
        """Mirrors `worker.work`."""
        phase = yield from self.read_phase()
        while True:
            kind = yield load("KIND")
            total = yield load("TOTAL")
            grain = yield load("GRAIN")
            if kind == STOP and (yield load("PHASE")) == phase:
                return 0
            first, last = yield from self.claim_of(me, kind, phase, total, grain)
            del grain
            if first == last:
                del kind, total, first, last
                if not (yield from self.wait_for_phase(phase)):
                    return 0
                phase = yield from self.read_phase()
                continue
            items = last - first
            yield from self.perform(kind, first, last)
            del kind, first, last
            late = (yield load("EXPIRED")) if self.pauses else 0
            if (yield from self.count_done(items, total)):
                del total, items
                yield from self.transition()
                phase = yield from self.read_phase()
            if late:
                yield from self.leave_early()
                return 0

    # -- compiled.py -------------------------------------------------------------------------------

    def entered_as(self, me):
        """As `program_of`, of a worker that is entered once per call."""
        return self.entered if self.parts == 1 else partial(self.entered, me)

    def entered(self, me=0):
        """A worker that Python enters once per call, in `CompiledEngine._call`."""
        call = 0
        while True:
            call = yield until_not("CALL", call)
            if call < 0:
                return 0
            yield from self.work(me)
            yield add("RETURNED", 1)

    def caller(self, workers):
        """Mirrors the loop of `CompiledEngine._call`: enter again until the step is finished."""
        call = 0
        while True:
            call += 1
            yield store("CALL", call)
            returned = 0
            while returned < workers:
                returned = yield until_not("RETURNED", returned)
            now = yield recall("phase")
            if now == len(self.plan) - 1:
                yield store("CALL", -1)
                return 0
            yield store("RETURNED", 0)
            yield store("PAUSED", 0)

    def clock(self):
        """The deadline of the first calls passes at any time; each call has a new one."""
        yield store("EXPIRED", 1)
        return 0
