"""What is public: the table of docs/api.md, `__all__`, and a docstring for everything in it."""

from __future__ import annotations

import importlib
import inspect

import pytest
from api_pages import comment, public

import seer_env

PUBLIC = public()


def found(module, name):
    return getattr(importlib.import_module(module), name)


def documented(item):
    """Whether a class, function or property has a docstring of its own."""
    return bool((item.fget if isinstance(item, property) else item).__doc__)


def test_the_table_has_the_package_itself():
    assert len(PUBLIC) > 10
    assert "seer_env" in PUBLIC


@pytest.mark.parametrize("module", PUBLIC)
def test_the_table_has_what_all_has(module):
    names = importlib.import_module(module).__all__
    assert sorted(PUBLIC[module]) == sorted(names)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_has_a_docstring(module):
    bare = []
    for name in PUBLIC[module]:
        item = found(module, name)
        if inspect.isclass(item) and item.__module__.startswith("seer_env"):
            bare += [name] * (item.__doc__ is None)
            for member, value in vars(item).items():
                is_code = inspect.isfunction(value) or isinstance(value, property)
                if is_code and not member.startswith("_") and not documented(value):
                    bare.append(f"{name}.{member}")
        elif inspect.isfunction(item):
            bare += [name] * (not documented(item))
    assert bare == []


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_constant_has_a_comment_that_its_page_shows(module):
    constants = [
        name
        for name in PUBLIC[module]
        if not inspect.isroutine(found(module, name))
        and not inspect.isclass(found(module, name))
        and not name.startswith("__")
    ]
    assert [name for name in constants if not comment(module, name)] == []


def test_a_name_that_is_imported_on_first_use_is_that_of_its_home():
    for name, home in seer_env._HOMES.items():
        assert getattr(seer_env, name) is getattr(importlib.import_module(home), name)


def test_the_package_lists_all_its_public_names():
    assert set(seer_env.__all__) <= set(dir(seer_env))
