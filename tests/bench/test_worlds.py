"""`seer-env bench worlds`: what its table and its JSON hold."""

from __future__ import annotations

import json

import pytest

from seer_env.bench import magent2, worlds
from seer_env.bench.players import ArrayPlayer
from seer_env.bench.worlds import Args, main
from seer_env.commands.output import CommandError


def quick(**arguments):
    return Args(threads=(1,), copies=False, quick=True, **arguments)


def test_a_row_per_api_with_consistent_rates(tmp_path):
    file = tmp_path / "rows.json"
    assert main(quick(worlds=("flock_v0",), agents=(50,), json=file)) == 0
    rows = json.loads(file.read_text())
    assert [(r["world"], r["agents"], r["api"], r["threads"]) for r in rows] == [
        ("flock_v0", 50, "arrays", 1),
        ("flock_v0", 50, "dicts", 1),
    ]
    for r in rows:
        assert r["agent_steps_per_s"] == pytest.approx(50 * r["steps_per_s"])
        assert r["events_per_s"] == pytest.approx(r["agent_steps_per_s"]), "a flock's only events are actions"
        assert r["ms_per_step"] * r["steps_per_s"] == pytest.approx(1e3)
        assert r["times_magent2"] is None


def test_without_magent2_battle_is_measured_and_the_table_says_why_it_stands_alone(monkeypatch, capsys):
    monkeypatch.setattr(worlds, "why_absent", lambda: "it is elsewhere")
    assert main(quick(worlds=("battle_v0",), agents=(20,))) == 0
    assert "MAgent2 was left out: it is elsewhere" in capsys.readouterr().out


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"worlds": ("chess_v0",)}, "no world 'chess_v0'"),
        ({"repeats": 0}, "must be positive"),
        ({"seconds": 0.0}, "must be positive"),
    ],
)
def test_an_option_out_of_its_range_is_named(arguments, message):
    with pytest.raises(CommandError, match=message):
        main(Args(**arguments))
