"""`seer-env bench regret`: what it runs, how it scores, what it promises."""

from __future__ import annotations

import numpy as np
import pytest
from made_up import verdicts

from seer_env.bench import regret
from seer_env.bench.experiment import Contender
from seer_env.bench.gossip import Gossip
from seer_env.bench.regret import RegretExperiment
from seer_env.bench.results import Measurement, Results
from seer_env.bench.stepping import stpa
from seer_env.commands.output import CommandError
from seer_env.runtime.engine import make_engine

SERIAL, CORES = Contender("serial", 1), Contender("seer", 2)


@pytest.fixture(autouse=True)
def two_candidates(monkeypatch):
    monkeypatch.setattr(regret, "ladder", lambda machine: (1, 2))


def results(**times: list[float]) -> Results:
    """Turns of one group: milliseconds per step of `serial`, `cores` and `chosen`."""
    contenders = {"serial": SERIAL, "cores": CORES, "chosen": stpa()}
    return Results(
        Measurement("world", *contenders[name], turn, "ms/step", ms)
        for name, values in times.items()
        for turn, ms in enumerate(values)
    )


def test_there_are_at_least_forty_configurations_all_different():
    groups = RegretExperiment().groups()
    assert len({group.name for group in groups}) == len(groups) >= 40


def test_halves_share_no_turn():
    chooses, scores = RegretExperiment().halves(results(serial=[1.0] * 9), "world")
    assert sorted(chooses + scores) == list(range(9))
    assert abs(len(chooses) - len(scores)) <= 1


def test_the_best_is_chosen_on_one_half_and_scored_on_the_other():
    experiment = RegretExperiment()
    chooses, scores = experiment.halves(results(serial=[1.0] * 8), "world")
    serial, cores, chosen = (np.empty(8) for _ in range(3))
    serial[chooses], cores[chooses], chosen[chooses] = 1.0, 2.0, 9.0
    serial[scores], cores[scores], chosen[scores] = 4.0, 3.0, 4.4
    found = results(serial=list(serial), cores=list(cores), chosen=list(chosen))
    assert experiment.best(found, "world") == SERIAL
    assert experiment.beside(found, "world", SERIAL) == pytest.approx(10.0)


@pytest.mark.parametrize(
    ("chosen", "holds"),
    [
        (1.00, [False, True, True, True, True]),
        (1.04, [False, True, True, True, True]),
        (1.08, [False, False, True, False, True]),
        (1.20, [False, False, False, False, True]),
    ],
)
def test_what_is_promised(chosen, holds):
    found = results(serial=[1.0] * 4, cores=[2.0] * 4, chosen=[chosen] * 4)
    assert [held for _, held in verdicts(list(RegretExperiment().claims(found)))] == holds


def test_one_measurement_cannot_choose_and_score():
    with pytest.raises(CommandError, match="--repeats 1"):
        RegretExperiment(repeats=1).groups()


def test_a_small_one_runs_to_its_end(tmp_path, monkeypatch):
    few = [regret.World(regret.GOSSIP, "random", {"n_agents": 30})]
    monkeypatch.setattr(regret, "worlds", lambda: few)
    assert RegretExperiment(repeats=2, seconds=0.002, output=tmp_path / "regret").main() == 0


def gossip(actions: float, **arguments: float):
    """State of a world of gossip behind ten steps in which everyone acts alike."""
    engine = make_engine(Gossip(50, **arguments), "serial")
    engine.reset(3)
    for _ in range(10):
        engine.step(np.full((50, 1), actions), np.ones(50, bool))
    return engine


def test_who_keeps_quiet_is_not_heard():
    engine = gossip(0.0)
    assert engine.state["heard"].sum() == 0
    assert (engine.state["newest"] <= 0.0).all()


def test_news_are_passed_on_as_often_as_there_are_hops():
    # All news of the first seven steps have made their two hops by the tenth: each is heard three times.
    engine = make_engine(Gossip(50, hops=2, lookahead=0.5), "serial")
    engine.reset(3)
    for step in range(30):
        engine.step(np.full((50, 1), 1.0 if step < 7 else 0.0), np.ones(50, bool))
    assert engine.state["heard"].sum() == 3 * 7 * 50


def test_gossip_is_the_same_under_every_scheduler():
    digests = set()
    for scheduler, threads in (("python", 1), ("serial", 1), ("seer", 2), ("seer", 3)):
        engine = make_engine(Gossip(200, work=10, lookahead=0.2), scheduler, threads)
        engine.reset(1)
        for k in range(5):
            engine.step(np.full((200, 1), float(k % 2)), np.ones(200, bool))
        digests.add(engine.digest())
    assert len(digests) == 1
