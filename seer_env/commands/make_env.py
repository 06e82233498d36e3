"""`seer-env make-env`: begin a world of your own from one that runs."""

from __future__ import annotations

import keyword
import sys
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Annotated

import tyro

from seer_env.commands.output import CommandError
from seer_env.files import write_whole

#: Files that run as they are; `template_world` and `TemplateWorld` in them stand for the user's names.
TEMPLATES = Path(__file__).parents[1] / "templates"
FILES = ("README.md", "config.json", "pytest.ini", "run.py", "template_world.py", "test_template_world.py")
#: Names of other files there, and those whose class would be one that the world's file imports or defines.
TAKEN = ("run", "conftest", "kind", "int_enum", "event_model")


@dataclass
class MakeEnv:
    """Write a folder with a small world that runs: its model, a test, a config and a README.

    After `seer-env make-env gossip`:

        cd gossip
        python run.py                 # an episode of config.json
        python -m pytest              # the world's tests pass; needs pip install pytest
        seer-env run gossip:Gossip    # how fast it is

    Then change gossip.py, whose comments say what is what, and its test.
    """

    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="NAME")]
    """Name of the world, its module and its folder: lower-case letters, digits, underscores."""

    force: bool = False
    """Overwrite the files of a folder that is there. Other files in it stay."""

    def main(self) -> int:
        """Write the folder and say what to do next."""
        check_name(self.name)
        folder = Path(self.name).absolute()
        if not self.force and folder.exists():
            raise CommandError(f"{folder} exists; choose another name, or overwrite its files with --force")
        try:
            write_project(folder, self.name)
        except OSError as error:
            raise CommandError(f"{folder}: {error}") from error
        print(f"{folder}: next, cd {self.name} && python run.py && pip install pytest && python -m pytest")
        return 0


def check_name(name: str) -> None:
    """Refuse what cannot be a module's name, or is that of a module, a world or a class that exists.

    Raises:
        CommandError: it says what to do instead.
    """
    from seer_env.registration import registry

    if not (name.isascii() and name.isidentifier() and name[0].isalpha() and name == name.lower()):
        raise CommandError(
            f"{name!r} cannot be a module's name: use lower-case letters, digits and underscores, a letter "
            "first, such as gossip or air_traffic"
        )
    if name in TAKEN:
        raise CommandError(f"{name!r} has another meaning in the folder's files: choose another name")
    if f"{name}_v0" in registry:
        raise CommandError(f"there is a world {name}_v0 already: choose another name, such as my_{name}")
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        raise CommandError(f"{name!r} is a word of Python: choose another, such as {name}_world")
    installed = [folder for folder in sys.path if folder not in ("", str(Path.cwd()))]
    if name in sys.stdlib_module_names or PathFinder.find_spec(name, installed):
        raise CommandError(f"there is a module {name!r} already: choose another name, such as {name}_world")


def write_project(folder: Path, name: str) -> None:
    """Write the templates' files into `folder`, with `name` for theirs."""
    contents = {filled(file, name): filled((TEMPLATES / file).read_text("utf-8"), name) for file in FILES}
    folder.mkdir(exist_ok=True)
    for file, text in contents.items():
        write_whole(folder / file, text.encode())


def filled(text: str, name: str) -> str:
    """`text` of a template with "air_traffic" and "AirTraffic" in the places of its names."""
    return text.replace("template_world", name).replace("TemplateWorld", class_name(name))


def class_name(name: str) -> str:
    """The class for a name: "AirTraffic" for "air_traffic"."""
    return "".join(part.capitalize() for part in name.split("_"))
