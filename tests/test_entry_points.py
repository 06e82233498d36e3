"""Worlds by `module:attribute` and `file.py:attribute`."""

from __future__ import annotations

import sys

import pytest
from worlds import Ring

import seer_env
from seer_env.entry_points import EntryPointError, load


@pytest.fixture(autouse=True)
def imports(monkeypatch):
    """Modules and folders of one test only."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_a_module_and_a_name_in_it():
    assert load("worlds:Ring") is Ring


def test_make_takes_an_entry_point_and_the_worlds_arguments():
    env = seer_env.make("worlds:Ring", n_agents=3, patience=4, scheduler="python")
    assert len(env.possible_agents) == 3
    assert env.model.params["patience"] == 4


def test_a_file_may_import_its_neighbours(tmp_path):
    (tmp_path / "part_of_it.py").write_text("WORD = 'hello'\n")
    (tmp_path / "made_here.py").write_text("from part_of_it import WORD\n")
    assert load(f"{tmp_path}/made_here.py:WORD") == "hello"


def test_a_name_that_is_not_there_lists_the_models_that_are():
    with pytest.raises(EntryPointError, match=r"no 'Rings'; its models are .*Ring, Lamps"):
        load("worlds:Rings")


def test_a_module_without_models_says_so(tmp_path):
    (tmp_path / "made_empty.py").write_text("")
    with pytest.raises(EntryPointError, match="defines no EventModel"):
        load(f"{tmp_path}/made_empty.py:World")


@pytest.mark.parametrize(
    ("entry_point", "message"),
    [
        ("no_such_module:World", "no module 'no_such_module'"),
        ("seer_env.no_such_part:World", "no module 'seer_env.no_such_part'"),
        ("no/such/file.py:World", "no file .*no/such/file.py"),
        (":World", "expected module:Class"),
        (".relative:World", "expected module:Class"),
    ],
)
def test_a_place_that_is_not_there_is_named(entry_point, message):
    with pytest.raises(EntryPointError, match=message):
        load(entry_point)


def test_a_module_that_imports_what_is_missing_keeps_its_own_error(tmp_path):
    (tmp_path / "made_broken.py").write_text("import no_such_dependency\n")
    with pytest.raises(ModuleNotFoundError, match="no_such_dependency") as caught:
        load(f"{tmp_path}/made_broken.py:World")
    assert not isinstance(caught.value, EntryPointError)


@pytest.mark.parametrize("name", ["json", "sys"])
def test_a_file_with_the_name_of_another_module_is_refused_and_hides_nothing(tmp_path, name):
    (tmp_path / f"{name}.py").write_text("World = 1\n")
    before = list(sys.path)
    with pytest.raises(EntryPointError, match=f"another module '{name}'"):
        load(f"{tmp_path}/{name}.py:World")
    assert sys.path == before


def test_a_file_whose_name_has_dots_is_refused(tmp_path):
    (tmp_path / "made.v2.py").write_text("World = 1\n")
    with pytest.raises(EntryPointError, match="has no dots; rename"):
        load(f"{tmp_path}/made.v2.py:World")


def test_what_cannot_make_a_model_is_refused():
    with pytest.raises(TypeError, match="name an EventModel class"):
        seer_env.make("worlds:BOUND")
