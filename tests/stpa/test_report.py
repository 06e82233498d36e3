"""What a report says, shows and draws."""

from __future__ import annotations

import dataclasses
import json

import pytest
from stpa.stages import MACHINE, StageEngine, reset, stage, step
from worlds import Ring

from seer_env.env import SeerParallelEnv
from seer_env.stpa.report import COLUMNS, StpaReport, Timing, asked, machine_line, timings, why
from seer_env.stpa.search import TIE, UNSHARED_S, GuardedSearch


@pytest.fixture
def report(monkeypatch, tmp_path) -> StpaReport:
    """Of a world whose choice was rehearsed, and refined on first steps."""
    monkeypatch.setenv("SEER_ENV_CACHE_DIR", str(tmp_path))
    engine = StageEngine({1: 1.9e-3, 2: 1.03e-3, 3: 1e-3, 4: 3e-3})
    made = stage(monkeypatch, engine)
    reset(made)
    step(made, engine, 300)
    return made.report()


def test_every_candidate_measured_has_a_row(report):
    rows = report.rows()
    assert {row[1] for row in rows if row[0] == "rehearsed"} == {"1", "2", "3", "4"}
    assert {row[1] for row in rows if row[0] == "episode"} >= {"2", "3"}
    assert all(len(row) == len(COLUMNS) for row in rows)
    assert [row[2] for row in rows if row[1] == "1"] == ["serial"] * sum(row[1] == "1" for row in rows)


def test_timings_are_what_was_measured():
    search = GuardedSearch((1, 2), 1)
    while not search.finished:
        search.stepped({1: 2e-3, 2: 1e-3}[search.threads])
    one, two = timings(search)
    assert (one.threads, one.low_s, one.median_s, one.high_s) == (1, *[pytest.approx(2e-3)] * 3)
    assert two.median_s == pytest.approx(1e-3)


def test_the_text_holds_all_of_it(report):
    text = repr(report)
    for part in ("threads of lamps", "4 effective CPUs", "1 2 3 4", "preflight", "rehearsed", "episode"):
        assert part in text


def test_the_html_folds_a_long_table_of_timings():
    some = tuple(Timing(count, 1, 1e-3, 1e-3, 1e-3) for count in range(1, 14))
    assert "<details>" in StpaReport("world", 1, rehearsed=some)._repr_html_()
    assert "<details>" not in StpaReport("world", 1, rehearsed=some[:12])._repr_html_()


def test_the_html_escapes_names():
    page = asked("<b>", 2, "a & b")._repr_html_()
    assert "&lt;b&gt;" in page
    assert "a &amp; b" in page


def test_figures_are_json(report):
    figures = json.loads(json.dumps(report.figures(), allow_nan=False))
    assert figures["threads"] == 3
    assert [d["source"] for d in figures["decisions"]] == ["preflight", "steps"]


def test_the_picture_shows_each_candidate_and_the_choice(report):
    axes = report.plot().axes[0]
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels[-2:] == ["rehearsed steps", "steps of the episode"] or "in force: 3" in labels
    drawn = {float(x) for container in axes.containers for x in container.lines[0].get_xdata()}
    assert drawn == {1.0, 2.0, 3.0, 4.0}


def test_a_report_without_measurements_can_be_drawn():
    assert asked("world", 2, "asked for").plot().axes


def told(favoured: float = 1.0, **seconds: float) -> GuardedSearch:
    curve = {int(name[1:]): value for name, value in seconds.items()}
    search = GuardedSearch(sorted(curve), 1, favoured=favoured)
    while not search.finished:
        search.stepped(curve[search.threads])
    return search


def test_why_the_fastest_was_chosen():
    assert why(told(t1=3e-3, t2=1e-3), "steps") == "1.000 ms per step in steps; 1 took 3.00 times as long"


def test_why_a_tie_went_to_fewer():
    said = why(told(t1=1e-3, t2=1e-3 / (1.0 + 0.5 * TIE)), "steps")
    assert "ties go to fewer" in said
    assert said.startswith("1.000 ms")


def test_why_a_tie_went_to_the_prediction():
    said = why(told(t1=1e-3, t2=1e-3 * (1.0 + 0.5 * TIE), favoured=1.8), "steps")
    assert "1 gain 1.0%, less than 2%, and ties go to the predicted 1.8" in said


def test_why_short_steps_stay_on_one_thread():
    search = GuardedSearch((1, 2), 2)
    while not search.finished:
        search.stepped({1: 0.9 * UNSHARED_S, 2: 0.5 * UNSHARED_S}[search.threads])
    assert search.choice == 1
    assert why(search, "steps") == "0.018 ms per step in steps: too short to share"


def test_why_a_search_kept_its_start():
    search = GuardedSearch((1, 2), 2, keep=0.05)
    while not search.finished:
        search.stepped({1: 1e-3, 2: 1.03e-3}[search.threads])
    gain = "1 gain 3.0% on its better blocks, less than the 5% that fewer have to"
    assert why(search, "steps") == f"1.030 ms per step in steps; {gain}"


def test_why_nothing_was_compared():
    assert "nothing to compare" in why(GuardedSearch((1, 2), 1), "0 steps")


def test_the_machine_in_a_line():
    assert machine_line(MACHINE).startswith("4 effective CPUs: 4 in the affinity mask on 4 cores, no quota")


def test_a_machine_of_one_core_in_a_line():
    alone = dataclasses.replace(MACHINE, cpus=1, affinity=1, cores=1)
    assert machine_line(alone).startswith("1 effective CPU: 1 in the affinity mask on 1 core, no quota")


def test_an_env_reports_what_was_asked_for():
    env = SeerParallelEnv(Ring(), threads=3)
    assert env.stpa_report.threads == 3
    assert "as asked for" in repr(env.stpa_report)
