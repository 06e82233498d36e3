"""Copies: each does, byte for byte, what an env of its own does, whatever the others do."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from worlds import Lamps, Ring

from seer_env import BoundaryFileError, Copies
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


def digests(worlds):
    return [worlds.digest(c) for c in range(len(worlds))]


# -- files ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scheduler", "threads"), [("python", 1), ("seer", 2)])
def test_a_copy_goes_on_in_an_env_and_an_env_in_a_copy(scheduler, threads, tmp_path):
    worlds = Copies(Ring(6, patience=6), 3, scheduler=scheduler, threads=threads)
    env = SeerParallelEnv(Ring(6, patience=6), scheduler="serial")
    worlds.reset_arrays(SEED)
    actions = actions_of(worlds.model, 3)
    for block in actions[:3]:
        worlds.step_arrays(block)
    worlds.save(2, tmp_path / "copy.npz")
    env.load(tmp_path / "copy.npz")
    assert env.digest() == worlds.digest(2)
    shown = env.step_arrays(actions[3][2])
    env.save(tmp_path / "env.npz")
    assert worlds.load(0, tmp_path / "env.npz").tobytes() == shown.observations.tobytes()
    worlds.save(0, tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "env.npz").read_bytes()
    assert worlds.live[0].tolist() == env.live.tolist()
    worlds.step_arrays(actions[4])
    env.step_arrays(actions[4][0])
    assert worlds.digest(0) == env.digest()
    assert worlds.steps.tolist() == [5, 4, 4]
    assert worlds.reset_copy(0).tobytes() == env.reset_arrays().tobytes(), "the generator went along"


def test_a_copy_that_has_ended_is_saved_as_it_ended(tmp_path):
    worlds, env = Copies(Lamps(2, life=1), 2, scheduler="serial"), SeerParallelEnv(Lamps(2, life=1))
    worlds.reset_arrays(0)
    env.reset_arrays(0)
    for k in range(4):
        if k == 3:
            worlds.reset_copy(1)
        worlds.step_arrays(np.ones((2, 2, 1)))
        env.step_arrays(np.ones((2, 1)))
    worlds.save(0, tmp_path / "copy.npz")
    env.save(tmp_path / "env.npz")
    assert (tmp_path / "copy.npz").read_bytes() == (tmp_path / "env.npz").read_bytes()


def test_a_foreign_file_changes_no_copy(tmp_path):
    worlds = Copies(Ring(6), 2, scheduler="serial")
    worlds.reset_arrays(0)
    before = digests(worlds)
    (tmp_path / "foreign.npz").write_bytes(b"no boundary")
    with pytest.raises(BoundaryFileError):
        worlds.load(0, tmp_path / "foreign.npz")
    assert digests(worlds) == before


def test_a_copy_that_was_never_reset_cannot_be_saved(tmp_path):
    worlds = Copies(Ring(6), 2, scheduler="serial")
    with pytest.raises(ResetNeeded, match="copy 1 has not been reset"):
        worlds.save(1, tmp_path / "copy.npz")
