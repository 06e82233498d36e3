"""The lock-free operations of `runtime/leq.py` and `runtime/window.py` as model programs.

Each method mirrors the function of its name, access by access; a mutant overrides one method.
"""

from __future__ import annotations

from model.access import (
    add,
    bit_or,
    compare_and_swap,
    count,
    load,
    mark,
    plain_load,
    plain_store,
    recall,
    require,
    store,
)


class Inboxes:
    """Workers emit events, each to one target; who completes the phase settles the block.

    `plan` holds per worker the targets of its events: two events of worker 1 are slots 10 and 11.
    Targets share one block, hence one dirty mask.
    """

    def __init__(self, *plan: tuple[int, ...]):
        self.plan = plan
        self.events = {
            10 * w + k: target for w, targets in enumerate(plan) for k, target in enumerate(targets)
        }

    def words(self) -> dict:
        """Inboxes, dirty mask, completion counter, and two plain words per slot."""
        words = {f"inbox{target}": -1 for target in sorted(set(self.events.values()))}
        words.update({"dirty": 0, "DONE": 0})
        for slot in self.events:
            words.update({f"sibling{slot}": -7, f"time{slot}": -7})
        return words

    def programs(self):
        """One program per worker."""
        return [self.program_of(w) for w in range(len(self.plan))]

    def program_of(self, w):
        return lambda: self.worker(w)

    def worker(self, w):
        """A claim of a shared phase: emissions, then completion; the last one settles."""
        k = 0
        while k < len(self.plan[w]):
            slot = 10 * w + k
            yield plain_store(f"time{slot}", slot)
            yield from self.push_inbox(self.plan[w][k], slot)
            k += 1
        if (yield add("DONE", 1)) == len(self.plan) - 1:
            yield from self.settle_block()
        return 0

    def push_inbox(self, target, slot):
        """Mirrors `leq.push_inbox`."""
        head = yield load(f"inbox{target}")
        while True:
            yield plain_store(f"sibling{slot}", head)
            seen = yield compare_and_swap(f"inbox{target}", head, slot)
            if seen == head:
                break
            head = seen
        if head < 0:
            yield from self.mark_dirty(target)

    def mark_dirty(self, target):
        """The end of `leq.push_inbox`."""
        yield bit_or("dirty", 1 << target)

    def settle_block(self):
        """Mirrors `window.settle_block`."""
        bits = yield load("dirty")
        yield store("dirty", 0)
        target = 0
        while bits:
            if bits & 1:
                yield from self.drain_inbox(target)
            bits >>= 1
            target += 1

    def drain_inbox(self, target):
        """Mirrors `leq.drain_inbox`; the notes stand for the heap."""
        slot = yield load(f"inbox{target}")
        yield plain_store(f"inbox{target}", -1)
        while slot >= 0:
            following = yield plain_load(f"sibling{slot}")
            time = yield plain_load(f"time{slot}")
            require(time == slot, f"event {slot} was settled before it was seen written")
            require(self.events[slot] == target, f"event {slot} reached entity {target}")
            require((yield count(("settled", slot))) == 0, f"event {slot} was settled twice")
            slot = following

    def at_end(self, value, notes):
        """Every event was settled once, and nothing is left behind."""
        for slot, target in self.events.items():
            require(notes.get(("settled", slot)) == 1, f"event {slot} was lost")
            require(value(f"inbox{target}") == -1, f"the inbox of {target} was not emptied")
        require(value("dirty") == 0, "an entity stayed dirty")


class Chunks:
    """Workers take and give chunks of two slots; chunk `c` is slots `2c` and `2c + 1`.

    `plan` holds per worker a string of `t` (take a chunk), `g` (give back the oldest it holds) and
    `u` (use it: what was the link becomes an event's child).
    """

    def __init__(self, *plan: str, chunks: int = 2):
        self.plan, self.chunks = plan, chunks

    def words(self) -> dict:
        """A stack of all chunks, the lowest on top: `FREE_CHUNKS`, links and rests of chunks."""
        words = {"FREE_CHUNKS": 1 if self.chunks else 0}
        for c in range(self.chunks):
            words[f"child{2 * c}"] = 2 * (c + 1) if c + 1 < self.chunks else -1
            words[f"sibling{2 * c}"] = 2 * c + 1
        return words

    def programs(self):
        """One program per worker."""
        return [self.program_of(w) for w in range(len(self.plan))]

    def program_of(self, w):
        return lambda: self.worker(w)

    def worker(self, w):
        """Follow the plan; a take that finds the stack empty leaves fewer chunks to give."""
        held: tuple[int, ...] = ()
        k = 0
        while k < len(self.plan[w]):
            action = self.plan[w][k]
            if action == "t":
                slot = yield from self.take_chunk()
                if slot >= 0:
                    yield from self.own(slot)
                    held = (*held, slot)
            elif held and action == "g":
                yield mark(("owned", held[0]), 0)
                yield from self.give_chunk(held[0])
                held = held[1:]
            elif held and action == "u":
                yield plain_store(f"child{held[0]}", 77)
                yield plain_store(f"sibling{held[0]}", 77)
            k += 1
        return 0

    def own(self, slot):
        """What `leq.refill` does with a chunk: walk its slots."""
        require((yield recall(("owned", slot))) == 0, f"the chunk of slot {slot} was handed out twice")
        yield mark(("owned", slot), 1)
        second = yield plain_load(f"sibling{slot}")
        require(second == slot + 1, f"the chunk of slot {slot} was walked before it was seen written")

    def take_chunk(self):
        """Mirrors `leq.take_chunk`."""
        head = yield load("FREE_CHUNKS")
        while head & 0xFFFFFFFF:
            slot = (head & 0xFFFFFFFF) - 1
            following = (yield load(f"child{slot}")) + 1
            seen = yield compare_and_swap("FREE_CHUNKS", head, self.tagged(head, following))
            if seen == head:
                return slot
            head = seen
        return -1

    def give_chunk(self, first):
        """Mirrors `leq.give_chunk`."""
        yield plain_store(f"sibling{first}", first + 1)
        head = yield load("FREE_CHUNKS")
        while True:
            yield plain_store(f"child{first}", (head & 0xFFFFFFFF) - 1)
            seen = yield self.swap(head, self.tagged(head, first + 1))
            if seen == head:
                return
            head = seen

    def swap(self, head, value):
        """The push of `leq.give_chunk`."""
        return compare_and_swap("FREE_CHUNKS", head, value)

    def tagged(self, head, low):
        """A head word one change after `head`."""
        return (head >> 32) + 1 << 32 | low

    def at_end(self, value, notes):
        """Every chunk is either owned or on the stack, once."""
        free, slot = [], (value("FREE_CHUNKS") & 0xFFFFFFFF) - 1
        while slot >= 0:
            require(slot % 2 == 0 and slot not in free, f"slot {slot} follows {free} on the stack")
            free.append(slot)
            slot = value(f"child{slot}")
        owned = [slot for (what, slot), held in notes.items() if what == "owned" and held]
        require(sorted(free + owned) == [2 * c for c in range(self.chunks)], f"free {free}, owned {owned}")
