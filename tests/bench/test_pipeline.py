"""`seer-env bench pipeline`: who is compared with whom, and on how many threads."""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack

import pytest
from made_up import made_up

from seer_env.bench import pipeline
from seer_env.bench.experiment import Group
from seer_env.bench.pipeline import (
    AHEAD,
    BOTH,
    ONE_CORE,
    PLAIN,
    RING,
    SETTINGS,
    PipelineExperiment,
    best_plain,
)


def rates(**more):
    speeds = {ONE_CORE: 60.0, PLAIN[0]: 80.0, PLAIN[1]: 100.0, RING: 90.0, AHEAD: 150.0, BOTH: 120.0}
    return made_up({"g": {contender: {"decisions/s": speed} for contender, speed in speeds.items()}})


def test_the_claim_is_to_the_faster_plain_loop():
    results = rates()
    assert best_plain(results, "g") == PLAIN[1]
    (claim,) = PipelineExperiment().claims(results)
    assert (claim.measured, claim.relation, claim.limit) == (1.5, "at least", 1.25)


@pytest.mark.skipif(ONE_CORE not in SETTINGS, reason="threads cannot be bound to a core here")
def test_each_contender_is_beside_one_core_and_the_faster_plain_loop():
    beside = PipelineExperiment().derived(rates(), Group("g", lambda stack: {}), AHEAD)
    assert beside == {"to one core": 2.5, "to the plain loop": 1.5}


@pytest.mark.skipif(ONE_CORE not in SETTINGS, reason="threads cannot be bound to a core here")
def test_one_core_is_one_core(monkeypatch):
    pytest.importorskip("torch", reason="it trains")
    from seer_env.training import trainer

    before, during = os.sched_getaffinity(0), []
    set_up = trainer.set_up
    monkeypatch.setattr(
        trainer, "set_up", lambda config: (during.append(os.sched_getaffinity(0)), set_up(config))[1]
    )
    settings = {"env": "flock_v0", "world": {"n_agents": 12}, "copies": 2, "rollout_steps": 4, "hidden": (8,)}
    with ExitStack() as stack:
        pipeline.training(settings, ONE_CORE, 0.01, stack)
    assert during == [{min(before)}]
    assert os.sched_getaffinity(0) == before


def test_no_contender_has_more_threads_than_two_cores():
    for contender, settings in SETTINGS.items():
        rollouts = 1 if "staleness" in settings else 0  # of their own, beside training's
        assert contender.threads + rollouts <= 2


def test_it_says_what_is_missing(monkeypatch):
    monkeypatch.setattr(pipeline, "missing_packages", lambda: 'training needs torch: pip install "..."')
    assert "training needs torch" in PipelineExperiment().missing()


@pytest.mark.parametrize("contender", [PLAIN[0], BOTH], ids=str)
def test_a_measurement_goes_on_with_the_run(contender):
    pytest.importorskip("torch", reason="it trains")
    settings = {"env": "flock_v0", "world": {"n_agents": 12}, "copies": 2, "rollout_steps": 4, "hidden": (8,)}
    before = threading.enumerate()
    with ExitStack() as stack:
        (measure,) = pipeline.training(settings, contender, 0.01, stack).values()
        for _ in range(2):
            found = measure()
            assert found.keys() == {"decisions/s", "rollouts, ms", "training, ms"}
            assert min(found.values()) > 0.0
    assert threading.enumerate() == before
