"""What running an experiment measures, writes, prints, and keeps when it is interrupted."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import pytest

from seer_env.bench.folder import FILES
from seer_env.commands.output import CommandError


def rows(folder, name="measurements.csv") -> list[dict]:
    with (folder / name).open() as file:
        return list(csv.DictReader(file))


def values(folder, group, contender) -> list[float]:
    return [
        float(r["value"])
        for r in rows(folder)
        if (r["group"], r["contender"], r["quantity"]) == (group, contender, "ms")
    ]


def test_contenders_are_measured_in_turn_and_every_other_turn_in_reverse(counting, tmp_path):
    counting(repeats=3, output=tmp_path / "c").main()
    once = ["slow", "fast", "fast", "slow", "slow", "fast", "closed"]
    assert counting.order == once + once


def test_every_value_is_in_the_folder(counting, tmp_path):
    counting(repeats=3, output=tmp_path / "c").main()
    assert sorted(p.name for p in (tmp_path / "c").iterdir()) == sorted(FILES)
    assert values(tmp_path / "c", "a", "slow") == [10.0, 20.0, 30.0]
    assert values(tmp_path / "c", "b", "fast") == [5.0, 10.0, 15.0]


def test_the_summary_holds_medians_and_what_follows_from_them(counting, tmp_path):
    counting(repeats=3, output=tmp_path / "c").main()
    found = {(r["group"], r["contender"], r["quantity"]): r for r in rows(tmp_path / "c", "summary.csv")}
    assert float(found["a", "fast", "ms"]["median"]) == 10.0
    assert found["a", "fast", "ms"]["facts"] == "size=3"
    assert float(found["b", "fast", "gain"]["median"]) == 2.0
    assert float(found["b", "second core", "worth"]["median"]) == 2.0


def test_the_record_tells_options_machine_and_claims(counting, tmp_path):
    counting(repeats=1, size=5, output=tmp_path / "c").main()
    record = json.loads((tmp_path / "c" / "experiment.json").read_text())
    assert record["options"]["size"] == 5
    assert record["claims"][0]["holds"] is True
    assert record["effective_cpus"] >= 1
    assert record["packages"]["numba"]
    assert record["interrupted"] is False


def test_the_picture_is_a_png(counting, tmp_path):
    counting(repeats=1, output=tmp_path / "c").main()
    assert (tmp_path / "c" / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_the_table_shows_medians_intervals_gains_and_claims(counting, tmp_path, capsys):
    counting(repeats=3, output=tmp_path / "c").main()
    printed = capsys.readouterr().out
    assert "20.0 [10.0, 30.0]" in printed
    assert "fast is twice as fast" in printed
    assert "at least 2" in printed


def test_an_interrupted_run_goes_on_where_it_was(counting, tmp_path, monkeypatch):
    monkeypatch.setattr(counting, "interrupt_at", 5)  # the second of the third turn's measurements
    with pytest.raises(KeyboardInterrupt):
        counting(repeats=3, output=tmp_path / "c").main()
    record = json.loads((tmp_path / "c" / "experiment.json").read_text())
    assert record["interrupted"] is True
    assert values(tmp_path / "c", "a", "slow") == [10.0, 20.0]
    monkeypatch.setattr(counting, "interrupt_at", None)
    counting.order.clear()
    counting(repeats=3, output=tmp_path / "c").main()
    assert counting.order[:3] == ["slow", "fast", "closed"]  # the third turn, of contenders made anew
    assert [r["turn"] for r in rows(tmp_path / "c") if r["group"] == "a"] == ["0"] * 5 + ["1"] * 5 + ["2"] * 5


def test_a_turn_that_was_cut_off_while_written_is_measured_again(counting, tmp_path):
    counting(repeats=2, output=tmp_path / "c").main()
    file = tmp_path / "c" / "measurements.csv"
    file.write_text(file.read_text()[:-20])
    counting(repeats=2, output=tmp_path / "c").main()
    assert [r["turn"] for r in rows(tmp_path / "c") if r["group"] == "b"] == ["0"] * 5 + ["1"] * 5


def test_a_complete_run_is_shown_again_and_not_measured(counting, tmp_path, capsys):
    counting(repeats=2, output=tmp_path / "c").main()
    first = capsys.readouterr().out
    counting.order.clear()
    counting(repeats=2, output=tmp_path / "c").main()
    assert counting.order == []
    assert capsys.readouterr().out == first


def test_results_of_other_options_are_not_mixed(counting, tmp_path):
    counting(repeats=1, output=tmp_path / "c").main()
    with pytest.raises(CommandError, match=r"other options \(size\).*--restart"):
        counting(repeats=1, size=4, output=tmp_path / "c").main()


def test_restart_measures_afresh(counting, tmp_path):
    counting(repeats=1, output=tmp_path / "c").main()
    counting(repeats=1, size=4, restart=True, output=tmp_path / "c").main()
    assert len(values(tmp_path / "c", "a", "slow")) == 1
    assert rows(tmp_path / "c", "summary.csv")[0]["facts"] == "size=4"


def test_a_folder_of_other_things_is_left_alone(counting, tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(CommandError, match="other things in it"):
        counting(repeats=1, restart=True, output=tmp_path).main()
    assert (tmp_path / "thesis.txt").read_text() == "precious"


def test_a_damaged_record_is_told(counting, tmp_path):
    counting(repeats=1, output=tmp_path / "c").main()
    (tmp_path / "c" / "experiment.json").write_text("{")
    with pytest.raises(CommandError, match=r"damaged.*--restart"):
        counting(repeats=1, output=tmp_path / "c").main()


@pytest.fixture
def preparing(counting):
    """Counting, of which each group finds out first how often anything was prepared."""

    class Preparing(counting):
        asked, given = 0, []

        def groups(self):
            return [replace(group, prepare=self.prepare_, make=self.make_given) for group in super().groups()]

        def prepare_(self):
            type(self).asked += 1
            return {"asked": self.asked, "half": 0.5}

        def make_given(self, stack, found):
            self.given.append(found)
            return self.make(stack)

    return Preparing


def test_a_preparation_is_asked_once_per_group_and_given_to_the_contenders(preparing, tmp_path):
    preparing(repeats=2, output=tmp_path / "c").main()
    assert preparing.given == [{"asked": 1.0, "half": 0.5}, {"asked": 2.0, "half": 0.5}]


def test_an_interrupted_run_goes_on_with_what_was_prepared(preparing, tmp_path, monkeypatch):
    monkeypatch.setattr(preparing, "interrupt_at", 0)
    with pytest.raises(KeyboardInterrupt):
        preparing(repeats=2, output=tmp_path / "c").main()
    monkeypatch.setattr(preparing, "interrupt_at", None)
    preparing(repeats=2, output=tmp_path / "c").main()
    assert [found["asked"] for found in preparing.given] == [1.0, 1.0, 2.0]


def test_what_was_prepared_is_shown_as_facts(preparing, tmp_path, capsys):
    preparing(repeats=1, output=tmp_path / "c").main()
    assert {"group", "size", "asked", "half"} <= set(capsys.readouterr().out.split())
    assert rows(tmp_path / "c", "summary.csv")[0]["facts"] == "size=3; asked=1; half=0.5"


def test_disagreement_is_reported_and_fails(counting, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(counting, "digests", (7, 8))
    assert counting(repeats=1, output=tmp_path / "c").main() == 1
    assert "Digests differ on a, b" in capsys.readouterr().out


def test_agreement_succeeds(counting, tmp_path):
    assert counting(repeats=1, output=tmp_path / "c").main() == 0


@pytest.mark.parametrize(("option", "value"), [("repeats", 0), ("seed", -1), ("seed", 1 << 63)])
def test_options_out_of_range_are_refused_by_name(counting, option, value):
    with pytest.raises(CommandError, match=f"--{option} {value}"):
        counting(**{option: value})


def test_quick_takes_two_turns_into_a_folder_of_its_own(counting):
    quick = counting(quick=True)
    assert quick.turns == 2
    assert quick.folder.name == "counting-quick"
