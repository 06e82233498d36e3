"""Phases: claims, completion, transition, sleep and pause, under every schedule.

A mutant is the protocol with one method changed; each must be caught, or the models prove nothing.
"""

import pytest
from model.access import (
    Violation,
    add,
    block,
    block_while_equal,
    load,
    mark,
    plain_load,
    plain_store,
    store,
    wake_all,
)
from model.machine import explore
from model.pool import CLOSED, Phase, Pool

RESUME, EXECUTE, SETTLE, OBSERVE = range(1, 5)
GROWING = Phase(RESUME, 1, 1), Phase(EXECUTE, 2, 1)
STEP = Phase(EXECUTE, 2, 1), Phase(SETTLE, 3, 2), Phase(OBSERVE, 2, 1)


def run(pool, workers, weak=False):
    """All schedules of workers on one call."""
    return explore([pool.work] * workers, pool.words(), weak, pool.at_end)


def run_with_pauses(pool, workers):
    """All schedules of workers that are entered again until the step is finished."""
    programs = [pool.entered] * workers + [lambda: pool.caller(workers), pool.clock]
    return explore(programs, pool.words(), at_end=pool.at_end)


# -- the protocol --------------------------------------------------------------------------------------


def test_one_live_worker_is_enough():
    assert run(Pool(*STEP), 1).ends == 1


def test_two_workers_do_every_item_of_three_phases_once_and_sleep_past_none():
    assert run(Pool(*STEP), 2).states > 5000


def test_two_workers_do_every_item_once_in_claims_that_shrink():
    assert run(Pool(Phase(EXECUTE, 5, 1), Phase(SETTLE, 2, 1)), 2).states > 2000


def test_three_workers_do_every_item_once():
    assert run(Pool(*GROWING), 3).states > 50_000


@pytest.mark.parametrize("plan", [GROWING, (Phase(EXECUTE, 3, 2), Phase(SETTLE, 2, 1))])
def test_stale_values_do_not_mislead_two_workers(plan):
    assert run(Pool(*plan), 2, weak=True).states > 5000


@pytest.mark.parametrize(("plan", "workers"), [(GROWING, 1), (STEP, 2), ((Phase(EXECUTE, 3, 1),), 3)])
def test_a_paused_step_is_finished_by_later_calls(plan, workers):
    assert run_with_pauses(Pool(*plan, pauses=True), workers).ends >= 1


def test_a_pause_need_not_wake_who_sleeps():
    """All items of a sleeper's phase are claimed, and their completion wakes it."""

    class Quiet(Pool):
        def leave_early(self):
            yield store("PAUSED", 1)

    run_with_pauses(Quiet(Phase(EXECUTE, 2, 1), Phase(SETTLE, 1, 1), pauses=True), 2)


# -- mutants: claims -----------------------------------------------------------------------------------


class NoPhaseNumber(Pool):
    """Claims by what is left, whatever phase it is of."""

    def claim(self, phase, total, grain):
        while True:
            first = (yield add("CLAIM", grain)) & CLOSED
            return first if first < total else -1


class DescribesFirst(Pool):
    """Overwrites the descriptors while the old phase's claim word is still in place."""

    def publish(self, following, kind, total, grain):
        phase = yield load("PHASE")
        phase += 1
        yield store("KIND", kind)
        yield store("TOTAL", total)
        yield store("GRAIN", grain)
        yield store("DONE", 0)
        yield mark("phase", following)
        yield store("CLAIM", phase << 32)
        yield add("PHASE", 1)
        yield from self.wake()


class ResetsLate(Pool):
    """Clears the completion counter of a phase that is already open."""

    def publish(self, following, kind, total, grain):
        phase = yield load("PHASE")
        phase += 1
        yield store("CLAIM", phase << 32 | CLOSED)
        yield store("KIND", kind)
        yield store("TOTAL", total)
        yield store("GRAIN", grain)
        yield mark("phase", following)
        yield store("CLAIM", phase << 32)
        yield add("PHASE", 1)
        yield store("DONE", 0)
        yield from self.wake()


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


@pytest.mark.parametrize("mutant", [NoPhaseNumber, DescribesFirst, ResetsLate])
def test_a_claim_that_crosses_phases_is_caught(mutant):
    with pytest.raises(Violation, match=r"ran twice|ran in|was seen done|two transitions|deadlock"):
        run(mutant(*GROWING), 2)


def test_counting_workers_instead_of_work_is_caught_when_one_of_two_comes():
    with pytest.raises(Violation, match=r"deadlock"):
        run(CountsArrivals(*GROWING), 1)


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
        yield store("CLAIM", phase << 32 | CLOSED)
        yield store("KIND", kind)
        yield store("TOTAL", total)
        yield store("GRAIN", grain)
        yield store("DONE", 0)
        yield mark("phase", following)
        yield store("CLAIM", phase << 32)
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
        yield store("CLAIM", phase << 32 | CLOSED)
        yield store("KIND", kind)
        yield store("TOTAL", total)
        yield store("GRAIN", grain)
        yield store("DONE", 0)
        yield mark("phase", following)
        yield store("CLAIM", phase << 32)
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
