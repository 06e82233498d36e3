"""Copies: what goes wrong in one changes none, and bad input is refused with the copy's number."""

from __future__ import annotations

import contextlib
import itertools

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from interrupts import Interrupt
from runtime_worlds import Fault, Faulty, orders
from worlds import Ring

import seer_env
from seer_env import ActionError, ContractBreach, Copies, ModelError, SeerError
from seer_env.env import SeerParallelEnv
from seer_env.envs.flock_v0 import Flock

SEED = 20


def ordered(*given):
    """`runtime_worlds.orders` of 16 agents in finite numbers."""
    return np.minimum(orders(Faulty(16), *given), 1e9)


def faulty(scheduler, threads, copies=4, **arguments):
    worlds = Copies(Faulty(16), copies, scheduler=scheduler, threads=threads, **arguments)
    worlds.reset_arrays(SEED)
    still = np.stack([ordered()] * copies)
    worlds.step_arrays(still)
    worlds.reset_copy(2, 5)
    worlds.step_arrays(still)
    return worlds, still


def digests(worlds):
    return [worlds.digest(c) for c in range(len(worlds))]


SOME = [("python", 1), ("serial", 1), ("seer", 2), ("seer", 3)]


@pytest.mark.parametrize(("scheduler", "threads"), SOME)
def test_a_breach_in_one_copy_changes_none(scheduler, threads):
    (worlds, still), (twin, _) = faulty(scheduler, threads), faulty("serial", 1)
    before, live = digests(worlds), worlds.live
    broken = still.copy()
    broken[1] = ordered((3, Fault.SOON, 0.0))
    broken[3] = ordered((5, Fault.BELOW, 0.0))
    with pytest.raises(ContractBreach, match=r"^copy 1: entity 3, executing ACT") as info:
        worlds.step_arrays(broken)
    assert (info.value.rule, info.value.entity) == ("lookahead", 3)
    assert digests(worlds) == before
    assert worlds.steps.tolist() == [2, 2, 1, 2]
    np.testing.assert_array_equal(worlds.live, live)
    worlds.step_arrays(still)
    twin.step_arrays(still)
    assert digests(worlds) == digests(twin)


@pytest.mark.parametrize(("scheduler", "threads"), SOME)
def test_what_a_handler_raises_comes_with_the_copys_number(scheduler, threads):
    worlds, still = faulty(scheduler, threads)
    before = digests(worlds)
    still[3] = ordered((0, Fault.HANDLER_RAISES, 0.0))
    with pytest.raises(ValueError, match=r"a handler's own") as info:
        worlds.step_arrays(still)
    assert getattr(info.value, "__notes__", ["raised in copy 3"]) == ["raised in copy 3"]
    assert digests(worlds) == before


@pytest.mark.parametrize(("scheduler", "threads"), [("serial", 1), ("seer", 2)])
def test_one_copy_may_run_out_of_slots(scheduler, threads):
    (worlds, still), (oracle, _) = faulty(scheduler, threads), faulty("python", 1)
    slots = [world._memory.slots for world in worlds._engine._worlds]
    much = still.copy()
    much[2] = ordered((7, Fault.BURST, 0.0, 5000))
    for each in (worlds, oracle):
        each.step_arrays(much)
    assert digests(worlds) == digests(oracle)
    assert worlds.last_step_stats.events == oracle.last_step_stats.events
    grown = [world._memory.slots > before for world, before in zip(worlds._engine._worlds, slots)]
    assert grown == [False, False, True, False]
    worlds.step_arrays(still)
    oracle.step_arrays(still)
    assert digests(worlds) == digests(oracle)


@pytest.mark.parametrize(("scheduler", "threads"), SOME)
def test_event_capacity_is_each_copys_own(scheduler, threads):
    worlds, still = faulty(scheduler, threads, event_capacity=1000)
    still[1] = ordered((7, Fault.BURST, 0.0, 800))
    still[3] = ordered((7, Fault.BURST, 0.0, 800))
    worlds.step_arrays(still)
    still[1] = ordered((7, Fault.BURST, 0.0, 1001))
    with pytest.raises(ContractBreach, match=r"^copy 1: .*event_capacity=1000"):
        worlds.step_arrays(still)


@pytest.mark.parametrize(("scheduler", "threads"), [("python", 1), ("seer", 2)])
def test_a_reset_that_raises_changes_no_copy(scheduler, threads):
    class Fickle(Ring):
        fails = False

        def reset(self, state, schedule, rng):
            super().reset(state, schedule, rng)
            if self.fails and state["x"][0] < 0:
                schedule(target=0, time=-1.0, kind=0)

    worlds = Copies(Fickle(4), 6, scheduler=scheduler, threads=threads)
    worlds.reset_arrays(0)
    worlds.step_arrays(np.ones((6, 4, 2)))
    before = digests(worlds)
    Fickle.fails = True
    with pytest.raises(ModelError, match=r"^copy \d: schedule"):
        worlds.reset_arrays(0)
    assert digests(worlds) == before
    assert worlds.steps.tolist() == [1] * 6


@pytest.mark.parametrize(
    ("scheduler", "threads", "stride"), [("python", 1, 13), ("serial", 1, 1), ("seer", 2, 3)]
)
@pytest.mark.parametrize("what", ["step", "reset of one"])
def test_ctrl_c_anywhere_leaves_boundaries_that_belong_together(scheduler, threads, stride, what):
    """Either nothing has changed or all has, and the future is the same."""

    def begun():
        worlds = Copies(Ring(4), 3, scheduler=scheduler, threads=threads)
        worlds.reset_arrays(SEED)
        worlds.step_arrays(np.ones((3, 4, 2)))
        worlds.reset_copy(1)
        worlds.step_arrays(np.ones((3, 4, 2)))
        return worlds

    def change(worlds):
        if what == "step":
            worlds.step_arrays(-np.ones((3, 4, 2)))
        else:
            worlds.reset_copy(2)

    def future(worlds):
        worlds.step_arrays(np.zeros((3, 4, 2)))
        return digests(worlds)

    calm = begun()
    before, change_of = digests(calm), change(calm)
    after, expected = digests(calm), future(calm)
    assert change_of is None
    for point in itertools.count(1, stride):
        worlds = begun()
        with Interrupt(point) as interrupt, contextlib.suppress(KeyboardInterrupt):
            change(worlds)
        assert digests(worlds) in (before, after), f"point {point}"
        if digests(worlds) == before:
            change(worlds)
        assert future(worlds) == expected, f"point {point}"
        if not interrupt.sent:
            break
    assert point > 15 * stride, "too few points to say anything"


# -- the border ----------------------------------------------------------------------------------------


@pytest.fixture
def worlds():
    worlds = Copies(Ring(6), 3, scheduler="serial")
    worlds.reset_arrays(0)
    return worlds


def test_make_returns_copies():
    worlds = seer_env.make("flock_v0", n_agents=20, copies=3, threads=1, max_cycles=5)
    assert isinstance(worlds, Copies)
    assert (len(worlds), worlds.max_cycles) == (3, 5)
    assert worlds.reset_arrays(seed=1).shape == (3, 20, worlds.model.observation_size)


@pytest.mark.parametrize("given", [{"check": True}, {"render_mode": "rgb_array"}])
def test_make_refuses_what_is_for_one_world(given):
    with pytest.raises(ValueError, match="for one world"):
        seer_env.make(Ring(6), copies=2, **given)


@pytest.mark.parametrize("copies", [0, -1, True, 2.0, "2"])
def test_the_number_of_copies_is_checked(copies):
    with pytest.raises(ValueError, match=r"copies must be an integer from 1 up, got"):
        Copies(Ring(6), copies)


def test_a_world_without_agents_is_refused():
    with pytest.raises(ModelError, match="at least one agent"):
        Copies(Ring(0, extra=2), 2)


@pytest.mark.parametrize("shape", [(6, 2), (2, 6, 2), (3, 5, 2), (3, 6), (18, 2)])
def test_the_shape_of_actions_is_checked(worlds, shape):
    with pytest.raises(ActionError, match=r"shape \(3, 6, 2\): 3 copies of 6 agents .* got"):
        worlds.step_arrays(np.zeros(shape))


def test_a_ragged_array_of_actions_is_refused(worlds):
    with pytest.raises(ActionError, match="array of numbers for Box"):
        worlds.step_arrays([np.zeros((6, 2)), np.zeros((6, 2)), np.zeros((5, 2))])


def test_a_bad_action_names_copy_and_agent(worlds):
    actions = np.zeros((3, 6, 2))
    actions[1, 4] = np.nan
    with pytest.raises(ActionError, match=r"'copy 1, node_4' is \[nan, nan\]"):
        worlds.step_arrays(actions)


@pytest.mark.parametrize("seed", [-1, 1.5, True])
def test_seeds_are_checked(worlds, seed):
    with pytest.raises(ValueError, match=r"seed must be None or an integer from 0 up"):
        worlds.reset_arrays(seed)
    with pytest.raises(ValueError, match=r"seed must be None or an integer from 0 up"):
        worlds.reset_copy(0, seed)


@pytest.mark.parametrize("copy", [-1, 3, True])
def test_the_index_of_a_copy_is_checked(worlds, copy):
    with pytest.raises(IndexError, match="there are 3 copies, 0 to 2"):
        worlds.reset_copy(copy)


def test_a_step_before_the_first_reset_names_the_copies_that_wait():
    worlds = Copies(Ring(6), 3, scheduler="serial")
    worlds.reset_copy(1)
    with pytest.raises(ResetNeeded, match=r"copies \[0, 2\]"):
        worlds.step_arrays(np.zeros((3, 6, 2)))


def test_closed_copies_refuse(worlds):
    worlds.close()
    worlds.close()
    for use in (
        worlds.reset_arrays,
        lambda: worlds.step_arrays(np.zeros((3, 6, 2))),
        lambda: worlds.digest(0),
    ):
        with pytest.raises(SeerError, match="closed"):
            use()


def test_the_repr_tells_world_copies_and_scheduler(worlds):
    assert repr(worlds) == "<Copies ring: 3 copies of 6 agents, 18 live, serial on 1 thread>"


def test_stats_count_all_copies():
    worlds, env = Copies(Flock(30), 4, scheduler="serial"), SeerParallelEnv(Flock(30), scheduler="serial")
    worlds.reset_arrays(0)
    env.reset_arrays(0)
    worlds.step_arrays(np.zeros((4, 30, 2)))
    env.step_arrays(np.zeros((30, 2)))
    assert worlds.last_step_stats.events == 4 * env.last_step_stats.events
    assert worlds.last_step_stats.window_s > 0
