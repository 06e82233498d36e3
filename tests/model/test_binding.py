"""Static binding: parts are performed once per window by their own worker or, if it is absent, by another."""

import pytest
from model.access import Violation, load, store
from model.binding import EXECUTE, Binding
from model.machine import explore
from model.pool import Phase

ACT = 1
WINDOWS = Phase(EXECUTE, 2, 1), Phase(EXECUTE, 2, 1)
STEP = Phase(ACT, 1, 1), Phase(EXECUTE, 2, 1), Phase(EXECUTE, 2, 1)


def run(model, weak=False):
    """All schedules of a model's programs."""
    return explore(model.programs(), model.words(), weak, model.at_end)


@pytest.mark.parametrize("plan", [WINDOWS, STEP])
def test_two_workers_perform_every_part_once_and_lose_no_mail(plan):
    assert run(Binding(*plan, parts=2)).ends >= 1


def test_stale_values_do_not_mislead_two_workers():
    assert run(Binding(*WINDOWS, parts=2), weak=True).ends >= 1


def test_three_workers_perform_every_part_of_a_window_once():
    assert run(Binding(Phase(EXECUTE, 3, 1), parts=3)).ends >= 1


@pytest.mark.parametrize("absent", [(0,), (1,)])
def test_one_worker_performs_the_part_of_the_one_that_never_comes(absent):
    assert run(Binding(*STEP, parts=2, absent=absent)).ends == 1


def test_two_workers_perform_the_part_of_a_third_that_never_comes():
    plan = Phase(EXECUTE, 3, 1), Phase(EXECUTE, 3, 1)
    assert run(Binding(*plan, parts=3, absent=(2,))).ends >= 1


# -- mutants -------------------------------------------------------------------------------------------


class LooksAtNothing(Binding):
    """Takes a part by its phase number alone, with descriptors that may be the next phase's."""

    def is_open(self, phase):
        return True
        yield


class TakesByStore(Binding):
    """Takes a part by a load and a store."""

    def take(self, p, phase):
        if (yield load(f"TAKEN{p}")) >= phase:
            return False
        yield store(f"TAKEN{p}", phase)
        return True


class TakesNothingOver(Binding):
    """Leaves the parts of absent workers alone."""

    def may_take_over(self, p):
        return False
        yield


class OneParity(Binding):
    """Empties the boxes that others write in the same phase."""

    def drained(self, now):
        return now % 2


def test_a_part_taken_with_the_next_phases_descriptors_is_caught():
    with pytest.raises(Violation, match=r"ran twice|ran in|two transitions|letter|deadlock"):
        run(LooksAtNothing(*STEP, parts=2))


def test_a_part_taken_twice_is_caught():
    with pytest.raises(Violation, match=r"twice"):
        run(TakesByStore(*WINDOWS, parts=2))


def test_waiting_for_an_absent_worker_is_caught():
    with pytest.raises(Violation, match=r"deadlock"):
        run(TakesNothingOver(*WINDOWS, parts=2, absent=(1,)))


def test_mail_that_is_read_while_it_is_written_is_caught():
    with pytest.raises(Violation, match=r"letter"):
        run(OneParity(*WINDOWS, parts=2))
