"""The lock-free operations of `runtime/time_warp` as model programs.

Each method mirrors the function of its name, access by access; a mutant overrides one method.
"""

from __future__ import annotations

from model.access import (
    Op,
    add,
    compare_and_swap,
    count,
    exchange,
    load,
    plain_load,
    plain_store,
    recall,
    require,
)
from model.pool import Phase, Pool

#: Kinds of phase: one with items as anywhere, and one whose items are partitions.
RESUME, EXECUTE = 1, 2


class Partitions(Pool):
    """Phases of which some have partitions as items. All workers prefer partition 0: they meet most often."""

    def words(self):
        """Those of the pool, and per partition the number of the phase that it was last claimed in."""
        return {**super().words(), **{f"TAKEN{p}": 0 for p in range(self.most)}}

    def claim_of(self, me, kind, phase, total, grain):
        """Mirrors `worker.claim_partition`."""
        if kind != EXECUTE:
            return (yield from self.claim(me, phase, total, grain))
        if not (yield from self.is_open(phase)):
            return 0, 0
        p = 0
        while p < total:
            last = yield load(f"TAKEN{p}")
            if last < phase and (yield from self.take(p, last, phase)):
                return p, p + 1
            p += 1
        return 0, 0

    def take(self, p, last, phase):
        """The claim itself."""
        seen = yield compare_and_swap(f"TAKEN{p}", last, phase)
        return seen == last


#: A step that goes from one kind of phase to the other and back.
STEP = Phase(RESUME, 1, 1), Phase(EXECUTE, 2, 1), Phase(EXECUTE, 2, 1)


class Messages:
    """Workers send messages to one partition, whose owner works its inbox off while they do.

    `plan` holds per sender a string of `e` (an event) and `c` (the cancellation of its latest event).
    The last to be done works the inbox off again: the partition's next visit.
    """

    def __init__(self, *plan: str, looks: int = 2):
        self.plan, self.looks = plan, looks
        self.sent = tuple(
            2 * self.slot(w, letters[: k + 1].count("e") - 1) + (letter == "c")
            for w, letters in enumerate(plan)
            for k, letter in enumerate(letters)
        )

    @staticmethod
    def slot(w, k):
        """The slot of sender w's k-th event."""
        return 10 * w + k

    def words(self) -> dict:
        """The inbox, a completion counter, and plain words per slot: a time and two links."""
        words = {"inbox": -1, "DONE": 0}
        for message in self.sent:
            words.update({f"time{message >> 1}": -7, self.link(message): -7})
        return words

    def link(self, message):
        """The word that links a message: `sibling` of an event, `chain` of its cancellation."""
        return f"chain{message >> 1}" if message & 1 else f"sibling{message >> 1}"

    def programs(self):
        """The senders, then the owner."""
        return [self.program_of(w) for w in range(len(self.plan))] + [self.owner]

    def program_of(self, w):
        return lambda: self.sender(w)

    def sender(self, w):
        """Follow the plan."""
        k, events = 0, 0
        while k < len(self.plan[w]):
            if self.plan[w][k] == "e":
                events += 1
                yield plain_store(f"time{self.slot(w, events - 1)}", self.slot(w, events - 1))
            yield from self.push(2 * self.slot(w, events - 1) + (self.plan[w][k] == "c"))
            k += 1
        yield from self.done()
        return 0

    def owner(self):
        """Look into the inbox at any moments."""
        look = 0
        while look < self.looks:
            yield from self.empty_inbox()
            look += 1
        yield from self.done()
        return 0

    def done(self):
        """The end of a visit; the last one is followed by the next visits."""
        if (yield add("DONE", 1)) == len(self.plan):
            yield from self.empty_inbox()

    def push(self, message):
        """Mirrors `messages.push`."""
        head = yield load("inbox")
        while True:
            yield plain_store(self.link(message), head)
            seen = yield self.swap(head, message)
            if seen == head:
                return
            head = seen

    def swap(self, head, message):
        """The push itself."""
        return compare_and_swap("inbox", head, message)

    def take(self):
        """The emptying itself."""
        return (yield exchange("inbox", -1))

    def empty_inbox(self):
        """Mirrors `messages.empty_inbox`, and works off what it finds."""
        if (yield load("inbox")) < 0:
            return
        message = yield from self.take()
        first = -1
        while message >= 0:
            older = yield plain_load(self.link(message))
            yield plain_store(self.link(message), first)
            first, message = message, older
        del message
        while first >= 0:
            yield from self.receive(first)
            first = yield plain_load(self.link(first))

    def receive(self, message):
        """What `visit.receive` relies on."""
        slot = message >> 1
        seen = yield plain_load(f"time{slot}")
        require(seen == slot, f"event {slot} was received before it was seen written")
        require((yield count(("received", message))) == 0, f"message {message} was received twice")
        if message & 1:
            known = yield recall(("received", message - 1))
            require(known == 1, f"the cancellation of event {slot} overtook it")

    def at_end(self, value, notes):
        """Every message was received once."""
        for message in self.sent:
            require(notes.get(("received", message)) == 1, f"message {message} was lost")
        require(value("inbox") == -1, "the inbox was not emptied")


def exchange_without_acquire(word, value):
    """A taking that does not wait to see what was pushed."""
    return Op("exchange", word, value, acquire=False)
