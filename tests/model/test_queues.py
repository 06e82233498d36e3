"""Inboxes and free chunks, under every schedule and with stale values; mutants must be caught."""

import pytest
from model.access import Violation, add, compare_and_swap, load, plain_load, plain_store, store
from model.machine import explore
from model.queues import Chunks, Inboxes


def run(model, weak):
    """All schedules of a model's programs."""
    return explore(model.programs(), model.words(), weak, model.at_end)


WEAK = pytest.mark.parametrize("weak", [False, True], ids=["strong", "weak"])
PUSHES = [((0, 0), (0,)), ((0, 1), (0, 1)), ((0,), (0,), (1,)), ((0, 1), (1, 0), (0,))]
PLANS = [("tuug", "ttg"), ("tg", "ttg"), ("tugt", "tgtu"), ("tg", "ttg", "tu")]


@WEAK
@pytest.mark.parametrize("plan", PUSHES)
def test_every_event_is_settled_once_at_its_target(plan, weak):
    assert run(Inboxes(*plan), weak).ends >= 1


@WEAK
@pytest.mark.parametrize("plan", PLANS)
def test_no_chunk_is_lost_or_handed_out_twice(plan, weak):
    assert run(Chunks(*plan, chunks=2), weak).ends >= 1


# -- mutants -------------------------------------------------------------------------------------------


class KeepsTheOldHead(Inboxes):
    """Pushes again with the link of the first attempt."""

    def push_inbox(self, target, slot):
        head = yield load(f"inbox{target}")
        yield plain_store(f"sibling{slot}", head)
        expected = head
        while (seen := (yield compare_and_swap(f"inbox{target}", expected, slot))) != expected:
            expected = seen
        if head < 0:
            yield from self.mark_dirty(target)


class PushesByStore(Inboxes):
    """Replaces the head without looking whether it is still the one that was linked."""

    def push_inbox(self, target, slot):
        head = yield load(f"inbox{target}")
        yield plain_store(f"sibling{slot}", head)
        yield store(f"inbox{target}", slot)
        if head < 0:
            yield from self.mark_dirty(target)


class MarksByStore(Inboxes):
    """Sets a bit of the dirty mask by a load and a store."""

    def mark_dirty(self, target):
        bits = yield load("dirty")
        yield store("dirty", bits | 1 << target)


class PushesWithoutRelease(Inboxes):
    """Neither the push nor the completion hands on the event that was written."""

    def push_inbox(self, target, slot):
        head = yield load(f"inbox{target}")
        while True:
            yield plain_store(f"sibling{slot}", head)
            seen = yield compare_and_swap(f"inbox{target}", head, slot, release=False)
            if seen == head:
                break
            head = seen
        if head < 0:
            yield from self.mark_dirty(target)

    def worker(self, w):
        yield plain_store(f"time{10 * w}", 10 * w)
        yield from self.push_inbox(self.plan[w][0], 10 * w)
        if (yield add("DONE", 1, release=False)) == len(self.plan) - 1:
            yield from self.settle_block()
        return 0


class NoTag(Chunks):
    """A head word that is the same again when the same chunk is on top."""

    def tagged(self, head, low):
        return low


class GivesWithoutRelease(Chunks):
    """Pushes a chunk without handing on the links of its slots."""

    def swap(self, head, value):
        return compare_and_swap("FREE_CHUNKS", head, value, release=False)


class TakesByStore(Chunks):
    """Pops by a load and a store."""

    def take_chunk(self):
        head = yield load("FREE_CHUNKS")
        if not head & 0xFFFFFFFF:
            return -1
        slot = (head & 0xFFFFFFFF) - 1
        following = (yield plain_load(f"child{slot}")) + 1
        yield store("FREE_CHUNKS", self.tagged(head, following))
        return slot


@pytest.mark.parametrize("mutant", [KeepsTheOldHead, PushesByStore])
def test_a_push_that_drops_its_rivals_event_is_caught(mutant):
    with pytest.raises(Violation, match=r"lost|twice"):
        run(mutant((0,), (0,)), weak=False)


def test_a_dirty_bit_lost_to_a_neighbour_is_caught():
    with pytest.raises(Violation, match=r"lost"):
        run(MarksByStore((0,), (1,)), weak=False)


def test_an_event_that_is_seen_before_it_is_written_is_caught():
    with pytest.raises(Violation, match=r"before it was seen written|lost"):
        run(PushesWithoutRelease((0,), (1,)), weak=True)


def test_a_stack_without_a_tag_is_caught():
    with pytest.raises(Violation, match=r"handed out twice|owned|follows"):
        run(NoTag("t", "ttg", chunks=2), weak=False)


def test_a_pop_by_load_and_store_is_caught():
    with pytest.raises(Violation, match=r"handed out twice"):
        run(TakesByStore("t", "t", chunks=2), weak=False)


def test_links_of_a_chunk_that_are_not_released_are_caught():
    with pytest.raises(Violation, match=r"before it was seen written"):
        run(GivesWithoutRelease("tug", "tt", chunks=2), weak=True)
