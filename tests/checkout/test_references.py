"""References in docstrings and links between Markdown files lead somewhere, and broken ones are found."""

from __future__ import annotations

import pytest
from api_pages import broken_page_links
from references import Sources, anchors, broken_links, broken_references


@pytest.fixture(scope="module")
def sources():
    return Sources()


def test_all_references_of_the_project_lead_somewhere(sources):
    assert broken_references(sources) == []


def test_all_links_of_the_project_lead_somewhere():
    assert broken_links() == []


@pytest.mark.parametrize(
    "reference",
    [
        "SeerParallelEnv",
        "SeerParallelEnv.step",
        "SeerParallelEnv.digest",  # inherited
        "Space.sample",
        "seer_env.make",
        "seer_env.env.SeerParallelEnv",
        "runtime.engine.SCHEDULERS",
        "engine.SCHEDULERS",
        "env.last_step_stats",
        "numba.set_num_threads",
        "pettingzoo.utils.parallel_to_aec",
        "runtime/PROTOCOL.md",
        "ValueError",
        "Box",
        "me.x",  # code
        "[M, D]",
        "progress.csv",
    ],
)
def test_what_is_there_is_found(sources, reference):
    assert sources.has(reference)


@pytest.mark.parametrize(
    "reference",
    [
        "SeerParallelEnw",
        "SeerParallelEnv.steppe",
        "SeerParallelEnw.step",
        "Space.simple",
        "seer_env.makes",
        "runtime.engine.SCHEDULER",
        "env.last_step_stat",
        "numba.set_num_thread",
        "pettingzoo.utils.parallel_to_aecs",
        "runtime/PROTOKOLL.md",
        "no_such_module.py",
    ],
)
def test_what_is_not_there_is_broken(sources, reference):
    assert not sources.has(reference)


def test_headings_are_linked_as_github_does():
    text = "# What is public?\n\ntext\n\n## A `name`, and more\n"
    assert anchors(text) == {"what-is-public", "a-name-and-more"}


def test_a_page_that_links_to_nowhere_is_found(tmp_path):
    (tmp_path / "one.html").write_text('<a href="two.html#there">x</a> <a href="two.html#gone">x</a>')
    (tmp_path / "two.html").write_text('<p id="there">x</p> <a href="three.html">x</a> <a href="#up">x</a>')
    assert broken_page_links(tmp_path) == ["one.html: two.html#gone", "two.html: #up", "two.html: three.html"]
