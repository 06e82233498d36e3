"""`seer-env make-env`: the folder that it writes works as it is; names that cannot work are refused."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from seer_env.cli import main
from seer_env.commands.make_env import FILES, TEMPLATES, check_name
from seer_env.commands.output import CommandError


def move(monkeypatch, folder):
    """Work in `folder`; what lies in the one before, such as a world gossip, is not imported."""
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place not in ("", os.getcwd())])
    monkeypatch.chdir(folder)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A folder `paper_trail`, just made, beside which nothing else is."""
    folder = tmp_path_factory.mktemp("worlds")
    with pytest.MonkeyPatch.context() as here:
        move(here, folder)
        assert main(["make-env", "paper_trail"]) == 0
    return folder / "paper_trail"


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """An empty working directory."""
    move(monkeypatch, tmp_path)
    return tmp_path


def inside(project, *command):
    """What a Python command prints in the project's folder, with status 0."""
    done = subprocess.run([sys.executable, *command], cwd=project, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_own_tests_pass(project):
    assert "6 passed" in inside(project, "-m", "pytest", "-q", "-p", "no:cacheprovider")


def test_its_tests_pass_inside_a_project_that_imports_tests_otherwise(project, tmp_path):
    settings = '[tool.pytest.ini_options]\naddopts = ["--import-mode=importlib"]'
    (tmp_path / "pyproject.toml").write_text(settings)
    copy = shutil.copytree(project, tmp_path / project.name)
    inside(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "registered")


def test_its_run_plays_the_episode_of_its_config(project):
    config = json.loads((project / "config.json").read_text())
    told = inside(project, "run.py")
    assert f"ended, 0 of {config['n_agents']} agents live, step {config['max_cycles']}" in told


@pytest.mark.parametrize("world", ["paper_trail:PaperTrail", "./paper_trail.py:PaperTrail"])
def test_the_command_line_runs_it_by_module_and_by_file(project, world, tmp_path):
    figures = tmp_path / "figures.json"
    options = ["--agents", "7", "--steps", "3", "--json", str(figures)]
    inside(project, "-m", "seer_env.cli", "run", world, *options)
    assert json.loads(figures.read_text())["agent_steps"] == 21


def test_no_word_of_the_template_is_left(project):
    files = [path for path in project.iterdir() if path.suffix in (".py", ".md", ".json", ".ini")]
    assert len(files) == len(FILES)
    for path in files:
        assert "template" not in (path.name + path.read_text()).lower()


def test_every_template_is_written():
    assert sorted(FILES) == sorted(path.name for path in TEMPLATES.iterdir() if path.is_file())


# -- what is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Gossip", "lower-case letters"),
        ("two words", "lower-case letters"),
        ("2gether", "a letter first"),
        ("_hidden", "a letter first"),
        ("", "lower-case letters"),
        ("école", "lower-case letters"),
        ("../up", "lower-case letters"),
        ("run", "another meaning"),
        ("conftest", "another meaning"),
        ("kind", "another meaning"),
        ("flock", "a world flock_v0 already"),
        ("class", "word of Python"),
        ("match", "word of Python"),
        ("random", "a module 'random' already"),
        ("numpy", "a module 'numpy' already"),
    ],
)
def test_names_that_cannot_be_a_module_are_refused(name, message):
    with pytest.raises(CommandError, match=message):
        check_name(name)


def test_a_folder_that_is_there_is_left_alone(elsewhere, capsys):
    folder = elsewhere / "gossip"
    folder.mkdir()
    assert main(["make-env", "gossip"]) == 1
    assert "--force" in capsys.readouterr().err
    assert list(folder.iterdir()) == []


def test_force_overwrites_its_files_and_no_others(elsewhere):
    folder = elsewhere / "gossip"
    folder.mkdir()
    (folder / "gossip.py").write_text("old")
    (folder / "notes.txt").write_text("mine")
    assert main(["make-env", "gossip", "--force"]) == 0
    assert "class Gossip" in (folder / "gossip.py").read_text()
    assert (folder / "notes.txt").read_text() == "mine"


def test_a_file_in_the_place_of_the_folder_is_told(elsewhere, capsys):
    (elsewhere / "gossip").write_text("a file")
    assert main(["make-env", "gossip", "--force"]) == 1
    assert "gossip" in capsys.readouterr().err
    assert (elsewhere / "gossip").read_text() == "a file"


def test_the_next_step_names_what_the_tests_need(elsewhere, capsys):
    assert main(["make-env", "gossip"]) == 0
    assert "pip install pytest && python -m pytest" in capsys.readouterr().out
