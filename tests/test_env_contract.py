"""The env against PettingZoo's own contract tests, and its determinism."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from env_players import drawn, make_env, transcript, with_both_worlds, with_every_scheduler
from pettingzoo.test import api_test, max_cycles_test, parallel_api_test, parallel_seed_test, render_test
from pettingzoo.test.state_test import state_test
from pettingzoo.utils import parallel_to_aec
from window_backend import using
from worlds import Lamps, Ring

from seer_env.errors import ModelError

# -- PettingZoo's contract tests --------------------------------------------------------------------


@with_every_scheduler
@with_both_worlds
def test_passes_parallel_api_test(world, scheduler):
    parallel_api_test(make_env(world(), scheduler=scheduler), num_cycles=30)


@with_every_scheduler
def test_passes_parallel_api_test_when_every_agent_is_cut_off_at_once(scheduler):
    parallel_api_test(make_env(Ring(), scheduler=scheduler), num_cycles=5)


@with_every_scheduler
@with_both_worlds
def test_passes_parallel_seed_test(world, scheduler):
    parallel_seed_test(lambda: make_env(world(), scheduler=scheduler, max_cycles=20), num_cycles=20)


@with_every_scheduler
@with_both_worlds
def test_passes_api_test_through_parallel_to_aec(world, scheduler):
    api_test(parallel_to_aec(make_env(world(), scheduler=scheduler, max_cycles=20)), num_cycles=20)


def test_passes_max_cycles_test():
    module = types.SimpleNamespace(
        parallel_env=lambda **arguments: make_env(**arguments),
        env=lambda **arguments: parallel_to_aec(make_env(**arguments)),
    )
    max_cycles_test(module)


def test_passes_render_test():
    with using("module://window_backend"):
        render_test(lambda render_mode: parallel_to_aec(make_env(Lamps(), render_mode=render_mode)))


@with_every_scheduler
@with_both_worlds
def test_passes_state_test_beyond_the_end_of_the_episode(world, scheduler):
    env = make_env(world(), scheduler=scheduler, max_cycles=6)
    state_test(parallel_to_aec(env), copy.deepcopy(env), num_cycles=10)


# -- determinism ------------------------------------------------------------------------------------


@with_every_scheduler
@with_both_worlds
def test_500_steps_are_equal_from_one_seed_under_every_scheduler(world, scheduler):
    expected = transcript(make_env(world(), max_cycles=60), 7, 500)
    assert transcript(make_env(world(), max_cycles=60, scheduler=scheduler), 7, 500) == expected


@pytest.mark.parametrize("threads", [1, 2, 3, 4, 8])
@with_both_worlds
def test_500_steps_are_equal_at_every_thread_count(world, threads):
    expected = transcript(make_env(world(), max_cycles=60), 7, 500)
    env = make_env(world(), max_cycles=60, scheduler="seer", threads=threads)
    assert transcript(env, 7, 500) == expected


@pytest.mark.parametrize("hashseed", ["0", "1", "4242"])
def test_500_steps_are_equal_in_processes_with_other_hash_seeds(hashseed):
    code = (
        "import env_players as t; from worlds import Ring; "
        "print(t.transcript(t.make_env(Ring(patience=12), max_cycles=60), 7, 500)[-1])"
    )
    environment = {**os.environ, "PYTHONHASHSEED": hashseed}
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    output = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True)
    here = transcript(make_env(Ring(patience=12), max_cycles=60), 7, 500)
    assert output.stdout.decode().split() == [here[-1]]


def test_dicts_are_equal_from_one_seed_for_500_steps():
    first, second = make_env(Lamps(life=9)), make_env(Lamps(life=9))
    rng, twin = np.random.default_rng(0), np.random.default_rng(0)
    pairs = [(first.reset(seed=3), second.reset(seed=3))]
    for _ in range(500):
        if not first.agents:
            pairs.append((first.reset(), second.reset()))
        pairs.append((first.step(drawn(first, rng)), second.step(drawn(second, twin))))
    assert all(repr(a) == repr(b) for a, b in pairs)


def test_reset_without_a_seed_goes_on_and_does_not_reseed():
    env, again = make_env(), make_env()
    env.reset(seed=5)
    again.reset(seed=5)
    digests = []
    for _ in range(3):
        env.reset()
        again.reset(seed=None)
        assert env.digest() == again.digest()
        digests.append(env.digest())
    assert len(set(digests)) == 3


def test_unseeded_envs_differ():
    first, second = make_env(), make_env()
    first.reset()
    second.reset()
    assert first.digest() != second.digest()


def test_unknown_reset_options_are_ignored():
    env, plain = make_env(), make_env()
    env.reset(seed=1, options={"colour": "blue"})
    plain.reset(seed=1)
    assert env.digest() == plain.digest()


def test_seed_may_be_a_numpy_integer():
    env, plain = make_env(), make_env()
    env.reset(seed=np.int64(9))
    plain.reset(seed=9)
    assert env.digest() == plain.digest()


def test_a_failed_reset_leaves_the_env_and_its_generator_untouched():
    class Failing(Ring):
        failing = False

        def reset(self, state, schedule, rng):
            super().reset(state, schedule, rng)
            if self.failing:
                schedule(0, -1.0, 0)

    env, plain = make_env(Failing()), make_env(Failing())
    env.reset(seed=1)
    plain.reset(seed=1)
    env.model.failing = True
    with pytest.raises(ModelError, match="time -1"):
        env.reset()
    assert env.digest() == plain.digest()
    env.model.failing = False
    env.reset()
    plain.reset()
    assert env.digest() == plain.digest()
