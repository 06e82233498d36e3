"""`seer-env bench phold`: what it runs, prints, writes and returns."""

from __future__ import annotations

import json

import pytest

from seer_env.bench import phold
from seer_env.bench.phold import ROWS, Args, main
from seer_env.commands.output import CommandError


@pytest.fixture
def small(monkeypatch):
    """One row that takes no time."""
    monkeypatch.setattr(phold, "ROWS", {"A": phold.Row(20, 2, 0, 0.1, 0.9, 0.5, 5.0)})


def run(path, **options) -> list[dict]:
    options = {"rows": ("A",), "schedulers": ("heap", "python"), "repeats": 2, "json": path, **options}
    assert main(Args(**options)) == 0
    return json.loads(path.read_text())


def test_rows_have_the_mean_delay_they_state():
    for name, row in ROWS.items():
        mean = 1.0 if name.isalpha() else row.lookahead + 1.0
        assert row.lookahead + row.mean == pytest.approx(mean), name


def test_a_window_of_a_full_row_has_enough_work_to_time():
    for name, row in ROWS.items():
        events = row.n * row.population * row.dt / (row.lookahead + row.mean)
        assert events * (80 + 2.4 * row.work) > 5e6, name  # nanoseconds


def test_json_lists_row_scheduler_threads_time_events_and_digest(small, tmp_path):
    results = run(tmp_path / "r.json")
    assert [list(r) for r in results] == [
        ["row", "scheduler", "threads", "ns_per_event", "events", "digest"] for _ in range(2)
    ]


def test_contenders_agree_on_events_and_digest(small, tmp_path):
    heap, python = run(tmp_path / "r.json")
    assert (heap["events"], heap["digest"]) == (python["events"], python["digest"])


def test_compiled_contenders_agree_with_the_heap_to_the_byte(small, tmp_path):
    contenders = ("heap", "serial", "seer", "ross-t", "ross-t:round-robin", "nbse")
    results = run(tmp_path / "r.json", schedulers=contenders, threads=(1, 2), repeats=1)
    assert len({(r["events"], r["digest"]) for r in results}) == 1


def test_events_are_those_of_all_windows(small, tmp_path):
    twice, once = run(tmp_path / "2.json", repeats=2)[0], run(tmp_path / "1.json", repeats=1)[0]
    # 40 events, one per unit of time each: 5 units per window, the warm-up included
    assert twice["events"] == pytest.approx(600, rel=0.2)
    assert once["events"] == pytest.approx(400, rel=0.2)


def test_quick_shortens_the_windows(small, tmp_path):
    quick = run(tmp_path / "q.json", quick=True)[0]
    assert quick["events"] < run(tmp_path / "r.json")[0]["events"] / 5


def test_parallel_schedulers_run_at_every_thread_count_and_the_others_at_one():
    contenders = phold._contenders(Args(schedulers=("heap", "serial", "seer", "nbse"), threads=(1, 4)))
    assert contenders == [("heap", 1), ("serial", 1), *((s, t) for s in ("seer", "nbse") for t in (1, 4))]


def test_disagreement_is_reported_and_fails(small, monkeypatch, capsys):
    monkeypatch.setattr(phold.World, "digest", lambda world: str(id(world)))
    assert main(Args(rows=("A",), schedulers=("heap", "python"), repeats=1)) == 1
    assert "Digests differ on A" in capsys.readouterr().out


def test_the_table_shows_the_ratio_to_the_heap(small, capsys):
    main(Args(rows=("A",), schedulers=("heap", "python"), repeats=1))
    table = capsys.readouterr().out
    assert "time / heap" in table
    assert "1.00" in table


@pytest.mark.parametrize(
    ("options", "said"), [({"rows": ("Z",)}, "--rows: no row 'Z'"), ({"repeats": 0}, "--repeats 0")]
)
def test_impossible_options_are_refused_by_name(options, said):
    with pytest.raises(CommandError, match=said):
        main(Args(**options))


def test_a_json_file_without_a_folder_is_refused_before_any_run(tmp_path):
    with pytest.raises(CommandError, match="no folder"):
        main(Args(json=tmp_path / "missing" / "r.json"))
