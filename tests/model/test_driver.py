"""The driver of copies, under every schedule: each is stepped once, and helpers come at any moment."""

from functools import partial

import pytest
from model.access import Violation, load, store
from model.driver import Driver, Within
from model.machine import explore
from model.pool import STOP, Phase, Pool

RESUME, EXECUTE, SETTLE = range(1, 4)
SMALL = Phase(EXECUTE, 1, 1)
PAIR = Phase(EXECUTE, 2, 1), Phase(SETTLE, 1, 1)


def run(driver, workers, weak=False):
    """All schedules of workers in one call; the first ones help from the copy of their own index on."""
    programs = [partial(driver.drive, index) for index in range(workers)]
    return explore(programs, driver.words(), weak, driver.at_end)


def run_with_pauses(driver, workers):
    """All schedules of workers that are entered again until every copy's step is finished."""
    programs = [driver.entered] * workers + [lambda: driver.caller(workers), driver.clock]
    return explore(programs, driver.words(), at_end=driver.at_end)


# -- the protocol --------------------------------------------------------------------------------------


def test_one_live_worker_steps_all_copies():
    assert run(Driver(Pool(*PAIR), Pool(*PAIR), Pool(SMALL), alone=1), 1).ends == 1


def test_two_workers_step_every_copy_once_and_help_with_the_last():
    assert run(Driver(Pool(SMALL), Pool(*PAIR), alone=1), 2).states > 1000


def test_helpers_may_enter_a_copy_that_nobody_has_entered_yet():
    assert run(Driver(Pool(SMALL), Pool(*PAIR)), 2).states > 1000


def test_one_worker_takes_the_copy_and_two_help_at_any_moment():
    assert run(Driver(Pool(SMALL)), 3).states > 10_000


def test_stale_values_do_not_mislead_the_workers():
    assert run(Driver(Pool(SMALL), Pool(SMALL), alone=1), 2, weak=True).states > 500


@pytest.mark.parametrize("alone", [0, 1])
def test_copies_that_paused_are_finished_by_later_calls(alone):
    pools = Pool(SMALL, SMALL, pauses=True), Pool(SMALL, pauses=True)
    assert run_with_pauses(Driver(*pools, alone=alone, pauses=True), 2).ends >= 1


# -- mutants -------------------------------------------------------------------------------------------


class TakesInTwoSteps(Driver):
    """Reads the next place, and stores the one behind it."""

    def take(self):
        taken = yield load("NEXT")
        yield store("NEXT", taken + 1)
        return taken


class HelpsEverybody(Driver):
    """Helpers enter copies that are one worker's alone."""

    def open_to_helpers(self, copy):
        return True


class Unbegun(Pool):
    """Still as the last step left it, which ended in phase 2."""

    def words(self):
        return {**super().words(), "PHASE": 2, "OPEN": 2, "CLAIM0": 2 << 32, "KIND": STOP, "TOTAL": 0}

    def begin(self):
        """Mirrors `worker.begin`."""
        yield store("PHASE", 0)
        first = self.plan[0]
        yield from self.publish(0, first.kind, first.total, first.grain)


class BeginsInThePool(Driver):
    """Who takes a copy begins its step, while helpers may be in it already."""

    def take(self):
        taken = yield from super().take()
        if taken < len(self.pools):
            yield from Within(taken, self.pools[taken].begin())
        return taken


class LeavesWithoutWorking(Driver):
    """Looks at the clock before the first copy."""

    def take(self):
        if (yield from self.expired()):
            return len(self.pools)
        return (yield from super().take())

    def open_to_helpers(self, copy):
        return False


def test_taking_a_copy_twice_is_caught():
    with pytest.raises(Violation, match="two workers entered copy 0"):
        run(TakesInTwoSteps(Pool(SMALL), Pool(SMALL), alone=1), 2)


def test_helping_with_a_copy_that_is_one_workers_alone_is_caught():
    with pytest.raises(Violation, match="two workers entered copy 0"):
        run(HelpsEverybody(Pool(SMALL), Pool(SMALL), alone=1), 2)


def test_beginning_a_copy_while_helpers_may_enter_it_is_caught():
    """The numbers of phases start again, so what a helper read of the last step passes for this one's."""
    plan = Phase(EXECUTE, 3, 1), Phase(SETTLE, 1, 1)
    with pytest.raises(Violation, match=r"ran in|ran twice|deadlock|livelock"):
        run(BeginsInThePool(Unbegun(*plan)), 2)


def test_leaving_before_any_work_is_caught():
    with pytest.raises(Violation, match=r"livelock|deadlock"):
        run_with_pauses(LeavesWithoutWorking(Pool(SMALL, pauses=True), pauses=True), 2)
