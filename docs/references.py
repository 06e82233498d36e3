"""What documentation refers to, and whether it is there: names in docstrings, links between Markdown files.

In a docstring of this project, these in backticks are references, and are looked up in the sources:

- `Name`, a capitalised word with a lower-case letter in it: a class, function or constant of that name;
- `first.second`: a module's name, a class's member, or what a package of `FOREIGN` has. A `first` that is
  none of these, such as a variable, is taken as code, but those of `INSTANCES` stand for such an object;
- `file.py`, `folder/FILE.md`: a file whose path ends like this.

Nothing is imported but `FOREIGN`: the sources are parsed.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: Folders of sources, and the packages that they are installed as.
SOURCES = {"seer_env": "seer_env", "envs": "seer_env.envs", "training": "seer_env.training"}
#: Folders whose files may be named too.
OTHER_FOLDERS = ("data", "docs", "notebooks", "tests")
#: Installed packages whose names docstrings use.
FOREIGN = ("gymnasium", "importlib", "numba", "numpy", "pettingzoo", "sys", "time")
#: Classes of theirs that docstrings name alone.
FOREIGN_CLASSES = {
    "gymnasium.spaces": ("Box", "Discrete", "MultiDiscrete", "Space"),
    "gymnasium": ("Env",),
    "gymnasium.vector": ("AutoresetMode", "VectorEnv"),
    "pettingzoo": ("ParallelEnv", "AECEnv"),
    "enum": ("IntEnum",),
}
#: What a lower-case name stands for in docstrings.
INSTANCES = {"env": "SeerParallelEnv", "model": "EventModel", "worlds": "Copies", "config": "TrainConfig"}

_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_FILE = re.compile(r"[\w/]*\w\.(py|md)")
_WRITTEN = re.compile(r".*\.(json|yaml|csv|png|safetensors)")  # at run time
_DOTTED = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)(?:\(\))?")
_NAME = re.compile(r"[A-Z]\w*[a-z]\w*")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


class Sources:
    """The project's modules, classes and files.

    Attributes:
        modules: the top-level names of each module, by its dotted name.
        classes: members and bases of each class, by its name.
        files: paths relative to the project.
    """

    def __init__(self, root: Path = ROOT):
        self.modules: dict[str, set[str]] = {}
        self.classes: dict[str, tuple[set[str], list[str]]] = {}
        self.docstrings: list[tuple[Path, int, str]] = []
        self.files: list[str] = []
        for folder in (*SOURCES, *OTHER_FOLDERS):
            self.files += [path.relative_to(root).as_posix() for path in (root / folder).rglob("*")]
        for folder, package in SOURCES.items():
            for path in sorted((root / folder).rglob("*.py")):
                parts = path.relative_to(root / folder).with_suffix("").parts
                parts = parts[:-1] if parts[-1] == "__init__" else parts
                self._read(path, ".".join((package, *parts)))

    def _read(self, path: Path, name: str) -> None:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        self.modules[name] = {found for node in tree.body for found in _defined(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                members = {found for part in ast.walk(node) for found in _defined(part)}
                bases = [ast.unparse(base).split(".")[-1].split("[")[0] for base in node.bases]
                known = self.classes.setdefault(node.name, (set(), []))
                known[0].update(members)
                known[1].extend(bases)
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
                line = getattr(node, "lineno", 1)
                self.docstrings.append((path, line, ast.get_docstring(node) or ""))

    def has_member(self, name: str, member: str) -> bool:
        """Whether a class of that name, or a base of it, has the member."""
        members, bases = self.classes.get(name, (set(), []))
        return member in members or any(self.has_member(base, member) for base in bases if base != name)

    def has(self, reference: str) -> bool:
        """Whether what stands in backticks is no reference, or is there."""
        if _FILE.fullmatch(reference):
            return any(("/" + file).endswith("/" + reference) for file in self.files)
        if _NAME.fullmatch(reference):
            return self._has_name(reference)
        dotted = None if _WRITTEN.fullmatch(reference) else _DOTTED.fullmatch(reference)
        return dotted is None or self._has_dotted(dotted[1].split("."))

    def _has_name(self, name: str) -> bool:
        return (
            name in self.classes
            or hasattr(builtins, name)
            or any(name in names for names in FOREIGN_CLASSES.values())
            or any(name in names for names in self.modules.values())
        )

    def _has_dotted(self, parts: list[str]) -> bool:
        first, second = INSTANCES.get(parts[0], parts[0]), parts[1]
        if first in self.classes and self.has_member(first, second):
            return True
        if parts[0] in FOREIGN:
            return _importable(parts)
        home = next((home for home, names in FOREIGN_CLASSES.items() if first in names), None)
        if home is not None:
            return _importable([*home.split("."), *parts])
        places = [name for name in self.modules if f".{name}.".endswith(f".{'.'.join(parts[:-1])}.")]
        if any(parts[-1] in self.modules[name] or f"{name}.{parts[-1]}" in self.modules for name in places):
            return True
        is_known = first in self.classes or places or parts[0] == "seer_env"
        return not is_known and not _NAME.fullmatch(first)  # then it is code


def _defined(node: ast.AST) -> Iterator[str]:
    """Names that a statement defines; attributes of `self` among them."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from (alias.asname or alias.name for alias in node.names)
    elif isinstance(node, ast.If):  # TYPE_CHECKING
        yield from (name for part in node.body for name in _defined(part))
    elif isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for part in (part for target in targets for part in ast.walk(target)):
            if isinstance(part, ast.Name):
                yield part.id
            elif isinstance(part, ast.Attribute):
                yield part.attr


def _importable(parts: list[str]) -> bool:
    found = importlib.import_module(parts[0])
    for position, name in enumerate(parts[1:], 2):
        if not hasattr(found, name):
            try:
                importlib.import_module(".".join(parts[:position]))
            except ImportError:
                return False
        found = getattr(found, name)
    return True


def broken_references(sources: Sources) -> list[str]:
    """A line for each reference in a docstring, or to a file in Markdown, that leads nowhere."""
    found = [(f"{path.relative_to(ROOT)}:{line}", text) for path, line, text in sources.docstrings]
    broken = [
        f"{where}: `{span}`" for where, text in found for span in _SPAN.findall(text) if not sources.has(span)
    ]
    for path, text in markdown():
        spans = {span for span in _SPAN.findall(text) if _FILE.fullmatch(span) and not sources.has(span)}
        broken += [f"{path.relative_to(ROOT)}: `{span}`" for span in sorted(spans)]
    return broken


def broken_links() -> list[str]:
    """A line for each link in a Markdown file to a file, or a heading of one, that is not there."""
    return [
        f"{path.relative_to(ROOT)}: {target}"
        for path, text in markdown()
        for target in _LINK.findall(text)
        if "://" not in target and not _leads_somewhere(path, target)
    ]


def markdown() -> Iterator[tuple[Path, str]]:
    """The project's Markdown files but templates, each with its text without blocks of code."""
    files = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    files += [path for folder in SOURCES for path in (ROOT / folder).rglob("*.md")]
    for path in sorted(files):
        if "templates" not in path.parts:
            text = path.read_text(encoding="utf-8")
            yield path, re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)


def _leads_somewhere(path: Path, target: str) -> bool:
    file, _, heading = target.partition("#")
    there = path.parent / file if file else path
    if not there.exists():
        return False
    return not heading or heading in anchors(there.read_text(encoding="utf-8"))


def anchors(text: str) -> set[str]:
    """Anchors of a Markdown file's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
