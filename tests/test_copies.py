"""Copies: each does, byte for byte, what an env of its own does, whatever the others do."""

from __future__ import annotations

import contextlib
import itertools

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from interrupts import Interrupt
from runtime_worlds import Fault, Faulty, orders
from worlds import Lamps, Ring

import seer_env
from seer_env import ActionError, ContractBreach, Copies, ModelError, SeerError
from seer_env.env import SeerParallelEnv
from seer_env.envs.aircraft.model import Aircraft
from seer_env.envs.flock_v0 import Flock

SCHEDULERS = [("python", 1), ("serial", 1), *(("seer", threads) for threads in (1, 2, 3, 4, 8))]
SEED = 20

#: World, copies, and the cycles after which an episode is cut off.
WORLDS = {
    "flock": (lambda: Flock(40), 3, None),
    "events": (lambda: Ring(30, extra=10), 5, 6),
    "agents that end": (lambda: Ring(6, patience=8), 7, None),
    "copies that end": (lambda: Lamps(3, life=2), 4, None),
    "aircraft": (lambda: Aircraft(n_agents=12), 2, 4),
    "one copy": (lambda: Ring(6, patience=4), 1, 5),
}
#: Before which steps which copies are reset, and whether with a new seed or by their own generator.
RESETS = {2: [(0, None)], 3: [(1, 99), (2, None)], 5: [(1, None)]}
STEPS = 8


def actions_of(model, copies, seed=4):
    """`STEPS` blocks of legal actions `[B, M, A]`."""
    rng, shape = np.random.default_rng(seed), (STEPS, copies, model.n_agents, model.action_size)
    if isinstance(model, Lamps):
        return rng.integers(0, 5, shape)
    return rng.uniform(-1.0, 1.0, shape)


class Separate:
    """`B` envs of their own behind the methods of `Copies` that the tests compare."""

    def __init__(self, make_model, copies, max_cycles, scheduler="serial"):
        self.envs = [
            SeerParallelEnv(make_model(), scheduler=scheduler, threads=1, max_cycles=max_cycles)
            for _ in range(copies)
        ]

    def reset_arrays(self, seed):
        return np.stack([env.reset_arrays(seed + i) for i, env in enumerate(self.envs)])

    def reset_copy(self, copy, seed=None):
        return self.envs[copy].reset_arrays(seed)

    def step_arrays(self, actions):
        return [np.stack(part) for part in zip(*(e.step_arrays(a) for e, a in zip(self.envs, actions)))]

    def digest(self, copy):
        return self.envs[copy].digest()

    @property
    def steps(self):
        return [env._engine.steps for env in self.envs]

    @property
    def info_arrays(self):
        infos = [env.info_arrays for env in self.envs]
        return None if infos[0] is None else np.stack(infos)

    @property
    def entities(self):
        return np.stack([env.entities for env in self.envs])


def played(worlds, actions, copies):
    """All that eight steps show, with resets of single copies in between, as bytes."""
    shown = [worlds.reset_arrays(SEED).tobytes()]
    for k, block in enumerate(actions):
        for copy, seed in RESETS.get(k, []):
            if copy < copies:
                shown.append(worlds.reset_copy(copy, seed).tobytes())
        shown += [np.ascontiguousarray(part).tobytes() for part in worlds.step_arrays(block)]
        infos = worlds.info_arrays
        shown += [b"" if infos is None else infos.tobytes(), worlds.entities.tobytes()]
        shown += [bytes(worlds.digest(c), "ascii") for c in range(copies)]
        shown.append(bytes(map(int, worlds.steps)))
    return shown


@pytest.fixture(scope="module")
def separately():
    """What separate envs show of each world."""
    expected = {}
    for name, (make_model, copies, max_cycles) in WORLDS.items():
        separate = Separate(make_model, copies, max_cycles)
        expected[name] = played(separate, actions_of(make_model(), copies), copies)
    return expected


def copies_of(name, scheduler, threads):
    make_model, copies, max_cycles = WORLDS[name]
    return Copies(make_model(), copies, scheduler=scheduler, threads=threads, max_cycles=max_cycles)


def share_everything(worlds):
    """Have every copy publish every phase, however small."""
    for world in worlds._engine._worlds:
        world._memory.control["share_ns"] = world._memory.control["clearly_ns"] = -1.0
    return worlds


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize(("scheduler", "threads"), SCHEDULERS)
def test_every_copy_shows_what_an_env_of_its_own_shows(separately, name, scheduler, threads):
    worlds = copies_of(name, scheduler, threads)
    assert played(worlds, actions_of(worlds.model, len(worlds)), len(worlds)) == separately[name]


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("threads", [2, 3, 8])
def test_every_copy_shows_the_same_where_every_phase_is_shared(separately, name, threads):
    worlds = share_everything(copies_of(name, "seer", threads))
    assert played(worlds, actions_of(worlds.model, len(worlds)), len(worlds)) == separately[name]


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_64_copies_in_many_steps(threads):
    worlds = Copies(Ring(6, patience=20), 64, scheduler="seer", threads=threads)
    separate = Separate(lambda: Ring(6, patience=20), 64, None)
    actions = actions_of(worlds.model, 64)
    for each in (worlds, separate):
        each.reset_arrays(SEED)
    for k in range(40):
        copy = 7 * k % 64
        assert worlds.reset_copy(copy).tobytes() == separate.reset_copy(copy).tobytes()
        for ours, theirs in zip(
            worlds.step_arrays(actions[k % STEPS]), separate.step_arrays(actions[k % STEPS])
        ):
            np.testing.assert_array_equal(ours, theirs)
    assert [worlds.digest(c) for c in range(64)] == [separate.digest(c) for c in range(64)]


def test_copies_that_have_ended_stand_still_and_show_zeros():
    worlds = Copies(Lamps(2, life=1), 2, scheduler="serial")
    worlds.reset_arrays(0)
    actions = np.ones((2, 2, 1))
    for _ in range(2):
        worlds.step_arrays(actions)
    assert not worlds.live.any()
    worlds.reset_copy(1)
    ended = worlds.digest(0)
    actions[0] = np.nan  # rows of a copy that has ended are ignored
    shown = worlds.step_arrays(actions)
    assert worlds.steps.tolist() == [2, 1]
    assert worlds.digest(0) == ended
    assert not shown.observations[0].any()
    assert not shown.terminated[0].any()
    assert shown.observations[1].any()
    assert worlds.observations[0].any(), "the last boundary of the copy that has ended"


def test_max_cycles_cut_each_copy_off_by_its_own_count():
    worlds = Copies(Ring(4), 2, scheduler="serial", max_cycles=3)
    worlds.reset_arrays(0)
    still = np.zeros((2, 4, 2))
    worlds.step_arrays(still)
    worlds.reset_copy(1)
    worlds.step_arrays(still)
    third = worlds.step_arrays(still)
    assert third.truncated.tolist() == [[True] * 4, [False] * 4]
    assert worlds.step_arrays(still).truncated.tolist() == [[False] * 4, [True] * 4]


def test_arrays_of_a_step_do_not_change_later():
    worlds = Copies(Ring(4), 2, scheduler="serial")
    worlds.reset_arrays(0)
    first = worlds.step_arrays(np.ones((2, 4, 2)))
    kept = [part.copy() for part in first]
    worlds.reset_copy(0)
    worlds.step_arrays(np.zeros((2, 4, 2)))
    for part, before in zip(first, kept):
        np.testing.assert_array_equal(part, before)


# -- failures ------------------------------------------------------------------------------------------


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
        each.step_arrays(still)
    assert digests(worlds) == digests(oracle)
    grown = [world._memory.slots > before for world, before in zip(worlds._engine._worlds, slots)]
    assert grown == [False, False, True, False]


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
    ("scheduler", "threads", "stride"), [("python", 1, 13), ("serial", 1, 1), ("seer", 2, 1)]
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
    assert point > 20 * stride, "too few points to say anything"


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
