"""`check=True`: agreement passes silently, a difference is named, and the env stays where it was."""

from __future__ import annotations

import numpy as np
import pytest
from worlds import Lamps, Ring, Unruly

from seer_env import checking
from seer_env.env import SeerParallelEnv
from seer_env.errors import ContractBreach, NondeterminismError
from seer_env.runtime.engine import make_engine

STILL = np.zeros((6, 2))


@pytest.fixture
def second(monkeypatch):
    """Sets the model that the second scheduler runs instead; `python` also checks `python`."""

    def set_model(model):
        monkeypatch.setattr(
            checking, "make_engine", lambda _m, _s, threads, event_capacity: make_engine(model, "python")
        )

    return set_model


@pytest.mark.parametrize(("first", "other"), [("seer", "serial"), ("serial", "python"), ("python", "serial")])
def test_the_second_scheduler_is_the_nearest_simpler_one(first, other):
    assert checking.other_scheduler(first) == other


@pytest.mark.parametrize("scheduler", ["python", "serial", "seer"])
@pytest.mark.parametrize("model", [Ring(patience=12), Lamps(life=4)])
def test_schedulers_agree_and_checking_changes_nothing(model, scheduler):
    env = SeerParallelEnv(model, scheduler=scheduler, check=True, max_cycles=15)
    plain = SeerParallelEnv(model, scheduler="python", max_cycles=15)
    env.reset(seed=0)
    plain.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(40):
        if not env.agents:
            env.reset()
            plain.reset()
        actions = env._reader.sample(rng)
        env.step_arrays(actions)
        plain.step_arrays(actions)
        assert env.digest() == plain.digest()


def test_the_first_differing_entity_and_field_are_named_and_the_env_has_not_moved(second):
    second(Ring(gain=0.25))
    env = SeerParallelEnv(Ring(), scheduler="python", check=True)
    env.reset(seed=0)
    digest = env.digest()
    with pytest.raises(NondeterminismError, match=r"ring: .*boundary 1: entity \d+, field 'x': .* against"):
        env.step_arrays(STILL)
    assert env.digest() == digest
    assert env.agents == env.possible_agents


def test_the_first_differing_event_is_named(second):
    class Later(Ring):
        def reset(self, state, schedule, rng):
            super().reset(state, schedule, rng)
            schedule(3, 7.0, 2)

    second(Later())
    env = SeerParallelEnv(Ring(), scheduler="python", check=True)
    with pytest.raises(NondeterminismError, match=r"boundary 0: .*pending event"):
        env.reset(seed=0)


def test_the_first_differing_output_is_named(second):
    class Kind(Ring):
        def reward(me, info, sim):
            return 1.0 if sim.me == 4 else -abs(me.x)

        reward = staticmethod(reward)

    second(Kind())
    env = SeerParallelEnv(Ring(), scheduler="python", check=True)
    env.reset(seed=0)
    with pytest.raises(NondeterminismError, match=r"agent 4, rewards: .* against .*1\.0"):
        env.step_arrays(STILL)


def test_a_breach_that_only_the_second_finds_is_a_difference(second):
    class Calm(Unruly):
        lookahead = 0.05

    second(Unruly())
    env = SeerParallelEnv(Calm(), scheduler="python", check=True)
    env.reset(seed=0)
    digest = env.digest()
    with pytest.raises(NondeterminismError, match="only the second raised ContractBreach"):
        env.step_arrays([1])
    assert env.digest() == digest


def test_a_breach_under_both_is_the_breach(second):
    second(Unruly())
    env = SeerParallelEnv(Unruly(), scheduler="python", check=True)
    env.reset(seed=0)
    with pytest.raises(ContractBreach):
        env.step_arrays([1])
    env.step_arrays([0])
