"""`seer-env bench all` runs every experiment and joins the results."""

from __future__ import annotations

import pytest

from seer_env.bench import all as all_module
from seer_env.bench.all import All
from seer_env.bench.experiment import Experiment
from seer_env.bench.names import BENCHES, EXPERIMENTS, Place, load_bench
from seer_env.commands.output import CommandError


def test_all_runs_every_experiment_and_writes_the_report(counting, tmp_path, monkeypatch):
    monkeypatch.setattr(all_module, "EXPERIMENTS", {"one": Place("", "", "first"), "two": Place("", "", "")})
    monkeypatch.setattr(all_module, "load_bench", lambda name: counting)
    assert All(quick=True, only=("one", "two"), output=tmp_path).main() == 0
    assert {p.name for p in tmp_path.iterdir()} == {"one-quick", "two-quick", "report.html"}


def test_an_unknown_experiment_is_refused_with_the_known_ones(tmp_path):
    with pytest.raises(CommandError, match=r"no experiment 'nonsense'.*phold"):
        All(only=("nonsense",), output=tmp_path).main()


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_is_one_and_knows_its_name(name):
    kind = load_bench(name)
    assert issubclass(kind, Experiment)
    assert kind.name == name


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_lists_groups_with_names_of_their_own(name):
    groups = [group.name for group in load_bench(name)(quick=True).groups()]
    assert groups
    assert len(set(groups)) == len(groups)


@pytest.mark.parametrize("name", BENCHES)
def test_every_benchmark_says_what_it_shows(name):
    assert BENCHES[name].about
    assert load_bench(name).__doc__
