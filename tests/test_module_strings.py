"""Every text that names a module of ours names one that exists, wherever it stands: code, comments, docs, settings of tools.

Imports by string (`late("ferrule.x:name")`), docstrings and decision pages are not seen by a type checker, so a module that
moves leaves them behind. Only syntax trees are read: no module is imported but the two packages that list their names.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import ferrule
import ferrule.testing
from tests import ROOT

SOURCE = ROOT / "src" / "ferrule"
PYTHON = [
    *SOURCE.rglob("*.py"),
    *(ROOT / "scripts").rglob("*.py"),
    *(ROOT / "tests").rglob("*.py"),
    *(file for file in (ROOT / "bench").rglob("*.py") if {"work", "lib"}.isdisjoint(file.relative_to(ROOT).parts)),
]
PAGES = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
TOOLING = [ROOT / "pyproject.toml", ROOT / "Makefile", ROOT / "action.yml", ROOT / ".pre-commit-hooks.yaml",
           *(file for file in (ROOT / ".ci").iterdir() if file.is_file())]  # fmt: skip

FILES = {"ferrule.lock", "ferrule.md", "ferrule.pub", "ferrule.sarif", "ferrule.toml", "ferrule.xml"}
"""Names of files."""
ENTRY_POINTS = {"ferrule.executors", "ferrule.languages", "ferrule.notifiers", "ferrule.sinks"}
"""Entry-point groups by which other packages add parts."""
LOGGER_TREES = {"ferrule.services", "ferrule.tools"}
"""Loggers with one logger below them for each service or tool. `getLogger("…")` in src names the other loggers."""
OTHERS = {
    "ferrule.no_such_module",  # tests need a module that is not there
    "ferrule.nothing_of_the_kind",
    "ferrule.search_tools",  # the search tool, in its namespace
    "ferrule.test",  # a logger of a test
    "ferrule.token",  # the file of a key, as the console writes it
    "ferrule.user",  # a setting of a PostgreSQL session
}
EXAMPLES = {
    "src/ferrule/definitions/rules/aml/undescribed_parameter.py",  # what `make new` writes
    "file.py",
    "handbook.py",
    "hooks/office_hours.py",
    "path/file.py",
    "definitions/reporters/checkstyle.py",
    "scan.py",
    "tools/orders.py",
    "tools/registry.py",
}
"""Files that a reader writes."""
FOLDERS = {
    "dir/",  # in a pattern of .gitignore
    "instances/",  # folders beside a ledger
    "kept/",
    "live/",
    "services/",  # folders of stubs
    "tools/",
    "tools/_generated/",
}
"""Folders of users and of workspaces, which docstrings mention."""

_DOTTED = re.compile(r"(?<![\w./@$-])ferrule(?:\.[A-Za-z_]\w*)+(?::[A-Za-z_]\w*)?")
_LOGGER = re.compile(r"getLogger\(\s*\"(ferrule[\w.]*)\"")
_RUN = re.compile(r"-m[\"', ]+((?:ferrule|tests|bench|scripts)(?:\.\w+)*)")
_ROOTED = re.compile(r"(?<![\w./-])((?:src/ferrule|tests)/[\w./-]*+|(?:bench|scripts)/[\w/]+\.py)(?![\w<{*…])")
_SPAN = re.compile(r"`([^`\n]+)`")
_FILE = re.compile(r"(?<![\w./<…-])[\w./-]+\.py(?=$|[:\s'\"\]])")
_FOLDER = re.compile(r"^[a-z_\d]+(?:/[a-z_\d]+)*/$")
_PACKAGE_PATH = re.compile(rf"^(?:{'|'.join(place.name for place in SOURCE.iterdir() if place.is_dir())})/[a-z_\d/]+$")
_EXAMPLE = re.compile(r"NAME|acme|…")
"""Paths with a part for the reader to fill in."""


def test_dotted_names_are_modules_or_names_in_them() -> None:
    loggers = {name for file in SOURCE.rglob("*.py") for name in _LOGGER.findall(_text(file))}

    def why_not(name: str) -> str:
        module = name.partition(":")[0]
        if module in FILES | ENTRY_POINTS | OTHERS | loggers or ".".join(module.split(".")[:2]) in LOGGER_TREES:
            return ""
        return _why_unresolved(name)

    assert not _stale([*PYTHON, *PAGES, *TOOLING], _DOTTED, why_not)


def test_modules_that_are_run_exist() -> None:
    def why_not(name: str) -> str:
        file = ROOT / ("src" if name.startswith("ferrule") else "") / name.replace(".", "/")
        return "" if file.with_suffix(".py").is_file() or (file / "__main__.py").is_file() else "no such module"

    assert not _stale([*PYTHON, *PAGES, *TOOLING], _RUN, why_not)


def _why_unresolved(name: str) -> str:
    dotted, _, attribute = name.partition(":")
    words = dotted.split(".")
    while not (file := _file_of(tuple(words))):
        words.pop()
    rest = [*dotted.split(".")[len(words) :], *([attribute] if attribute else [])]
    if not rest or rest[0] in _names_in(file) or (rest[0].startswith("__") and rest[0].endswith("__")):
        return ""
    return f"{'.'.join(words)} has no {rest[0]}"


@cache
def _file_of(words: tuple[str, ...]) -> Path | None:
    place = ROOT.joinpath("src", *words)
    return next((file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()), None)


@cache
def _names_in(file: Path) -> frozenset[str]:
    """The names at the top of a module, and those that load on first use."""
    lazy = {SOURCE / "__init__.py": ferrule.__all__, SOURCE / "testing" / "__init__.py": ferrule.testing.__all__}
    found = set(lazy.get(file, ()))
    for node in _statements(ast.parse(_text(file)).body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found.update(part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name))
    return frozenset(found)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        for inner in ("body", "orelse", "handlers"):
            if isinstance(node, ast.If | ast.Try) and hasattr(node, inner):
                yield from _statements([one for one in getattr(node, inner) if isinstance(one, ast.stmt)])


def test_paths_from_the_root_exist() -> None:
    def why_not(path: str) -> str:
        path = path.rstrip("./-")
        return "" if path in EXAMPLES or _EXAMPLE.search(path) or (ROOT / path).exists() else "no such file"

    assert not _stale([*PYTHON, *TOOLING, *PAGES], _ROOTED, why_not)


def test_files_and_folders_in_code_spans_exist() -> None:
    stale = [
        f"{file.relative_to(ROOT)}:{number}: {path}"
        for file in [*SOURCE.rglob("*.py"), *PAGES]
        for number, line in enumerate(_text(file).splitlines(), start=1)
        for span in _SPAN.findall(line)
        for path in _paths_in(span, file)
        if path not in EXAMPLES | FOLDERS and not _EXAMPLE.search(path) and not _is_there(path, file)
    ]
    assert not stale, "\n".join(stale)


def _paths_in(span: str, file: Path) -> list[str]:
    """The files and folders of ours that a code span names. In the guide a folder is the reader's."""
    folders = [] if file.parent.name == "guide" else _FOLDER.findall(span)
    return [*_FILE.findall(span), *_PACKAGE_PATH.findall(span), *folders]


def _is_there(path: str, mentioned_in: Path) -> bool:
    """True for a path from the root, from `src/ferrule`, or from a folder around the file that mentions it. A page may name a
    file without its folder."""
    around = [folder for folder in mentioned_in.parents if folder.is_relative_to(SOURCE)]
    places = [folder / path for folder in (ROOT, SOURCE, ROOT / "tests", *around)]
    if any(place.exists() or place.with_name(f"{place.name}.py").exists() for place in places):
        return True
    return "/" not in path and mentioned_in.suffix == ".md" and path in _file_names()


@cache
def _file_names() -> frozenset[str]:
    return frozenset(file.name for file in [*PYTHON, *(ROOT / "demo").rglob("*.py")])


def _stale(files: list[Path], pattern: re.Pattern[str], why_not: Callable[[str], str]) -> str:
    """The places where the pattern finds a name that is not there, a line each."""
    found = []
    for file in files:
        if file == Path(__file__):
            continue
        for number, line in enumerate(_text(file).splitlines(), start=1):
            for match in pattern.finditer(line):
                name = match[match.lastindex or 0]
                if reason := why_not(name):
                    found.append(f"{file.relative_to(ROOT)}:{number}: {name}: {reason}")
    return "\n".join(found)


@cache
def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")
