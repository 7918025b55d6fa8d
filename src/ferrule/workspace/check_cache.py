"""The findings of `ferrule check` in a served workspace, cached until a file changes.

Checking many files takes long: it runs in a thread, once for all callers at the time. A caller that only wants a hint gets the
last outcome.
"""

from __future__ import annotations

import asyncio
import os
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import msgspec
from msgspec.structs import replace

from ferrule.definitions.compiler.discover import load
from ferrule.definitions.compiler.locate import locate
from ferrule.definitions.compiler.read import read
from ferrule.definitions.content.linkage import REFERRED_BY, list_possible_ids
from ferrule.errors import FerruleError
from ferrule.model.diagnostic import Diagnostic, FileReport, Finding, Severity, Summary
from ferrule.model.outline import RecordOutline, ToolOutline
from ferrule.settings import FILE_NAME
from ferrule.workspace.excerpts import SECRET_RULES, MaskedSource, SourceLine, build_excerpt, mask_lines
from ferrule.workspace.parts import list_rule_pages
from ferrule.workspace.staleness import Stamps, read_all_stamps
from ferrule.workspace.workspace import Workspace

_REST_SECONDS = 2.0
"""The age up to which an outcome is good enough for a hint."""
_LONG_SECONDS = 0.05
_SHARE = 20
"""Slow looks for changed files take at most one part in this many of the time."""
_POLICIES = ("policy.toml", ".ferrule/policy.local.toml")
_FILES_KEPT = 32


class DefinitionPlace(msgspec.Struct, frozen=True):
    """The place where a tool is defined."""

    tool_id: str
    version: str | None
    file: str
    """Relative to the workspace."""
    line: int


class CheckOutcome:
    """The outcome of one check. Files are relative to the workspace."""

    def __init__(self, workspace: Workspace, told: Callable[[str], str], at: int) -> None:
        report = workspace.check()
        selection = workspace.select()
        reports = workspace.reports(selection, workspace.rule_settings())
        self._root = workspace.root
        self._told = told
        self._sources: dict[str, MaskedSource] = {}
        self.checked_at = at
        """Microseconds since 1970."""
        self.summary: Summary = report.summary
        self.diagnostics = tuple(self._rename_file(found) for found in report.diagnostics)
        self._paths = {task.name: task.path for task in selection.everything}
        self._paths.update({name: str(workspace.root / name) for name in _POLICIES})
        # Of the reports, where nothing is suppressed yet: an excerpt masks silenced secrets too.
        self._secret = _group_by_file(
            found for each in reports for found in each.diagnostics if found.rule in SECRET_RULES
        )
        self._outlines = _list_tools_by_file(reports)
        self._by_file = _group_by_file(self.diagnostics)

    def _rename_file(self, found: Diagnostic) -> Diagnostic:
        file = os.path.relpath(os.path.abspath(found.file), self._root).replace(os.sep, "/")
        message, hint = self._told(found.message), found.hint and self._told(found.hint)
        return replace(
            found, file=os.path.basename(file) if file.startswith("../") else file, message=message, hint=hint
        )

    @cached_property
    def by_tool(self) -> Mapping[str, tuple[Diagnostic, ...]]:
        """The findings about each tool that has any."""
        found: dict[str, list[Diagnostic]] = defaultdict(list)
        for file, diagnostics in self._by_file.items():
            for tool_ids, each in self._attribute(file, diagnostics):
                for tool_id in tool_ids:
                    found[tool_id].append(each)
        return {tool_id: tuple(each) for tool_id, each in found.items()}

    @cached_property
    def tools_by_word(self) -> Mapping[str, frozenset[str]]:
        """The ids of tools with `errors`, and of those with `warnings` and no error."""
        worst = {tool_id: min(each.severity.rank for each in found) for tool_id, found in self.by_tool.items()}
        words = {Severity.ERROR.rank: "errors", Severity.WARNING.rank: "warnings"}
        return {
            word: frozenset(one for one, rank in worst.items() if words.get(rank) == word) for word in words.values()
        }

    def list_tools(self, file: str) -> tuple[str, ...]:
        """Returns the ids of the tools a file is about."""
        return tuple(dict.fromkeys(outline.tool_id for outline in self._outlines.get(file, ())))

    def list_definitions(self, tool_id: str) -> list[DefinitionPlace]:
        """Returns the places where a tool is defined, in each of its versions."""
        found = []
        for file in self._files.get(tool_id, ()):
            outlines = self._outlines[file]
            placed = zip(outlines, self._find_lines(file, outlines), strict=True)
            found += [
                DefinitionPlace(tool_id, outline.version, file, line)
                for outline, line in placed
                if outline.tool_id == tool_id and outline.file == file
            ]
        return found

    @cached_property
    def _files(self) -> Mapping[str, Sequence[str]]:
        """The files that define a tool, by its id."""
        files: dict[str, dict[str, None]] = defaultdict(dict)
        for file, outlines in self._outlines.items():
            for outline in outlines:
                if outline.file == file:
                    files[outline.tool_id][file] = None
        return {tool_id: tuple(found) for tool_id, found in files.items()}

    def build_excerpt(self, found: Diagnostic) -> list[SourceLine]:
        """Returns the lines around a diagnostic; none for a file that is no definition or is outside the workspace."""
        source = self._find_source(found.file)
        return [] if source is None else build_excerpt(source, found)

    def _find_source(self, file: str) -> MaskedSource | None:
        known = self._sources.get(file)
        if known is None:
            path = self._paths.get(file)
            known = None if path is None else self._read(path, file)
            if known is not None:
                if len(self._sources) >= _FILES_KEPT:
                    self._sources.clear()  # other threads may hold an entry: they keep their own reference
                self._sources[file] = known
        return known

    def _read(self, path: str, file: str) -> MaskedSource | None:
        if not is_inside(path, self._root):
            return None
        source = load(path, file)
        if source.problem:
            return None
        return mask_lines(source.data.decode("utf-8-sig", "replace"), self._secret.get(file, ()), self._told)

    def _attribute(self, file: str, diagnostics: Sequence[Diagnostic]) -> Iterator[tuple[tuple[str, ...], Diagnostic]]:
        """Yields each finding of a file with its tools: found by line where a file has several."""
        outlines = self._outlines.get(file, ())
        if len({outline.tool_id for outline in outlines}) < 2:
            tools = self.list_tools(file)
            yield from ((tools, each) for each in diagnostics)
            return
        placed = sorted(zip(self._find_lines(file, outlines), outlines, strict=True), key=lambda one: one[0])
        begins = [line for line, _ in placed]
        for each in diagnostics:
            at = bisect_right(begins, each.line) - 1
            # What is found above the first tool is about all of them.
            yield (self.list_tools(file) if at < 0 else (placed[at][1].tool_id,)), each

    def _find_lines(self, file: str, outlines: Sequence[ToolOutline]) -> list[int]:
        """Returns the first line of each tool's definition."""
        path = self._paths.get(file)
        if path is None or all(not outline.path and not outline.document for outline in outlines):
            return [1] * len(outlines)
        documents = read(load(path, file))
        return [
            locate(documents[outline.document], [Finding("", outline.path, "", on_key=True)])[0].span.line
            if outline.document < len(documents) and documents[outline.document].is_parsed
            else 1
            for outline in outlines
        ]


def _group_by_file(diagnostics: Sequence[Diagnostic] | Iterator[Diagnostic]) -> dict[str, list[Diagnostic]]:
    found: dict[str, list[Diagnostic]] = defaultdict(list)
    for each in diagnostics:
        found[each.file].append(each)
    return dict(found)


def _list_tools_by_file(reports: Sequence[FileReport]) -> dict[str, tuple[ToolOutline, ...]]:
    """Returns the tools of each file: those it defines, and those whose interface or profile it holds."""
    found: dict[str, list[ToolOutline]] = defaultdict(list)
    records: dict[tuple[str, str], str] = {}
    for report in reports:
        for outline in report.outlines:
            if isinstance(outline, ToolOutline):
                found[report.file].append(outline)
            elif isinstance(outline, RecordOutline):
                records[outline.kind, outline.record_id] = report.file
    for outline in [each for outlines in found.values() for each in outlines if each.refs]:
        for kind, key in REFERRED_BY.items():
            named = outline.refs.get(key)
            files = [records.get((kind, one)) for one in list_possible_ids(kind, named)] if named else []
            file = next((one for one in files if one is not None), None)
            if file is not None and file != outline.file:
                found[file].append(outline)
    return {file: tuple(outlines) for file, outlines in found.items()}


def is_inside(path: str, root: Path) -> bool:
    """Returns True when a path's target, links followed, is inside a folder."""
    return os.path.realpath(path).startswith(os.path.join(os.path.realpath(root), ""))


class WorkspaceChecks:
    """The workspace's findings, current or a moment old."""

    def __init__(
        self,
        root: Path,
        told: Callable[[str], str],
        now: Callable[[], int],
        tick: Callable[[], int],
    ) -> None:
        self._root = root
        self._told = told
        self._now = now
        self._tick = tick
        self._kept: tuple[Stamps, CheckOutcome] | None = None
        self._looking: asyncio.Task[CheckOutcome] | None = None
        self._looked_at = 0
        self._rest = 0

    async def check_now(self) -> CheckOutcome:
        """Returns the current outcome, or one a moment old where checking takes long. Raises FerruleError when the workspace
        cannot be read."""
        if self._kept is not None and self._tick() < self._looked_at + self._rest:
            return self._kept[1]
        # Shielded, because other callers wait for the same task.
        return await asyncio.shield(self._start_check())

    async def recall(self, patience: float) -> CheckOutcome | None:
        """Returns the last outcome without a long wait, and checks again in the background; None when there is none yet."""
        if self._kept is None:
            with suppress(FerruleError, TimeoutError):
                # The check itself is shielded and goes on.
                async with asyncio.timeout(patience):
                    return await self.check_now()
        elif self._tick() > self._looked_at + max(self._rest, int(_REST_SECONDS * 1e9)):
            self._start_check()
        return None if self._kept is None else self._kept[1]

    def _start_check(self) -> asyncio.Task[CheckOutcome]:
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(asyncio.to_thread(self._check), name="ferrule checks definitions")
            # Reads the exception: after `recall` nobody awaits the task, and asyncio would log it as never retrieved.
            self._looking.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._looking

    def _check(self) -> CheckOutcome:
        begun = self._tick()
        workspace = Workspace.open(self._root)
        # Before the check: a file saved during it then differs at the next look.
        stamps = read_all_stamps(workspace) | _read_policy_stamps(workspace)
        self._looked_at = self._tick()
        took = self._looked_at - begun
        self._rest = _SHARE * took if took > _LONG_SECONDS * 1e9 else 0
        kept = self._kept
        if kept is not None and kept[0] == stamps:
            return kept[1]
        checked = CheckOutcome(workspace, self._told, self._now())
        assert checked.tools_by_word is not None, "computed here, in the thread that no caller waits for"
        self._kept = (stamps, checked)
        return checked


def _read_policy_stamps(workspace: Workspace) -> Stamps:
    seen: Stamps = {}
    for name in (*_POLICIES, FILE_NAME):
        with suppress(OSError):
            facts = (workspace.root / name).stat()
            seen[name] = (facts.st_mtime_ns, facts.st_size)
    return seen


def list_rule_names() -> Mapping[str, str]:
    """Returns the name of each rule, by its code."""
    return {page.code: page.name.replace("-", " ") for page in list_rule_pages()}
