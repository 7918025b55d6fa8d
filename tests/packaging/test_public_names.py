"""The public names, pinned: adding one is a decision, removing one breaks somebody."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import ferrule
from ferrule import errors
from tests import ROOT
from tests.docs.blocks import blocks

NAMES = {
    "Access",
    "AccessError",
    "App",
    "Arguments",
    "BatchError",
    "BindingError",
    "BuildRefused",
    "CacheSettings",
    "CallRecords",
    "CatalogError",
    "Context",
    "Diagnostic",
    "ExtraMissing",
    "FerruleError",
    "InboxError",
    "Inject",
    "LedgerDamaged",
    "LedgerError",
    "LedgerUnavailable",
    "NetworkSettings",
    "OutcomeUnrecorded",
    "Pending",
    "PolicyError",
    "Report",
    "Result",
    "Scheduler",
    "SchedulerClaim",
    "SchedulerPolicy",
    "SealError",
    "SealedCatalog",
    "Settings",
    "SettingsError",
    "Severity",
    "SurfaceError",
    "SurfaceRequest",
    "Tool",
    "ToolFailed",
    "UnfitAnswer",
    "UnknownBinding",
    "Workspace",
    "WorkspaceError",
    "__version__",
    "build_catalog",
    "build_surface",
    "compare_catalogs",
    "compare_surfaces",
    "export_surface",
    "hook",
    "is_authentic_webhook",
    "load_catalog",
    "open",
    "open_sync",
    "prompt",
    "publish_catalog",
    "render_surface",
    "replay_events",
    "resource",
    "search_surface",
    "select_tools",
    "service",
    "sign_webhook",
    "summarise_call",
    "tool",
}
MODULES = {"ferrule.adapters", "ferrule.contracts", "ferrule.testing"}
"""Modules whose names, and whose submodules, are public; people import from them directly."""
PAGE = ROOT / "docs" / "guide" / "python-api.md"
PAGES = [ROOT / "README.md", ROOT / "docs" / "index.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
PROGRAMS = [ROOT / "demo" / "functions.py", ROOT / "demo" / "hooks.py",
            ROOT / "src" / "ferrule" / "workspace" / "templates" / "workspace" / "functions.py"]  # fmt: skip
"""Programs that people read and copy."""
_SPAN = re.compile(r"`([^`]+)`")
_IMPORT = re.compile(r"^\s*(?:from (ferrule[\w.]*) import (.+)|import (ferrule[\w.]*))")


def test_public_names_are_these_and_load() -> None:
    assert set(ferrule.__all__) == NAMES
    assert len(ferrule.__all__) == len(NAMES)
    for name in NAMES:
        assert getattr(ferrule, name)


def test_every_exception_is_public() -> None:
    assert {name for name, value in vars(errors).items() if isinstance(value, type)} <= NAMES


def test_type_checkers_see_the_names_that_load() -> None:
    assert _typed(ROOT / "src" / "ferrule" / "__init__.py") == {
        name: (module, attribute or name)
        for name, (module, _, attribute) in ((name, target.partition(":")) for name, target in ferrule._PUBLIC.items())
    }


def _typed(file: Path) -> dict[str, tuple[str, str]]:
    """The names under `if TYPE_CHECKING`, each with its module and its name there."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    found: dict[str, tuple[str, str]] = {}
    for node in block.body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                found[alias.asname or alias.name] = (str(node.module), alias.name)
        else:
            assert isinstance(node, ast.Assign) and isinstance(node.value, ast.Name)
            (target,) = node.targets
            assert isinstance(target, ast.Name)
            found[target.id] = found.pop(node.value.id)
    return found


def test_the_guide_lists_the_public_names() -> None:
    listed = [name for row in _first_cells(PAGE, "## Names", "The methods of") for name in _SPAN.findall(row)]
    assert sorted(listed) == sorted(NAMES - {"__version__"})


def test_the_guide_lists_the_public_modules() -> None:
    listed = {name for row in _first_cells(PAGE, "## Public modules", "") for name in _SPAN.findall(row)}
    assert listed == MODULES


def _first_cells(page: Path, begin: str, end: str) -> list[str]:
    text = page.read_text(encoding="utf-8").partition(begin)[2]
    text = text.partition(end)[0] if end else text
    return [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_blocks_use_public_names(page: Path) -> None:
    for block in blocks(page):
        text = "\n".join(block.lines)
        uses = _uses(text) if block.language == "python" else _shown_imports(text)
        hidden = [f"{module}: {name}" for module, name in uses if not _is_public(module, name)]
        assert not hidden, f"line {block.line} uses names that are not public: {hidden}"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: str(program.relative_to(ROOT)))
def test_example_programs_use_public_names(program: Path) -> None:
    hidden = [use for use in _uses(program.read_text(encoding="utf-8")) if not _is_public(*use)]
    assert not hidden


def _uses(text: str) -> Iterator[tuple[str, str]]:
    """Modules of ours that a program imports, with the names it takes from each; an attribute of `ferrule` counts as one."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "ferrule":
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.partition(".")[0] == "ferrule")
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "ferrule":
            yield "ferrule", node.attr


def _shown_imports(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        if found := _IMPORT.match(line):
            yield from ((found[1] or found[3], name.strip()) for name in (found[2] or "").split(","))


def _is_public(module: str, name: str) -> bool:
    if module == "ferrule":
        return not name or name in NAMES or f"ferrule.{name}" in MODULES
    if not any(module == public or module.startswith(public + ".") for public in MODULES):
        return False
    exported = getattr(import_module(module), "__all__", None) if name and module in MODULES else None
    return exported is None or name in exported


def test_importing_the_package_imports_nothing_heavy() -> None:
    script = (
        "import sys, ferrule; print([name for name in ('msgspec', 'click', 'rich', 'yaml') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"
