"""Time Warp's claims and inboxes, under every schedule and with stale values; mutants must be caught."""

import pytest
from model.access import Violation, compare_and_swap, load, store
from model.machine import explore
from model.time_warp import STEP, Messages, Partitions, exchange_without_acquire

WEAK = pytest.mark.parametrize("weak", [False, True], ids=["strong", "weak"])


def run(model, weak=False):
    """All schedules of a model's programs."""
    return explore(model.programs(), model.words(), weak, model.at_end)


def run_phases(model, workers, weak=False):
    """All schedules of workers on one call."""
    return explore([model.work] * workers, model.words(), weak, model.at_end)


@pytest.mark.parametrize("workers", [1, 2])
def test_every_partition_is_visited_once_per_phase(workers):
    assert run_phases(Partitions(*STEP), workers).ends >= 1


def test_three_workers_visit_every_partition_once():
    assert run_phases(Partitions(*STEP[:2]), 3).states > 10_000


def test_stale_values_do_not_make_a_partition_visited_twice():
    assert run_phases(Partitions(*STEP[:2]), 2, weak=True).states > 1000


@WEAK
@pytest.mark.parametrize("plan", [("ec",), ("ece",), ("e", "e"), ("ec", "e")])
def test_every_message_is_received_once_and_no_cancellation_overtakes_its_event(plan, weak):
    assert run(Messages(*plan, looks=1 if weak else 2), weak).ends >= 1


# -- mutants -------------------------------------------------------------------------------------------


class TrustsTheDescription(Partitions):
    """Claims without asking whether the description is of the phase that was seen."""

    def is_open(self, phase):
        return True
        yield


class TakesPartitionsByStore(Partitions):
    """Claims by a load and a store."""

    def take(self, p, last, phase):
        yield store(f"TAKEN{p}", phase)
        return True


class EmptiesByStore(Messages):
    """Takes the newest message by a load, and empties the inbox by a store."""

    def take(self):
        newest = yield load("inbox")
        yield store("inbox", -1)
        return newest


class ReceivesNewestFirst(Messages):
    """Works the stack off from its top."""

    def empty_inbox(self):
        message = yield from self.take()
        while message >= 0:
            yield from self.receive(message)
            message = yield load(self.link(message))


class OneLink(Messages):
    """Links a cancellation by the word that links its event."""

    def link(self, message):
        return f"sibling{message >> 1}"


class PushesWithoutRelease(Messages):
    """Hands a message on, but not what was written to it."""

    def swap(self, head, message):
        return compare_and_swap("inbox", head, message, release=False)


class TakesWithoutAcquire(Messages):
    """Takes messages, but does not wait to see what was written to them."""

    def take(self):
        return (yield exchange_without_acquire("inbox", -1))


def test_a_claim_by_the_next_phases_description_is_caught():
    with pytest.raises(Violation, match=r"twice|in the phase|in a phase|what phase"):
        run_phases(TrustsTheDescription(*STEP), 2)


def test_a_partition_taken_by_load_and_store_is_caught():
    with pytest.raises(Violation, match=r"twice"):
        run_phases(TakesPartitionsByStore(*STEP[:2]), 2)


def test_an_inbox_emptied_by_load_and_store_is_caught():
    with pytest.raises(Violation, match=r"lost"):
        run(EmptiesByStore("e", "e"))


def test_a_cancellation_before_its_event_is_caught():
    with pytest.raises(Violation, match=r"overtook"):
        run(ReceivesNewestFirst("ec"))


def test_a_link_that_two_messages_share_is_caught():
    with pytest.raises(Violation, match=r"lost|twice|livelock"):
        run(OneLink("ec"))


@pytest.mark.parametrize("mutant", [PushesWithoutRelease, TakesWithoutAcquire])
def test_a_message_seen_before_it_is_written_is_caught(mutant):
    with pytest.raises(Violation, match=r"before it was seen written|overtook|lost"):
        run(mutant("ee", looks=1), weak=True)
