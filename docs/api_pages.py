"""`make docs`: a page per public module, from its docstrings; fails on a broken reference or link.

What is public is the table of `api.md`.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import re
import sys
import warnings
from pathlib import Path
from typing import Any

from references import ROOT, Sources, broken_links, broken_references

TABLE = ROOT / "docs" / "api.md"
_PLACE = re.compile(r'\bid="([^"]+)"')


def public() -> dict[str, list[str]]:
    """Public names by module, as the table has them."""
    rows = re.findall(r"^\| `([\w.]+)` \| ([^|]*) \|", TABLE.read_text(encoding="utf-8"), re.M)
    return {module: re.findall(r"`(\w+)`", names) for module, names in rows}


def comment(module: str, name: str) -> str:
    """The `#:` comment above a constant, where it is defined; empty if it has none."""
    source = inspect.getsource(importlib.import_module(module))
    lines = source.splitlines()
    for node in ast.parse(source).body:
        if isinstance(node, ast.ImportFrom) and name in (alias.name for alias in node.names):
            return comment(str(node.module), name)
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and target.id == name:
                above = itertools.takewhile(
                    lambda line: line.startswith("#:"), reversed(lines[: node.lineno - 1])
                )
                return " ".join(line.removeprefix("#:").strip() for line in reversed(list(above)))
    return ""


def write_pages(folder: Path) -> None:
    """Write a page per public module and an index."""
    from pdoc import doc, render

    render.configure(docformat="google", show_source=False, search=False)
    for module, names in public().items():
        for name in names:
            getattr(importlib.import_module(module), name)  # some are imported on first use
    modules = {name: doc.Module.from_name(name) for name in public()}
    for name, module in modules.items():
        for constant in module.variables:
            constant.docstring = constant.docstring or comment(name, constant.name)
        adopt(module)
        page = folder / (name.replace(".", "/") + ".html")
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(unlinked(render.html_module(module, modules)), encoding="utf-8")
    (folder / "index.html").write_text(render.html_index(modules), encoding="utf-8")


def adopt(module: Any) -> None:
    """Show what classes inherit from classes of the project that are not public as if it were their own."""
    for class_ in module.classes:
        for member in class_.members.values():
            origin = member.taken_from[0]
            if origin.startswith("seer_env.") and origin not in public():
                member.taken_from = (member.modulename, member.qualname)


def unlinked(page: str) -> str:
    """A page without pdoc's links to what classes inherit from other packages, for which it has no place."""
    places = set(_PLACE.findall(page))
    return re.sub(r'<a href="#([^"]+)">(.*?)</a>', lambda m: m[0] if m[1] in places else m[2], page)


def broken_page_links(folder: Path) -> list[str]:
    """A line for each link of a page to a page, or a place on one, that is not there."""
    texts = {page: page.read_text(encoding="utf-8") for page in folder.rglob("*.html")}
    places = {page: set(_PLACE.findall(text)) for page, text in texts.items()}
    broken = []
    for page, text in texts.items():
        for target in set(re.findall(r'<a\b[^>]*\bhref="([^"]+)"', text)):
            if "://" in target:
                continue
            file, _, place = target.partition("#")
            there = (page.parent / file).resolve() if file else page
            if there not in places or (place and place not in places[there]):
                broken.append(f"{page.relative_to(folder)}: {target}")
    return sorted(broken)


def main(folder: Path) -> int:
    """Write the pages; 1, with a line each on stderr, if a reference or link is broken."""
    # Annotations are shown as they are written: pdoc cannot evaluate all of them, and need not.
    warnings.filterwarnings("ignore", "Error parsing type annotation", UserWarning, "pdoc")
    write_pages(folder)
    broken = [*broken_references(Sources()), *broken_links(), *broken_page_links(folder.resolve())]
    for line in broken:
        print(f"broken reference: {line}", file=sys.stderr)
    print(folder / "index.html")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
