"""The wiring of the compiler: finds a workspace, picks parts from the shelves, and runs them. Also the public Python API.

workspace = Workspace.open("path")
for diagnostic in workspace.check().diagnostics: ...
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path

from ferrule.compiler.check import Parts, check_file, check_library, merge
from ferrule.compiler.discover import discover, load
from ferrule.contracts.dialect import Dialect
from ferrule.contracts.rule import LibraryRule, RuleInfo, RuleSet, RuleSettings
from ferrule.dialects.builtin import DIALECTS
from ferrule.errors import WorkspaceError
from ferrule.model.diagnostic import Diagnostic
from ferrule.model.outline import Library
from ferrule.model.report import FileReport, Report, summarise
from ferrule.registry import Registry
from ferrule.rules.builtin import LIBRARY_RULES, PAGES, RULE_SETS
from ferrule.settings import FILE_NAME, Settings, load_settings

DOCUMENTATION = "https://ferrule.dev/rules/"
_dialects: Registry[Dialect] = Registry("dialect", DIALECTS)
_rule_sets: Registry[RuleSet] = Registry("kind of definition", RULE_SETS)
_library_rules: Registry[tuple[LibraryRule, ...]] = Registry("standard", LIBRARY_RULES)
_pages: Registry[tuple[RuleInfo, ...]] = Registry("standard", PAGES)
_MEMBER_FOLDERS = frozenset({"tools", "agents", "iam"})


def parts() -> Parts:
    """The built-in dialects and rules."""
    return Parts(tuple(_dialects), _rule_sets.get, _all_library_rules, page_of)


def page_of(rule: str) -> str:
    """The address of a rule's documentation page."""
    return f"{DOCUMENTATION}{rule.lower()}"


def rule_pages() -> tuple[RuleInfo, ...]:
    """Every rule's page, in the order of the standards."""
    return tuple(page for pages in _pages for page in pages)


def _all_library_rules() -> tuple[LibraryRule, ...]:
    return tuple(rule for rules in _library_rules for rule in rules)


class Workspace:
    """A folder of definitions with its settings."""

    def __init__(self, root: Path, settings: Settings, *, has_settings_file: bool) -> None:
        self.root = root
        self.settings = settings
        self.has_settings_file = has_settings_file
        """False for a bare folder or file without a ferrule.toml above it."""

    @classmethod
    def open(cls, path: str | Path = ".") -> Workspace:
        """The workspace around a path: the nearest folder above it with a ferrule.toml, else the folder itself."""
        start = Path(path).absolute()
        if not start.exists() and not start.is_symlink():
            raise WorkspaceError(f"there is no file or folder {str(path)!r}")
        folder = start if start.is_dir() else start.parent
        for candidate in (folder, *folder.parents):
            if (candidate / FILE_NAME).is_file():
                return cls(candidate, load_settings(candidate), has_settings_file=True)
        while folder.name in _MEMBER_FOLDERS and start.is_dir():
            folder = folder.parent
        return cls(folder, Settings(), has_settings_file=False)

    @property
    def namespace(self) -> str:
        """The namespace of AML tools."""
        return self.settings.namespace or self.root.name or "default"

    def check(
        self,
        paths: Sequence[str | Path] = (),
        *,
        now: str | None = None,
        compat: bool | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Report:
        """Check the workspace, or only some of its files and folders (references still resolve against all of it)."""
        started = time.perf_counter()
        settings = self._rule_settings(now, compat)
        chosen, is_closed = self._chosen(paths)
        everything = list(chosen) if not is_closed else self._all_files(chosen)
        wanted = set(chosen)
        named = {os.path.abspath(path) for path in paths if Path(path).is_file()}
        the_parts = parts()
        reports: list[FileReport] = []
        shown: dict[str, str] = {}
        for number, path in enumerate(everything):
            name = show_path(path)
            shown[name] = path
            reports.append(check_file(load(path, name), the_parts, settings, named=path in named))
            if progress is not None:
                progress(number + 1, len(everything))
        return self._report(reports, settings, {show_path(path) for path in wanted}, shown, is_closed, started)

    def _report(
        self,
        reports: list[FileReport],
        settings: RuleSettings,
        wanted: set[str],
        shown: dict[str, str],
        is_closed: bool,
        started: float,
    ) -> Report:
        the_parts = parts()
        outlines = tuple(outline for report in reports for outline in report.outlines)
        folders = (
            frozenset(entry.name for entry in os.scandir(self.root) if entry.is_dir()) if is_closed else frozenset()
        )
        library = Library(outlines, is_closed=is_closed, folders=folders)
        shared: dict[str, list[Diagnostic]] = {}
        for diagnostic in check_library(library, the_parts, settings, lambda file: load(shown[file], file)):
            shared.setdefault(diagnostic.file, []).append(diagnostic)
        kept = [report for report in reports if report.file in wanted]
        diagnostics = [found for report in kept for found in merge(report, shared.get(report.file, []))]
        diagnostics.sort(key=lambda diagnostic: diagnostic.order)
        files = sum(report.dialect is not None or bool(report.diagnostics) for report in kept)
        tools = sum(report.tools for report in kept)
        settled = tuple(diagnostics)
        summary = summarise(settled, files=files, tools=tools, seconds=time.perf_counter() - started)
        return Report(settled, summary)

    def _rule_settings(self, now: str | None, compat: bool | None) -> RuleSettings:
        return RuleSettings(
            today=now or datetime.now(UTC).date().isoformat(),
            approved_versions=self.settings.aml.approved_versions,
            compat=self.settings.check.compat if compat is None else compat,
            namespace=self.namespace,
        )

    def _chosen(self, paths: Sequence[str | Path]) -> tuple[list[str], bool]:
        """The files to report on, and whether they are (part of) a whole workspace."""
        if not paths:
            return list(discover(str(self.root), self.settings.check.exclude)), True
        chosen: dict[str, None] = {}
        has_folder = False
        for path in paths:
            absolute = os.path.abspath(path)
            if Path(absolute).is_dir():
                has_folder = True
                chosen.update(dict.fromkeys(discover(absolute, self.settings.check.exclude)))
            elif Path(absolute).exists() or Path(absolute).is_symlink():
                chosen[absolute] = None
            else:
                raise WorkspaceError(f"there is no file or folder {str(path)!r}")
        return list(chosen), has_folder or self.has_settings_file

    def _all_files(self, chosen: list[str]) -> list[str]:
        everything = dict.fromkeys(discover(str(self.root), self.settings.check.exclude))
        everything.update(dict.fromkeys(chosen))
        return list(everything)


def show_path(path: str) -> str:
    """A path as people see it: relative to the current folder when it is inside it."""
    relative = os.path.relpath(path)
    return (path if relative.startswith("..") else relative).replace(os.sep, "/")


def matches(file: str, pattern: str) -> bool:
    """Glob match that lets `**` mean everything."""
    return pattern == "**" or fnmatch(file, pattern)
