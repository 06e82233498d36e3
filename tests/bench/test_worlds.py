"""`seer-env bench worlds`: who is measured, in what, and what is promised."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from seer_env.bench import magent2, worlds
from seer_env.bench.copies import CASES
from seer_env.bench.players import ArrayPlayer
from seer_env.bench.results import Measurement, Results
from seer_env.bench.worlds import WorldsExperiment
from seer_env.commands.output import CommandError

QUICK = WorldsExperiment(quick=True)


@pytest.fixture
def stack():
    with ExitStack() as stack:
        yield stack


def rates(group: str, **steps: float) -> Results:
    """Contenders that make these million agent-steps per second, a thousand in a step."""
    return Results(
        Measurement(group, name, 1, 0, quantity, value)
        for name, rate in steps.items()
        for quantity, value in (("M agent-steps/s", rate), ("ms/step", 1.0 / rate))
    )


def test_a_measurement_holds_consistent_rates(stack):
    contenders = QUICK.play("flock_v0", 50, stack)
    assert [c.name for c in contenders] == ["heap", "arrays", "dicts", "arrays", "dicts"]
    for measure in contenders.values():
        measured = measure()
        assert measured["M agent-steps/s"] * measured["ms/step"] == pytest.approx(0.05)
        assert measured["M events/s"] == pytest.approx(measured["M agent-steps/s"]), "only actions are events"


def test_without_magent2_battle_is_measured_and_a_note_says_why_it_stands_alone(monkeypatch, stack):
    monkeypatch.setattr(worlds, "why_absent", lambda: "it is elsewhere")
    assert ("MAgent2", 1) not in QUICK.play("battle_v0", 20, stack)
    assert QUICK.notes(Results()) == ["MAgent2 was left out: it is elsewhere"]


def test_magent2s_absence_names_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr(magent2, "MODULE", "no_such_module")
    assert "pip install magent2==0.3.4 pygame" in magent2.why_absent()
    with pytest.raises(CommandError, match="pip install magent2"):
        magent2.MAgent2Battle(200)


@pytest.mark.parametrize("n", [200, 400, 800, 1600])
def test_magent2_is_measured_on_our_map_with_as_many_agents(n):
    pytest.importorskip("magent2", reason="magent2 is optional")
    theirs = magent2.MAgent2Battle(n)
    theirs.begin()
    ours = ArrayPlayer("battle_v0", threads=1, **magent2.equal_terms(n))
    assert theirs.living == theirs.agents == ours.agents
    assert ours.agents == pytest.approx(n, rel=0.02)
    theirs.choose()
    theirs.step()
    theirs.close()
    ours.close()


def test_ours_must_be_as_fast_as_the_heap_and_several_times_magent2():
    group = "battle_v0, 200 agents"
    results = rates(group, heap=4.0, arrays=6.0, dicts=2.0, MAgent2=1.0)
    claims = {claim.text.removeprefix(f"{group}: "): claim for claim in QUICK.claims(results)}
    assert claims["times as fast as heap"].measured == pytest.approx(1.5)
    assert claims["by arrays, times MAgent2"][1:] == (6.0, "at least", 5.0)
    assert claims["by dicts, times MAgent2"][1:] == (2.0, "at least", 3.0)


def test_copies_are_compared_with_as_many_envs(stack):
    together = QUICK.copy(CASES[0], stack)
    assert [c.name for c in together] == ["separate envs", "copies"]
    assert all(measure()["ms/step"] > 0.0 for measure in together.values())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"worlds": ("chess_v0",)}, "no world 'chess_v0'"),
        ({"seconds": 0.0}, "--seconds 0.0"),
        ({"threads": (0,)}, "--threads 0"),
    ],
)
def test_an_option_out_of_its_range_is_named(arguments, message):
    with pytest.raises(CommandError, match=message):
        WorldsExperiment(**arguments).groups()
