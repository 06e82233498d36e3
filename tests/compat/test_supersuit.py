"""SuperSuit: `black_death_v3`, vector envs in 0 and 2 processes (fork, spawn), PPO of Stable-Baselines3."""

from __future__ import annotations

import multiprocessing

import numpy as np
import pytest
from worlds import Lamps

import seer_env

supersuit = pytest.importorskip("supersuit", reason="SuperSuit is not installed: make test-compat")
sb3 = pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed: make test-compat")

AGENTS = 6
needs_fork = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork"
)


@pytest.fixture(params=["0 processes", pytest.param("fork", marks=needs_fork), "spawn"])
def concat(request):
    """A function that joins two copies of a vector env, in this process or each in one of its own."""
    processes = 0 if request.param == "0 processes" else 2
    before, opened = multiprocessing.get_start_method(allow_none=True), []
    if processes:
        multiprocessing.set_start_method(request.param, force=True)

    def join(env, base_class="gymnasium"):
        joined = supersuit.concat_vec_envs_v1(env, 2, num_cpus=processes, base_class=base_class)
        opened.append(joined)
        return joined

    yield join
    for env in opened:
        # SuperSuit 3.11's workers answer "close" and wait for more, so that closing takes this long.
        getattr(env, "venv", env).graceful_shutdown_timeout = 0.1
        env.close()
    multiprocessing.set_start_method(before, force=True)


def flock(n_agents=AGENTS, **arguments):
    return seer_env.make("flock_v0", n_agents=n_agents, **{"threads": 1, "max_cycles": 10, **arguments})


def rows(agents, values):
    return np.stack([values[agent] for agent in agents])


def follow(vector, envs, steps=12):
    """Step `vector` and, agent by agent, the envs that its rows stand for; they must show the same."""
    rng, agents = np.random.default_rng(0), envs[0].possible_agents
    shown = vector.reset(seed=3)[0]
    expected = [rows(agents, env.reset(seed=3 + i)[0]) for i, env in enumerate(envs)]
    np.testing.assert_array_equal(shown, np.concatenate(expected))
    for _ in range(steps):
        actions = rng.uniform(-1.0, 1.0, (len(envs), len(agents), 2)).astype(np.float32)
        vector.step_async(actions.reshape(-1, 2))
        shown, rewards, _, truncated, _ = vector.step_wait()
        steps_of_envs = [env.step(dict(zip(agents, block))) for env, block in zip(envs, actions)]
        np.testing.assert_array_equal(
            rewards, np.concatenate([rows(agents, step[1]) for step in steps_of_envs]).astype(np.float32)
        )
        np.testing.assert_array_equal(
            truncated, np.concatenate([rows(agents, step[3]) for step in steps_of_envs])
        )
        expected = [
            rows(agents, step[0] if env.agents else env.reset()[0]) for env, step in zip(envs, steps_of_envs)
        ]
        np.testing.assert_array_equal(shown, np.concatenate(expected))


def test_after_black_death_all_agents_stay_to_the_end_and_the_dead_see_zeros():
    env = supersuit.black_death_v3(seer_env.make(Lamps(n_agents=3, life=2), threads=1))
    env.reset(seed=0)
    lives = []
    while env.agents:  # lamp i burns out at step 2 + i; it steps once more after the last has
        observations, rewards, terminations, _, infos = env.step(dict.fromkeys(env.agents, 1))
        assert list(map(set, (observations, rewards, terminations, infos))) == [set(env.possible_agents)] * 4
        lives.append([bool(observations[agent].any()) for agent in env.possible_agents])
    assert lives == [
        [True, True, True],
        [True, True, True],
        [False, True, True],
        [False, False, True],
        [False, False, False],
    ]
    assert all(terminations.values())


def test_a_vector_env_shows_what_the_env_shows_over_several_episodes():
    vector = supersuit.pettingzoo_env_to_vec_env_v1(flock(max_cycles=5))
    assert vector.num_envs == AGENTS
    follow(vector, [flock(max_cycles=5)])


def test_the_last_observation_of_an_episode_is_in_the_infos():
    vector, env = supersuit.pettingzoo_env_to_vec_env_v1(flock(max_cycles=1)), flock(max_cycles=1)
    vector.reset(seed=0)
    env.reset(seed=0)
    infos = vector.step(np.zeros((AGENTS, 2), np.float32))[4]
    last = env.step(dict.fromkeys(env.agents, np.zeros(2, np.float32)))[0]
    for agent, info in zip(env.possible_agents, infos):
        np.testing.assert_array_equal(info["terminal_observation"], last[agent])


def test_joined_vector_envs_show_what_separate_envs_show(concat):
    joined = concat(supersuit.pettingzoo_env_to_vec_env_v1(flock()))
    assert joined.num_envs == 2 * AGENTS
    follow(joined, [flock(), flock()])


@pytest.mark.filterwarnings(
    "ignore:this process was forked after a parallel step:RuntimeWarning"
)  # as it says
def test_joined_after_a_step_on_two_threads_they_show_the_same(concat):
    env = flock(500, scheduler="seer", threads=2)
    env.reset(seed=0)
    env.step({agent: np.zeros(2, np.float32) for agent in env.agents})
    joined = concat(supersuit.pettingzoo_env_to_vec_env_v1(env))
    follow(joined, [flock(500), flock(500)], steps=3)


def test_ppo_learns_from_joined_flocks(concat):
    joined = concat(supersuit.pettingzoo_env_to_vec_env_v1(flock()), base_class="stable_baselines3")
    learns(joined)


def test_ppo_learns_where_agents_die(concat):
    env = supersuit.black_death_v3(
        seer_env.make("battle_v0", n_agents=8, max_hp=2.0, max_cycles=10, threads=1)
    )
    learns(concat(supersuit.pettingzoo_env_to_vec_env_v1(env), base_class="stable_baselines3"))


def learns(vector):
    """Two rollouts and updates of PPO, which must move the policy."""
    model = sb3.PPO("MlpPolicy", vector, n_steps=16, batch_size=32, n_epochs=1, device="cpu")
    before = [parameter.detach().clone() for parameter in model.policy.parameters()]
    model.learn(total_timesteps=2 * 16 * vector.num_envs)
    assert model.num_timesteps == 2 * 16 * vector.num_envs
    after = list(model.policy.parameters())
    assert all(parameter.isfinite().all() for parameter in after)
    assert any(not parameter.equal(old) for parameter, old in zip(after, before))
