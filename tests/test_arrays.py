"""Worlds of one function over all rows: the same bytes as by events, on every number of threads."""

from __future__ import annotations

import copy
import pickle
from enum import IntEnum

import numba
import numpy as np
import pytest
from gymnasium import spaces

import seer_env
from seer_env import ContractBreach, EventModel, ModelError, handles, output
from seer_env.bench.flock_loop import FlockLoop, move
from seer_env.copies import Copies
from seer_env.env import SeerParallelEnv
from seer_env.envs.flock_v0 import Flock
from seer_env.runtime.engine import SCHEDULERS

N, SEED, STEPS = 40, 4, 6
EVENTS = Flock(N)
SIDE = EVENTS.params["side"]
CELLS = int(SIDE)
THREADS = (1, 2, 3, 4, 8)

compiled_move = numba.njit(move)


def loop(state, actions, rng):
    """The moving part of the hand-written loop, over the rows' four numbers."""
    numbers = state.view(np.float64).reshape(len(state), 4)
    compiled_move(numbers[:, :2], numbers[:, 2:], actions, np.zeros(len(state), np.int32), SIDE, CELLS)


def gust(state, actions, rng):
    """A wind that changes with every step."""
    state["vx"] += 0.1 * rng.standard_normal()


def gust_and_loop(state, actions, rng):
    gust(state, actions, rng)
    loop(state, actions, rng)


def start(state, rng):
    EVENTS.reset(state, None, rng)


def flock(step=loop, **more):
    """The flock as a function over all rows, and what its agents see as in `flock_v0`."""
    declared = {name: getattr(EVENTS, name) for name in ("public", "grid", "info", "params", "dt", "reward")}
    declared |= {
        name: getattr(EVENTS, name) for name in ("entity", "observation_space", "action_space", "observe")
    }
    return seer_env.from_arrays(step, start=start, n_agents=N, name="flock", **{**declared, **more})


class GustyFlock(Flock):
    """The moving is an event by now; the wind is not."""

    def array_step(self, state, actions, rng):
        gust(state, actions, rng)


def played(env, seed=SEED):
    """Observations, rewards and rows of some steps, as bytes."""
    shown, rng = [env.reset_arrays(seed).tobytes()], np.random.default_rng(1)
    for _ in range(STEPS):
        step = env.step_arrays(rng.uniform(-1.5, 1.5, (N, 2)))
        shown.append((step.observations.tobytes(), step.rewards.tobytes(), env.entities.tobytes()))
    return shown


def env_of(model, scheduler="serial", threads=1, **arguments):
    return SeerParallelEnv(model, scheduler=scheduler, threads=threads, **arguments)


@pytest.fixture(scope="module")
def by_events():
    """What the flock of events shows."""
    return played(env_of(EVENTS))


@pytest.mark.parametrize("threads", THREADS)
def test_a_loop_shows_what_events_show_on_every_number_of_threads(by_events, threads):
    assert played(env_of(flock(), "seer", threads)) == by_events


@pytest.mark.parametrize("scheduler", [s for s in SCHEDULERS if s not in ("serial", "seer")])
def test_a_loop_shows_what_events_show_under_every_scheduler(by_events, scheduler):
    assert played(env_of(flock(), scheduler)) == by_events


def test_the_worlds_observations_are_those_of_the_loop():
    env = env_of(flock())
    env.reset_arrays(SEED)
    theirs, rng = FlockLoop(env.entities, SIDE), np.random.default_rng(2)
    for _ in range(STEPS):
        actions = rng.uniform(-1.0, 1.0, (N, 2)).astype(np.float32)
        theirs.step(actions)
        step = env.step_arrays(actions)
        np.testing.assert_allclose(step.observations, theirs.observations, atol=1e-6)
        np.testing.assert_allclose(step.rewards, theirs.rewards, atol=1e-6)


@pytest.mark.parametrize("threads", THREADS)
def test_a_piece_that_moves_to_an_event_leaves_the_bytes_as_they_are(threads):
    expected = played(env_of(flock(gust_and_loop)))
    assert played(env_of(GustyFlock(N), "seer", threads)) == expected
    assert expected != played(env_of(flock()))


@pytest.mark.parametrize(("scheduler", "threads"), [("python", 1), *(("seer", t) for t in THREADS)])
def test_copies_are_worlds_of_their_own(scheduler, threads):
    copies = Copies(flock(gust_and_loop), 3, scheduler=scheduler, threads=threads)
    copies.reset_arrays(SEED)
    rng = np.random.default_rng(1)
    for _ in range(STEPS):
        copies.step_arrays(np.tile(rng.uniform(-1.5, 1.5, (N, 2)), (3, 1, 1)))
    for i in range(3):
        alone = env_of(flock(gust_and_loop))
        played(alone, SEED + i)
        assert copies.digest(i) == alone.digest()


def test_random_numbers_are_the_episodes_and_the_steps():
    drawn = []
    env = env_of(flock(lambda state, actions, rng: drawn.append(rng.random(3).tolist())))
    for seed in (SEED, SEED, SEED + 1):
        env.reset_arrays(seed)
        env.step_arrays(np.zeros((N, 2)))
        env.step_arrays(np.zeros((N, 2)))
    first, second, again, _, other, _ = drawn
    assert first == again
    assert len({*first, *second, *other}) == 9


def test_a_saved_boundary_goes_on_as_the_episode_does(tmp_path):
    env = env_of(flock(gust_and_loop))
    played(env)
    env.save(tmp_path / "boundary.npz")
    env.step_arrays(np.ones((N, 2)))
    other = env_of(flock(gust_and_loop), "seer", 2)
    other.load(tmp_path / "boundary.npz")
    other.step_arrays(np.ones((N, 2)))
    assert other.digest() == env.digest()


def test_it_is_pickled_and_copied():
    env = env_of(flock(gust_and_loop))
    played(env)
    for twin in (pickle.loads(pickle.dumps(env)), copy.deepcopy(env)):
        twin.step_arrays(np.ones((N, 2)))
    env.step_arrays(np.ones((N, 2)))
    assert twin.digest() == env.digest()


def test_two_schedulers_check_each_other():
    assert played(env_of(flock(gust_and_loop), check=True)) == played(env_of(flock(gust_and_loop)))


class Fragile(EventModel):
    """Counts in an array step; action 1 breaks the lookahead, action 2 makes the array step raise."""

    class Kind(IntEnum):
        ACT = 0

    name, entity, lookahead, action_kind = (
        "fragile",
        np.dtype([("steps", "i8"), ("draws", "f8")]),
        0.5,
        Kind.ACT,
    )
    action_space, observation_space = spaces.Discrete(3), spaces.Box(-np.inf, np.inf, (2,), np.float32)

    def reset(self, state, schedule, rng):
        state["draws"] = rng.random()

    def array_step(self, state, actions, rng):
        state["steps"] += 1
        state["draws"] += rng.random()
        if (actions == 2.0).any():
            raise OSError("no wind")

    @handles(Kind.ACT)
    def act(me, event, sim):
        if event.payload[0] == 1.0:
            sim.emit((sim.me + 1) % sim.n_entities, 0.1, 0)

    @output
    def observe(me, obs, info, sim):
        obs[0], obs[1] = me.steps, me.draws


@pytest.mark.parametrize(("scheduler", "threads"), [("python", 1), ("serial", 1), ("seer", 2), ("heap", 1)])
@pytest.mark.parametrize(("action", "error"), [(1, ContractBreach), (2, OSError)])
def test_a_step_that_fails_has_changed_nothing(scheduler, threads, action, error):
    env, twin = env_of(Fragile(4), scheduler, threads), env_of(Fragile(4))
    for e in (env, twin):
        e.reset_arrays(SEED)
        e.step_arrays(np.zeros(4))
    with pytest.raises(error):
        env.step_arrays(np.full(4, action))
    assert env.digest() == twin.digest()
    for e in (env, twin):
        e.step_arrays(np.zeros(4))
    assert env.digest() == twin.digest()


@pytest.mark.parametrize("scheduler", ["python", "serial"])
@pytest.mark.parametrize(("action", "error"), [(1, ContractBreach), (2, OSError)])
def test_copies_of_which_one_fails_have_changed_nothing(scheduler, action, error):
    copies = Copies(Fragile(4), 3, scheduler=scheduler)
    copies.reset_arrays(SEED)
    copies.step_arrays(np.zeros((3, 4)))
    before, actions = [copies.digest(i) for i in range(3)], np.zeros((3, 4))
    actions[1] = action
    with pytest.raises(error):
        copies.step_arrays(actions)
    assert [copies.digest(i) for i in range(3)] == before


def test_rows_beyond_the_agents_are_the_functions_too():
    entity = np.dtype([("x", "f8")])

    def drift(state, actions, rng):
        state["x"][:2] += actions[:, 0]
        state["x"][2:] += 10.0

    def see(me, obs, info, sim):
        obs[0] = sim.view(3).x

    env = env_of(
        seer_env.from_arrays(
            drift,
            start=lambda state, rng: None,
            observe=see,
            entity=entity,
            public=("x",),
            n_agents=2,
            n_entities=4,
            observation_space=spaces.Box(-np.inf, np.inf, (1,), np.float32),
            action_space=spaces.Box(-1.0, 1.0, (1,), np.float32),
        )
    )
    env.reset_arrays(seed=1)
    assert env.step_arrays([0.5, 0.25]).observations.tolist() == [[10.0], [10.0]]
    assert env.entities["x"].tolist() == [0.5, 0.25, 10.0, 10.0]


def test_arrays_that_nobody_would_keep_are_refused():
    env = env_of(flock(lambda state, actions, rng: state.copy()))
    env.reset_arrays(SEED)
    with pytest.raises(ModelError, match="must change `state` in place and return None, got ndarray"):
        env.step_arrays(np.zeros((N, 2)))
    assert env.steps == 0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"lookahead": 0.5}, TypeError, r"takes no \['lookahead'\]"),
        ({"step": None}, ModelError, "step must be a plain function, got None"),
        ({"reward": 3.0}, ModelError, "reward must be a plain function, got 3.0"),
        (
            {"observe": output(lambda me, obs, info, sim: None)},
            ModelError,
            "observe must be a plain function",
        ),
        ({"entity": np.dtype("f8")}, ModelError, "entity must be a structured"),
        ({"n_entities": N - 1}, ModelError, "n_agents must be in"),
    ],
)
def test_what_cannot_work_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        flock(**arguments)
