"""The HTML page of all results."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest

from seer_env.bench.page import Report
from seer_env.commands.output import CommandError


class Balanced(HTMLParser):
    """Fails at a tag that closes another than the one that is open."""

    def __init__(self):
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture
def page(counting, tmp_path) -> str:
    counting(repeats=2, output=tmp_path / "first").main()
    counting(repeats=2, size=4, output=tmp_path / "second").main()
    assert Report(tmp_path).main() == 0
    return (tmp_path / "report.html").read_text()


def test_the_page_is_well_formed(page):
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []


def test_the_page_joins_what_is_there(page):
    assert page.count("<h2>") == 2
    assert page.count("data:image/png;base64,") == 2
    assert "2 of 2 claims hold" in page


def test_the_page_needs_no_other_file(page):
    assert "src='http" not in page
    assert "href" not in page


def test_a_claim_that_does_not_hold_is_shown_as_such(counting, tmp_path):
    counting(repeats=1, output=tmp_path / "c").main()
    record = tmp_path / "c" / "experiment.json"
    told = json.loads(record.read_text())
    told["claims"][0]["holds"] = False
    record.write_text(json.dumps(told))
    Report(tmp_path).main()
    page = (tmp_path / "report.html").read_text()
    assert "0 of 1 claims hold" in page
    assert "<td class='no'>no</td>" in page


def test_an_interrupted_experiment_says_so(counting, tmp_path, monkeypatch):
    monkeypatch.setattr(counting, "interrupt_at", 2)
    with pytest.raises(KeyboardInterrupt):
        counting(repeats=2, output=tmp_path / "c").main()
    Report(tmp_path).main()
    assert "Interrupted" in (tmp_path / "report.html").read_text()


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(CommandError, match="no results"):
        Report(tmp_path).main()
