"""Takers of a window: every event runs once, an entity's in order and never two at a time."""

import pytest
from model.access import Violation, load, store
from model.machine import explore
from model.taking import BITS, WINDOW, CutShort, Reserving, Taking

WEAK = pytest.mark.parametrize("weak", [False, True], ids=["strong", "weak"])
RUNS = [(0, 1, 0), (0, 0, 1, 0), (0, 1, 1, 0, 2)]


def run(model, weak=False):
    """All schedules of a model's programs."""
    return explore(model.programs(), model.words(), weak, model.at_end)


@WEAK
@pytest.mark.parametrize("events", RUNS)
def test_two_takers_execute_every_event_once_and_in_order(events, weak):
    assert run(Taking(*events, takers=2), weak).ends >= 1


def test_three_takers_execute_every_event_once_and_in_order():
    assert run(Taking(0, 1, 0, 1, takers=3)).ends >= 1


def test_one_taker_is_enough():
    assert run(Taking(0, 1, 0, 2, takers=1)).ends == 1


@WEAK
@pytest.mark.parametrize("stops", [(1, 2), (0, 3), (2, 9), (9, 9)])
def test_what_takers_leave_returns_to_the_queue(stops, weak):
    assert run(CutShort(0, 1, 0, 1, stops=stops, places=(2, 3, 0, 1)), weak).ends >= 1


@WEAK
def test_no_place_of_the_run_is_given_twice(weak):
    assert run(Reserving(2, 1, 3), weak).ends >= 1


# -- mutants -------------------------------------------------------------------------------------------


class OwnsByStore(Taking):
    """Becomes the owner by a load and a store."""

    def own(self, target, taker):
        seen = yield load(f"owner{target}")
        if seen >> BITS != WINDOW:
            yield store(f"owner{target}", WINDOW << BITS | taker)
            return True
        return seen == WINDOW << BITS | taker


class LetsGo(Taking):
    """Gives an entity up behind each event."""

    def executed(self, i):
        yield store(f"owner{i}", 0)


class KnowsNoWindow(Taking):
    """Takes who owned an entity in an earlier window for its owner."""

    def own(self, target, taker):
        seen = yield load(f"owner{target}")
        return seen & ((1 << BITS) - 1) == taker


class ComparesPlaces(CutShort):
    """Tells what a taker has passed by places in the run, which are in no order."""

    def place_of(self, k):
        return self.places[k]


class ReservesByStore(Reserving):
    """Reserves places by a load and a store."""

    def reserve(self, n):
        at = yield load("RUN_NEXT")
        yield store("RUN_NEXT", at + n)
        return at


def test_two_owners_are_caught():
    with pytest.raises(Violation, match=r"twice|beside|inside"):
        run(OwnsByStore(0, 1, takers=2))


def test_an_owner_that_lets_go_is_caught():
    with pytest.raises(Violation, match=r"twice|before|inside|lost"):
        run(LetsGo(0, 0, takers=2))


def test_an_owner_of_an_earlier_window_is_caught():
    with pytest.raises(Violation, match=r"lost"):
        run(KnowsNoWindow(0, takers=1))


def test_places_taken_for_the_order_of_the_walk_are_caught():
    with pytest.raises(Violation, match=r"event \d ran and returned"):
        run(ComparesPlaces(0, 1, 2, 3, stops=(1, 3), places=(2, 3, 0, 1)))


def test_a_place_given_twice_is_caught():
    with pytest.raises(Violation, match=r"twice|lost"):
        run(ReservesByStore(1, 1))
