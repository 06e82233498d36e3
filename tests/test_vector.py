"""Agents as rows: of one, what gymnasium's own vector env shows; of many, what worlds stepped by hand do."""

from __future__ import annotations

import itertools

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import vector as wrappers
from worlds import BOUND, Lamps, Ring

from seer_env import ModelError, SeerError
from seer_env.actions import ActionError
from seer_env.env import SeerParallelEnv
from seer_env.single_agent import SingleAgentEnv
from seer_env.vector import SeerVectorEnv, make_vec

MODES = list(AutoresetMode)
SEED, STEPS = 3, 14


def lamps(mode=AutoresetMode.NEXT_STEP, n_agents=3, copies=2, life=2, **arguments):
    """Lamp `a` of each world burns out in step `life + a`."""
    return make_vec(
        Lamps(n_agents, life), copies=copies, autoreset_mode=mode, scheduler="serial", **arguments
    )


def same(one, other):
    """Whether two observations, infos, or parts of them are equal, in values and dtypes."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if one.dtype == object:
        return all(a is b is None or np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    return one.dtype == other.dtype and np.array_equal(one, other)


def everything(shown):
    """What `reset` or `step` returned, without what gymnasium does not have."""
    *arrays, infos = shown
    return [*arrays, {key: infos[key] for key in infos if key.removeprefix("_") != "live"}]


# -- one agent per world: gymnasium's own vector env is the oracle ----------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("life", "max_cycles"), [(3, None), (0, 4), (5, 3)])
def test_worlds_of_one_agent_show_what_gymnasiums_vector_env_shows(mode, life, max_cycles):
    def one():
        return SingleAgentEnv(Lamps(1, life), scheduler="serial", max_cycles=max_cycles)

    expected = SyncVectorEnv([one] * 3, autoreset_mode=mode)
    envs = lamps(mode, 1, 3, life, max_cycles=max_cycles)
    assert envs.observation_space == expected.observation_space
    assert envs.action_space == expected.action_space
    assert all(map(same, everything(envs.reset(seed=SEED)), everything(expected.reset(seed=SEED))))
    ends = 0
    for _ in range(STEPS):
        actions = expected.action_space.sample()
        mine, theirs = everything(envs.step(actions)), everything(expected.step(actions))
        assert all(map(same, mine, theirs))
        over = theirs[2] | theirs[3]
        ends += np.count_nonzero(over)
        if mode is AutoresetMode.DISABLED and over.any():
            again = [e.reset(options={"reset_mask": over.copy()}) for e in (envs, expected)]
            assert all(map(same, *map(everything, again)))
    assert ends >= 6


def test_a_reset_mask_resets_as_gymnasiums_vector_env_does():
    expected = SyncVectorEnv([lambda: SingleAgentEnv(Lamps(1), scheduler="serial")] * 3)
    envs, mask = lamps(copies=3, n_agents=1, life=0), np.array([True, False, True])
    for e in (envs, expected):
        e.reset(seed=SEED)
        e.step(np.array([1, 2, 3]))
    again = [e.reset(seed=[7, None, 8], options={"reset_mask": mask.copy()}) for e in (envs, expected)]
    assert all(map(same, *map(everything, again)))
    assert envs.np_random_seed == (7, SEED + 1, 8)
    states = [[g.bit_generator.state for g in e.np_random] for e in (envs, expected)]
    assert states[0] == states[1]


# -- many agents: worlds stepped by hand are the oracle ----------------------------------------------


def by_hand(envs, worlds, actions):
    """Rows of a NEXT_STEP step of `worlds`, some `SeerParallelEnv`s, through their dicts."""
    agents, size = envs.model.n_agents, envs.model.observation_size
    observations, rewards = np.zeros((envs.num_envs, size), np.float32), np.zeros(envs.num_envs)
    ended = np.zeros((2, envs.num_envs), bool)
    for c, world in enumerate(worlds):
        if not world.agents:
            for agent, seen in world.reset()[0].items():
                observations[c * agents + world.possible_agents.index(agent)] = seen
            continue
        block = actions[c * agents : (c + 1) * agents]
        outputs = world.step({name: block[world.possible_agents.index(name)] for name in world.agents})
        for agent in outputs[0]:
            row = c * agents + world.possible_agents.index(agent)
            observations[row], rewards[row] = outputs[0][agent], outputs[1][agent]
            ended[0, row], ended[1, row] = outputs[2][agent], outputs[3][agent]
    return observations, rewards, *ended


@pytest.mark.parametrize("make_model", [lambda: Ring(5, patience=8), lambda: Lamps(3, life=2)])
@pytest.mark.parametrize("threads", [1, 2, 3, 4, 8])
def test_many_agents_do_what_worlds_stepped_by_hand_do(make_model, threads):
    envs = make_vec(make_model(), copies=2, scheduler="seer", threads=threads, max_cycles=6)
    worlds = [SeerParallelEnv(make_model(), scheduler="python", max_cycles=6) for _ in range(2)]
    envs.reset(seed=SEED)
    for c, world in enumerate(worlds):
        world.reset(seed=SEED + c)
    for _ in range(STEPS):
        actions = envs.action_space.sample()
        assert all(map(same, envs.step(actions), by_hand(envs, worlds, actions)))
        assert [envs.worlds.digest(c) for c in range(2)] == [world.digest() for world in worlds]


def test_a_row_that_has_ended_waits_for_its_world():
    envs = lamps(life=1)
    envs.reset(seed=SEED)
    live, over = [envs.live.tolist()], []
    for _ in range(4):
        observations, rewards, terminated, _, infos = envs.step(np.full(6, 2))
        waiting = ~np.array(live[-1])
        assert not observations[waiting & ~infos["_warmth"]].any()
        assert not rewards[waiting].any()
        assert same(infos["live"], envs.live)
        live.append(infos["live"].tolist())
        over.append(terminated.tolist())
    one, two, three = [True, False, False] * 2, [False, True, False] * 2, [False, False, True] * 2
    assert over == [one, two, three, [False] * 6]
    assert live == [[True] * 6, [False, True, True] * 2, [False, False, True] * 2, [False] * 6, [True] * 6]


def test_the_same_step_shows_what_a_row_ended_with_though_its_world_goes_on():
    envs, other = lamps(AutoresetMode.SAME_STEP, life=1), lamps(life=1)
    for e in (envs, other):
        e.reset(seed=SEED)
    observations, _, terminated, _, infos = envs.step(np.full(6, 2))
    last, _, _, _, last_infos = other.step(np.full(6, 2))
    assert infos["_final_obs"].tolist() == infos["_final_info"].tolist() == terminated.tolist()
    assert all(np.array_equal(infos["final_obs"][row], last[row]) for row in np.flatnonzero(terminated))
    assert same(infos["final_info"]["warmth"], np.where(terminated, last_infos["warmth"], 0.0))
    assert not observations[terminated].any()
    assert infos["_warmth"].tolist() == (~terminated).tolist()


def test_a_world_is_refused_at_its_end_when_nothing_resets_it():
    envs = lamps(AutoresetMode.DISABLED, life=1)
    envs.reset(seed=SEED)
    for _ in range(3):
        assert not envs.ended.any()
        envs.step(np.zeros(6))
    digest = envs.worlds.digest(0)
    with pytest.raises(ResetNeeded, match=r"worlds \[0, 1\] have ended"):
        envs.step(np.zeros(6))
    assert envs.worlds.digest(0) == digest
    assert envs.ended.all()
    envs.reset(options={"reset_mask": envs.ended})
    assert envs.live.all()


def test_agents_of_one_world_are_reset_together():
    envs = lamps(AutoresetMode.DISABLED)
    envs.reset(seed=SEED)
    with pytest.raises(ValueError, match=r"some rows of worlds \[1\], not all"):
        envs.reset(options={"reset_mask": np.array([False] * 5 + [True])})


def test_what_shows_nothing_lies_in_the_observation_space():
    class Warm(Lamps):
        observation_space = gymnasium.spaces.Box(1.0, 100.0, (3,), np.float32)

    envs = make_vec(Warm(2, life=1), scheduler="python")
    envs.reset(seed=SEED)
    envs.step(np.full(2, 3))
    assert envs.step(np.full(2, 3))[0][0].tolist() == [1.0, 1.0, 1.0]


# -- gymnasium's tools ------------------------------------------------------------------------------


def test_episode_statistics_are_those_of_the_episodes():
    envs = wrappers.RecordEpisodeStatistics(lamps(n_agents=1, life=3))
    envs.reset(seed=SEED)
    returns = np.zeros(2)
    for _ in range(3):
        *_, infos = envs.step(np.array([1, 4]))
        returns += infos["warmth"]  # the lamps' reward
    assert infos["_episode"].all()
    assert np.allclose(infos["episode"]["r"], returns)
    assert infos["episode"]["l"].tolist() == [3, 3]


@pytest.mark.filterwarnings(
    "ignore:.*precision lowered by casting to float32:UserWarning"
)  # RescaleAction's own
@pytest.mark.parametrize(
    "wrapper", ["NormalizeObservation", "NormalizeReward", "ClipReward", "RescaleAction"]
)
def test_wrappers_of_gymnasium_take_it(wrapper):
    envs = make_vec(Ring(4), copies=2, scheduler="serial")
    bounds = {"ClipReward": (-0.1, 0.1), "RescaleAction": (-2.0, 2.0)}.get(wrapper, ())
    wrapped = getattr(wrappers, wrapper)(envs, *bounds)
    wrapped.reset(seed=SEED)
    for _ in range(3):
        observations, rewards, *_ = wrapped.step(wrapped.action_space.sample())
    assert observations.shape == (8, 4)
    assert rewards.shape == (8,)
    assert wrapped.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP


def test_infos_become_a_list_of_those_that_are_shown():
    envs = wrappers.DictInfoToList(lamps(life=1))
    envs.reset(seed=SEED)
    envs.step(np.full(6, 2))
    infos = envs.step(np.full(6, 2))[-1]
    assert [sorted(info) for info in infos[:2]] == [["live"], ["level", "lit", "live", "warmth"]]
    assert infos[1]["level"] == 2


@pytest.mark.parametrize("mode", MODES)
def test_outputs_lie_in_the_spaces_and_are_never_shared(mode):
    envs = make_vec(Ring(5, patience=8), copies=2, autoreset_mode=mode, scheduler="serial", max_cycles=4)
    seen = [envs.reset(seed=SEED)[0]]
    for _ in range(STEPS):
        if mode is AutoresetMode.DISABLED and envs.ended.any():
            seen.append(envs.reset(options={"reset_mask": envs.ended})[0])
        seen.append(envs.step(envs.action_space.sample())[0])
        assert seen[-1] in envs.observation_space
    assert not any(np.shares_memory(a, b) for a, b in itertools.pairwise(seen))


def test_rows_show_the_picture_of_their_world():
    envs = lamps(render_mode="rgb_array")
    envs.reset(seed=SEED)
    envs.step(np.array([0, 0, 0, 4, 4, 4]))
    frames = envs.render()
    assert len(frames) == envs.num_envs
    assert frames[0] is frames[2]
    assert frames[0].max() == 0
    assert frames[3].max() == 160


# -- making ------------------------------------------------------------------------------------------


def test_gymnasium_makes_it_by_name():
    envs = gymnasium.make_vec("seer_env/flock_v0", num_envs=60, n_agents=30, scheduler="serial")
    assert isinstance(envs, SeerVectorEnv)
    assert len(envs.worlds) == 2
    assert envs.spec.id == "seer_env/flock_v0"
    twin = make_vec("flock_v0", n_agents=30, copies=2, scheduler="serial")
    assert same(envs.reset(seed=SEED)[0], twin.reset(seed=SEED)[0])


def test_one_world_is_the_default():
    assert make_vec(Ring(4), scheduler="serial").num_envs == 4


@pytest.mark.parametrize("arguments", [{"num_envs": 7}, {"num_envs": 0}, {"num_envs": 8, "copies": 3}])
def test_rows_are_a_multiple_of_the_agents(arguments):
    with pytest.raises(ValueError, match=r"num_envs must be copies \* 4"):
        make_vec(Ring(4), **arguments)


def test_the_keys_of_the_env_are_taken():
    class Taken(Lamps):
        info = np.dtype([("live", "b1"), ("warmth", "f8")])

    with pytest.raises(ModelError, match=r"keys \['live'\] of their own"):
        make_vec(Taken(2), scheduler="python")


def test_a_world_that_draws_nothing_has_no_render_mode():
    with pytest.raises(ValueError, match="render_mode must be one of"):
        make_vec(Ring(4), scheduler="python", render_mode="rgb_array")


# -- arguments -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("actions", [np.zeros((5, 2)), np.zeros((8, 3)), np.float64(1.0)])
def test_actions_have_a_row_per_agent(actions):
    envs = make_vec(Ring(4), copies=2, scheduler="python")
    envs.reset(seed=SEED)
    with pytest.raises(ActionError, match=r"shape|row for each of 8 agents"):
        envs.step(actions)


@pytest.mark.parametrize(
    ("mask", "error"),
    [
        ([True] * 6, TypeError),
        (np.ones(6), TypeError),
        (np.ones(5, bool), ValueError),
        (np.zeros(6, bool), ValueError),
    ],
)
def test_a_reset_mask_is_checked(mask, error):
    envs = lamps()
    envs.reset(seed=SEED)
    with pytest.raises(error, match="reset_mask must"):
        envs.reset(options={"reset_mask": mask})


@pytest.mark.parametrize("seed", [[1], [1, 2, 3], -1, [1, -2], 0.5])
def test_seeds_are_checked(seed):
    with pytest.raises(ValueError, match="seed"):
        lamps().reset(seed=seed)


def test_stepping_needs_a_reset_and_a_closed_env_says_so():
    envs = lamps()
    with pytest.raises(ResetNeeded, match="have not been reset"):
        envs.step(np.zeros(6))
    envs.close()
    envs.close()
    with pytest.raises(SeerError, match="closed"):
        envs.reset()


def test_a_reset_that_fails_is_tried_again_in_the_next_step():
    class Moody(Lamps):
        fails = False

        def reset(self, state, schedule, rng):
            if self.fails:
                raise OSError("no map")
            super().reset(state, schedule, rng)

    model = Moody(2, life=1)
    envs = make_vec(model, scheduler="python", autoreset_mode="SameStep")
    envs.reset(seed=SEED)
    envs.step(np.zeros(2))
    model.fails = True
    with pytest.raises(OSError, match="no map"):
        envs.step(np.zeros(2))
    model.fails = False
    envs.step(np.zeros(2))
    assert envs.live.all()


def test_rows_bounds_are_the_worlds():
    assert make_vec(Ring(4), scheduler="python").observation_space.high.max() == np.float32(BOUND)
