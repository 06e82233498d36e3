"""Contenders take the same steps of the same world."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np
import pytest

from seer_env.bench.experiment import Contender
from seer_env.bench.stepping import EPISODE, STPA, Stepping, World, contest, stpa
from seer_env.errors import SeerError
from seer_env.registration import make
from seer_env.runtime.stats import StepStats, WorkerStats

PCS = World("pcs_v0", "guard", {"n_agents": 16})
EVERYBODY = [
    Contender("serial"),
    *(Contender(name, 2) for name in ("seer", "ross-t", "ross-t:round-robin", "nbse", "root-sim")),
    stpa(),
]


@pytest.mark.parametrize("world", [PCS, World("aircraft_v0", "random", {"n_agents": 20})])
def test_all_contenders_end_a_measurement_in_the_same_state(world):
    with ExitStack() as stack:
        made = contest(world, EVERYBODY, 3, 0.002, stack)
        assert list(made) == EVERYBODY
        assert len({stepping.steps for stepping in made.values()}) == 1
        for _ in range(2):
            assert len({stepping()["digest"] for stepping in made.values()}) == 1


def test_the_digest_is_that_of_an_env_in_which_the_policy_acts():
    env = make("pcs_v0", n_agents=16, scheduler="serial", threads=1)
    env.reset_arrays(3)
    for _ in range(5):
        env.step_arrays(env.policies["guard"](env))
    stepping = Stepping(PCS, "seer", 2, 3)
    stepping.steps = 5
    assert stepping()["digest"] == int(env.digest()[:12], 16)


def test_an_episode_begins_anew_before_many_agents_are_gone():
    stepping = Stepping(World("aircraft_v0", "goal", {"n_agents": 20}), "serial", 1, 3)
    digests = []
    for _ in range(2):
        stepping.steps = EPISODE
        digests.append(stepping()["digest"])
        assert stepping.env.live.sum() >= 18
    assert digests[0] == digests[1]


def test_rates_agree_with_the_latency():
    stepping = Stepping(PCS, "serial", 1, 0)
    stepping.steps = 3
    measured = stepping()
    assert measured["steps/s"] * measured["ms/step"] == pytest.approx(1000.0)
    assert measured["end-to-end steps/s"] < measured["steps/s"]


def test_events_are_those_of_the_steps_measured():
    stepping = Stepping(PCS, "serial", 1, 0)
    measured = stepping()
    events = 1e3 * measured["k events/s"] * 1e-3 * measured["ms/step"]
    assert events == pytest.approx(stepping.env.last_step_stats.events)


def worker(busy_s: float, outputs_s: float = 0.0) -> WorkerStats:
    return WorkerStats(busy_s=busy_s, outputs_s=outputs_s)


def test_workers_execute_for_shares_of_the_windows():
    class Env:
        threads, steps = 2, 0
        stats = iter(
            [
                StepStats(events=5, window_s=0.1, workers=(worker(0.09), worker(0.07, 0.02))),
                StepStats(events=5, window_s=0.3, workers=(worker(0.17), worker(0.12, 0.01))),
            ]
        )

        def step_arrays(self, actions):
            self.last_step_stats = next(self.stats)

        def digest(self):
            return "0" * 32

    stepping = Stepping.__new__(Stepping)
    stepping.env, stepping._policy, stepping.steps = Env(), lambda env: None, 2
    measured = stepping()
    # 0.26 and 0.16 of 0.4 s
    assert (measured["busiest %"], measured["idlest %"]) == (pytest.approx(65.0), pytest.approx(40.0))
    assert measured["variance"] == pytest.approx(12.5**2)


def test_threads_used_are_the_env_s():
    with ExitStack() as stack:
        auto, two = contest(PCS, [Contender(STPA), Contender("seer", 2)], 0, 1e-6, stack).values()
        assert auto()["threads used"] == auto.env.threads
        assert two()["threads used"] == 2


def test_long_steps_are_measured_one_at_a_time_and_short_ones_fill_the_time():
    steps = []
    for seconds in (1e-6, 0.05):
        with ExitStack() as stack:
            (only,) = contest(PCS, [Contender("serial")], 0, seconds, stack).values()
            steps.append(only.steps)
    assert steps[0] == 1
    assert steps[1] > 10


def test_envs_are_closed_with_the_stack():
    with ExitStack() as stack:
        (only,) = contest(PCS, [Contender("serial")], 0, 1e-6, stack).values()
    with pytest.raises(SeerError, match="closed"):
        only.env.step_arrays(np.zeros((16, 3)))


def test_other_arguments_leave_the_rest():
    world = World("pcs_v0", "guard", {"n_agents": 16, "complexity": 1}).but(complexity=5)
    assert world == World("pcs_v0", "guard", {"n_agents": 16, "complexity": 5})
