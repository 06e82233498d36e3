"""The examples in the docstrings of public modules run as they stand."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap

import numpy as np
import pytest
from api_pages import public

import seer_env

#: A block that is indented behind an empty line, and the line before that.
BLOCK = re.compile(r"^(.*)\n\n((?: {4}.*\n|\n)+)", re.M)


def examples():
    """Name and source of each example; what stands below a heading such as `Args:` is none."""
    for module in public():
        tree = ast.parse(inspect.getsource(importlib.import_module(module)))
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                text = f"{ast.get_docstring(node) or ''}\n"
                for number, found in enumerate(BLOCK.finditer(text)):
                    yield f"{module}.{getattr(node, 'name', '')}-{number}", textwrap.dedent(found[2])


EXAMPLES = dict(examples())


def test_there_are_some():
    assert {"seer_env.-0", "seer_env.model.-0", "seer_env.animation.Animation-0"} <= set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs(name):
    exec(compile(EXAMPLES[name], name, "exec"), {"__name__": "example", "seer_env": seer_env})


def test_the_world_of_the_models_docstring_greets():
    names: dict = {"__name__": "example"}
    exec(EXAMPLES["seer_env.model.-0"], names)
    env = names["env"]
    env.reset_arrays(seed=0)
    assert set(env.step_arrays(np.ones((100, 1))).rewards) == {1.0}
