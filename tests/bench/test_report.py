"""Tables and progress bars of benchmarks."""

from __future__ import annotations

from seer_env.bench.report import print_table, progress_bar


def test_a_pipe_does_not_cut_figures(capsys):
    figures = [f"{i}" * 11 for i in range(1, 10)]
    print_table("wide", [f"column {i}" for i in range(9)], [figures])
    shown = capsys.readouterr().out
    assert all(figure in shown for figure in figures)


def test_the_note_stands_below_the_table(capsys):
    print_table("title", ["a"], [["1"]], note="measured on a Tuesday")
    shown = capsys.readouterr().out
    assert shown.index("title") < shown.index("1") < shown.index("measured on a Tuesday")


def test_the_bar_leaves_stdout_to_the_results(capsys):
    with progress_bar() as progress:
        progress.update(progress.add_task("row A", total=2), advance=1, refresh=True)
    assert capsys.readouterr().out == ""


def test_no_thread_draws_the_bar_beside_a_measurement():
    with progress_bar() as progress:
        assert progress.live._refresh_thread is None
