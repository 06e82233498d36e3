"""What is built: the wheel has every module, data file and model, the sdist has what the tests need."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: Folders of the project, and where they are installed.
FOLDERS = {"seer_env": "seer_env", "envs": "seer_env/envs", "training": "seer_env/training"}
BUILD = """
from setuptools import build_meta
import sys
folder = sys.argv[1]  # setuptools changes the arguments
build_meta.build_sdist(folder)
build_meta.build_wheel(folder)
"""


def tree(*folders):
    """Files of the project in some folders, relative to it."""
    files = (path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file())
    return {path.relative_to(ROOT).as_posix() for path in files if "__pycache__" not in path.parts}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with sdist and wheel, built from a copy of the project."""
    pytest.importorskip("setuptools", "77", reason="it builds the wheel, and is of the extra dev")
    folder = tmp_path_factory.mktemp("build")
    skipped = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "runs", "*.egg-info")
    shutil.copytree(ROOT, folder / "copy", ignore=skipped)
    command = [sys.executable, "-W", "ignore", "-c", BUILD, str(folder)]
    done = subprocess.run(command, cwd=folder / "copy", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_wheel_has_every_file_of_the_packages_and_nothing_else(built):
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    expected = {
        target + file.removeprefix(source) for source, target in FOLDERS.items() for file in tree(source)
    }
    assert names == expected


def test_the_sdist_has_the_sources_the_tests_and_the_documentation(built):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    expected = tree(*FOLDERS, "configs", "data", "docs", "notebooks", "tests")
    assert expected - names == set()
    assert {"pyproject.toml", "README.md", "LICENSE", "Makefile", "CHANGELOG.md"} <= names
