"""Phases: claims, completion, transition, sleep and pause, under every schedule.

A mutant is the protocol with one method changed; each must be caught, or the models prove nothing.
"""

import pytest
from model.access import (
    Violation,
    add,
    block,
    block_while_equal,
    compare_and_swap,
    load,
    mark,
    plain_load,
    plain_store,
    store,
    wake_all,
)
from model.machine import explore
from model.pool import ITEM, Phase, Pool

RESUME, EXECUTE, SETTLE, OBSERVE = range(1, 5)
GROWING = Phase(RESUME, 1, 1), Phase(EXECUTE, 2, 1)
STEP = Phase(EXECUTE, 2, 1), Phase(SETTLE, 3, 2), Phase(OBSERVE, 2, 1)


def run(pool, workers, weak=False):
    """All schedules of workers on one call."""
    return explore([pool.program_of(me) for me in range(workers)], pool.words(), weak, pool.at_end)


def run_with_pauses(pool, workers):
    """All schedules of workers that are entered again until the step is finished."""
    programs = [pool.entered_as(me) for me in range(workers)] + [lambda: pool.caller(workers), pool.clock]
    return explore(programs, pool.words(), at_end=pool.at_end)


# -- the protocol --------------------------------------------------------------------------------------


def test_one_live_worker_is_enough():
    assert run(Pool(*STEP), 1).ends == 1


def test_two_workers_do_every_item_of_three_phases_once_and_sleep_past_none():
    assert run(Pool(*STEP), 2).states > 5000


def test_two_workers_do_every_item_once_in_claims_that_shrink():
    assert run(Pool(Phase(EXECUTE, 5, 1), Phase(SETTLE, 2, 1)), 2).states > 2000


@pytest.mark.parametrize("parts", [2, 3])
def test_two_workers_do_every_item_of_parts_of_their_own_and_of_others_once(parts):
    assert run(Pool(Phase(EXECUTE, 5, 1), Phase(SETTLE, 2, 1), parts=parts), 2).states > 5000


def test_three_workers_do_every_item_once():
    assert run(Pool(*GROWING), 3).states > 50_000


def test_three_workers_do_every_item_of_their_parts_once():
    assert run(Pool(Phase(EXECUTE, 3, 1), parts=3), 3).states > 10_000


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("plan", [GROWING, (Phase(EXECUTE, 3, 2), Phase(SETTLE, 2, 1))])
def test_stale_values_do_not_mislead_two_workers(plan, parts):
    assert run(Pool(*plan, parts=parts), 2, weak=True).states > 5000


@pytest.mark.parametrize(
    ("plan", "workers", "parts"),
    [(GROWING, 1, 2), (STEP, 2, 1), (STEP, 2, 2), ((Phase(EXECUTE, 3, 1),), 3, 1)],
)
def test_a_paused_step_is_finished_by_later_calls(plan, workers, parts):
    assert run_with_pauses(Pool(*plan, pauses=True, parts=parts), workers).ends >= 1


def test_a_pause_need_not_wake_who_sleeps():
    """All items of a sleeper's phase are claimed, and their completion wakes it."""

    class Quiet(Pool):
        def leave_early(self):
            yield store("PAUSED", 1)

    run_with_pauses(Quiet(Phase(EXECUTE, 2, 1), Phase(SETTLE, 1, 1), pauses=True), 2)


# -- mutants: claims -----------------------------------------------------------------------------------


class NoPhaseNumber(Pool):
    """Claims by what is left, whatever phase it is of."""

    def claim(self, me, phase, total, grain):
        first = (yield add("CLAIM0", grain)) & ITEM
        return (first, first + grain) if first < total else (0, 0)


class DescribesFirst(Pool):
    """Overwrites the description while it still passes for the old phase's."""

    def publish(self, following, kind, total, grain):
        phase = yield load("PHASE")
        phase += 1
        yield store("KIND", kind)
        yield store("TOTAL", total)
        yield store("GRAIN", grain)
        yield store("DONE", 0)
        yield mark("phase", following)
        yield store("OPEN", phase)
        yield from self.open_parts(phase, total)
        yield add("PHASE", 1)
        yield from self.wake()


class TrustsTheDescription(Pool):
    """Claims without asking whether what it has read is of the phase that it has seen."""

    def is_open(self, phase):
        return True
        yield


class ResetsLate(Pool):
    """Clears the completion counter of a phase that is already open."""

    def publish(self, following, kind, total, grain):
        phase = yield load("PHASE")
        phase += 1
        yield store("OPEN", phase)
        yield store("KIND", kind)
        yield store("TOTAL", total)
        yield store("GRAIN", grain)
        yield mark("phase", following)
        yield from self.open_parts(phase, total)
        yield add("PHASE", 1)
        yield store("DONE", 0)
        yield from self.wake()


class KeepsToItsPart(Pool):
    """Leaves the parts of others to them."""

    def claim(self, me, phase, total, grain):
        end = self.end_of(me, total)
        word = yield load(f"CLAIM{me}")
        while word >> 32 == phase and word & ITEM < end:
            seen = yield compare_and_swap(f"CLAIM{me}", word, word + 1)
            if seen == word:
                return word & ITEM, (word & ITEM) + 1
            word = seen
        return 0, 0


class CountsArrivals(Pool):
    """Moves on when both workers have found nothing left to claim."""

    def count_done(self, items, total):
        return False
        yield

    def wait_for_phase(self, phase):
        if (yield add("DONE", 1)) == 1:
            yield from self.transition()
            return 1
        return (yield from super().wait_for_phase(phase))


class LeavesUncounted(Pool):
    """Looks at the clock before it counts what it has done."""

    def count_done(self, items, total):
        if (yield load("EXPIRED")):
            return False
        return (yield from super().count_done(items, total))


@pytest.mark.parametrize("mutant", [NoPhaseNumber, DescribesFirst, TrustsTheDescription, ResetsLate])
def test_a_claim_that_crosses_phases_is_caught(mutant):
    with pytest.raises(Violation, match=r"ran twice|ran in|was seen done|two transitions|deadlock"):
        run(mutant(*GROWING), 2)


def test_counting_workers_instead_of_work_is_caught_when_one_of_two_comes():
    with pytest.raises(Violation, match=r"deadlock"):
        run(CountsArrivals(*GROWING), 1)


def test_a_part_that_nobody_but_its_worker_claims_is_caught_when_one_of_two_comes():
    with pytest.raises(Violation, match=r"deadlock"):
        run(KeepsToItsPart(*GROWING, parts=2), 1)


def test_leaving_before_counting_is_caught():
    with pytest.raises(Violation, match=r"livelock|deadlock"):
        run_with_pauses(LeavesUncounted(*GROWING, pauses=True), 2)


# -- mutants: sleep ------------------------------------------------------------------------------------


class NoRecheck(Pool):
    """Blocks without reading the phase again after announcing it."""

    def wait_for_phase(self, phase):
        while (yield load("PHASE")) == phase:
            yield add("SLEEPERS", 1)
            yield block("PHASE")
            yield add("SLEEPERS", -1)
        return 1


class SleepsUnannounced(Pool):
    """Reads the phase again, and announces the sleep after that."""

    def wait_for_phase(self, phase):
        while (yield load("PHASE")) == phase:
            if (yield add("PHASE", 0)) == phase:
                yield add("SLEEPERS", 1)
                yield block("PHASE")
                yield add("SLEEPERS", -1)
        return 1


class WakesFirst(Pool):
    """Looks for sleepers before the new phase can be seen."""

    def publish(self, following, kind, total, grain):
        phase = yield load("PHASE")
        phase += 1
        yield store("OPEN", phase)
        yield store("KIND", kind)
        yield store("TOTAL", total)
        yield store("GRAIN", grain)
        yield store("DONE", 0)
        yield mark("phase", following)
        yield from self.open_parts(phase, total)
        yield from self.wake()
        yield add("PHASE", 1)


class HoistsTheLoad(Pool):
    """What a compiler makes of a spin on a plain load: one load before the loop."""

    def wait_for_phase(self, phase):
        seen = yield plain_load("PHASE")
        while seen == phase:
            yield load("SLEEPERS")
        return 1


class AsksByLoads(Pool):
    """Both sides look by loads, which may come before their own stores have left the core."""

    def wait_for_phase(self, phase):
        while (yield load("PHASE")) == phase:
            yield add("SLEEPERS", 1)
            if (yield load("PHASE")) == phase:
                yield block_while_equal("PHASE", phase)
            yield add("SLEEPERS", -1)
        return 1

    def wake(self):
        if (yield load("SLEEPERS")) > 0:
            yield wake_all("PHASE")


@pytest.mark.parametrize("mutant", [NoRecheck, SleepsUnannounced, WakesFirst])
def test_a_lost_wake_is_caught(mutant):
    with pytest.raises(Violation, match=r"deadlock"):
        run(mutant(*GROWING), 2)


def test_a_hoisted_load_in_the_wait_loop_is_caught():
    with pytest.raises(Violation, match=r"livelock"):
        run(HoistsTheLoad(*GROWING), 2)


def test_looks_that_may_be_stale_on_both_sides_are_caught():
    with pytest.raises(Violation, match=r"deadlock"):
        run(AsksByLoads(*GROWING), 2, weak=True)


# -- mutants: order ------------------------------------------------------------------------------------


class LoadsPlainly(Pool):
    """Reads the phase it has waited for without acquiring."""

    def wait_for_phase(self, phase):
        while (yield plain_load("PHASE")) == phase:
            yield plain_load("SLEEPERS")
        return 1

    def read_phase(self):
        return (yield plain_load("PHASE"))


class PublishesPlainly(Pool):
    """Stores the phase without releasing what describes it."""

    def publish(self, following, kind, total, grain):
        phase = yield load("PHASE")
        phase += 1
        yield store("OPEN", phase)
        yield store("KIND", kind)
        yield store("TOTAL", total)
        yield store("GRAIN", grain)
        yield store("DONE", 0)
        yield mark("phase", following)
        yield from self.open_parts(phase, total)
        yield plain_store("PHASE", phase)
        yield from self.wake()


class CountsWithoutRelease(Pool):
    """Counts items done without handing on what they wrote."""

    def count_done(self, items, total):
        return (yield add("DONE", items, release=False)) + items == total


class CountsWithoutAcquire(Pool):
    """Counts items done without taking over what the others wrote."""

    def count_done(self, items, total):
        return (yield add("DONE", items, acquire=False)) + items == total


@pytest.mark.parametrize("mutant", [LoadsPlainly, PublishesPlainly])
def test_a_phase_seen_without_its_description_is_caught(mutant):
    with pytest.raises(Violation, match=r"ran in|read what|deadlock"):
        run(mutant(*GROWING), 2, weak=True)


@pytest.mark.parametrize("mutant", [CountsWithoutRelease, CountsWithoutAcquire])
def test_a_completion_that_shows_no_work_is_caught(mutant):
    with pytest.raises(Violation, match=r"was seen done"):
        run(mutant(Phase(EXECUTE, 2, 1)), 2, weak=True)
