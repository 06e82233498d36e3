"""`make test-compat`: its table is complete, and nothing that did not run counts as passed."""

from __future__ import annotations

import re

import pytest
from compat import consumers

README = (consumers.ROOT / "README.md").read_text(encoding="utf-8")
REPORT = '<testsuites><testsuite tests="3" failures="{}" errors="{}" skipped="{}"/></testsuites>'


def test_every_test_file_of_a_consumer_is_run():
    files = {path.stem.removeprefix("test_") for path in consumers.FOLDER.glob("test_*.py")}
    assert files == set(consumers.CONSUMERS)


def test_every_consumer_has_a_dependency_group():
    project = (consumers.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert set(re.findall(r"^compat-(\w+) = ", project, re.MULTILINE)) == set(consumers.CONSUMERS)


@pytest.mark.parametrize("consumer", consumers.CONSUMERS)
def test_the_readme_says_what_is_run(consumer):
    assert f"| {consumers.what_runs(consumer)} |" in README


def test_a_report_without_failures_passes():
    assert consumers.outcome(REPORT.format(0, 0, 0)) == ("3 passed", True)


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((1, 0, 0), "2 passed, 1 failures"),
        ((0, 1, 0), "2 passed, 1 errors"),
        ((0, 0, 1), "2 passed, 1 skipped"),
    ],
)
def test_a_report_with_anything_else_does_not(counts, words):
    assert consumers.outcome(REPORT.format(*counts)) == (words, False)


def test_a_report_of_no_test_does_not_pass():
    assert consumers.outcome('<testsuites><testsuite tests="0"/></testsuites>') == ("0 passed", False)


def test_an_unknown_consumer_is_an_error_that_lists_the_known():
    with pytest.raises(SystemExit, match=r"no consumer \['gym'\].*'torchrl'"):
        consumers.main(["gym"])


def test_the_reason_why_pip_failed_is_in_the_table():
    why = "ERROR: Cannot install a and b"
    assert consumers.first_error(f"WARNING: x\n{why}\nERROR: ResolutionImpossible") == why
    row = consumers.Row("torchrl", "", "all", why, False)
    assert consumers.table([row]).splitlines()[1].endswith(f"FAILED: {why}")
