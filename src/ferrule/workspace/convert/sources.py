"""Reads files of any dialect or format as tools, each with its place, and reports errors in the files.

Definition dialects go through the compiler's own checks. A tool whose definition has errors is left out; a missing AML
transport does not count, for a conversion calls nothing.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from ferrule.contracts.dialect import Definition, Dialect
from ferrule.contracts.format import Format
from ferrule.contracts.rule import RuleSettings
from ferrule.definitions.compiler.check import check_file, detect_dialect
from ferrule.definitions.compiler.discover import FolderWalk
from ferrule.definitions.compiler.discover import load as read_source
from ferrule.definitions.compiler.locate import build_diagnostic, find_line, find_places, locate
from ferrule.definitions.compiler.read import read
from ferrule.definitions.content.extension import decode_raw
from ferrule.definitions.content.linkage import link_records
from ferrule.definitions.dialects.aml_emit import BODY
from ferrule.definitions.formats.builtin import FORMATS
from ferrule.errors import WorkspaceError
from ferrule.model.diagnostic import Diagnostic, FileReport, Finding, Report, Severity, summarise
from ferrule.model.document import Document, Places, Source
from ferrule.model.tool import Record, Tool, raw
from ferrule.model.value import JsonValue, format_path
from ferrule.model.value import Path as ValuePath
from ferrule.workspace.agent_tools import build_agent_tools
from ferrule.workspace.convert import NAMES_FILE
from ferrule.workspace.convert.fields import find_path
from ferrule.workspace.convert.origin import restore_original
from ferrule.workspace.parts import build_page_url, load_parts
from ferrule.workspace.workspace import Workspace, show_path

UNKNOWN = "FER-2"
HARMLESS = frozenset({"AML-37"})
"""Errors that do not prevent a conversion: those about how a tool is reached."""


class LocatedTool(NamedTuple):
    """A tool and its place in the source."""

    tool: Tool
    file: str
    """The display name."""
    line: int
    """The first line of its definition, from 1."""
    lines: Callable[[str], int] | None = None
    """Returns the line of a loss's field; 0 where the definition does not have it."""


class LoadedTools(NamedTuple):
    """The tools of the files, and the findings about them."""

    tools: list[LocatedTool]
    diagnostics: Report
    names: dict[str, str]
    """Names that a conversion changed, to the tools' own."""


class _FoundTool(NamedTuple):
    """A tool with its document."""

    tool: Tool
    document: Document
    path: ValuePath


def load_tools(paths: Sequence[Path], namespace: str = "", names: Mapping[str, str] | None = None) -> LoadedTools:
    """Returns the tools of files, of all files in folders, and of patterns. Raises WorkspaceError for a missing path.

    `namespace`: for tools of dialects without one; by default the workspace's, or the file's name. `names`: changed names to the
    tools' own, in addition to those beside a file.
    """
    loading = _Loader(namespace, dict(names or {}))
    for path, is_named in _list_files(paths):
        loading.add(path, is_named=is_named)
    return loading.finish()


def _list_files(paths: Sequence[Path]) -> Iterator[tuple[str, bool]]:
    """Yields each file once, with True for a named one."""
    seen: set[str] = set()
    for path in paths:
        for found, is_named in _expand(str(path)):
            absolute = os.path.abspath(found)
            if absolute not in seen and os.path.basename(absolute) != NAMES_FILE:
                seen.add(absolute)
                yield absolute, is_named


def _expand(path: str) -> Iterator[tuple[str, bool]]:
    if os.path.isdir(path):
        workspace = Workspace.open(path)
        yield from ((found, False) for found in FolderWalk(os.path.abspath(path), workspace.settings.check.exclude))
    elif os.path.lexists(path):
        yield path, True
    else:
        found = sorted(glob.glob(path, recursive=True))
        if not found:
            raise WorkspaceError(f"there is no file or folder {path!r}")
        yield from ((one, True) for one in found if os.path.isfile(one))


class _Loader:
    """Collects the tools of files."""

    def __init__(self, namespace: str, names: dict[str, str]) -> None:
        self._namespace = namespace
        self._names = names
        self._found: list[_FoundTool] = []
        self._records: list[Record] = []
        self._diagnostics: list[Diagnostic] = []
        self._files = 0

    def add(self, path: str, *, is_named: bool) -> None:
        """Reads one file."""
        source = read_source(path, show_path(path))
        documents = read(source)
        dialect = _find_first(_detect_by_content(document) for document in documents)
        format_, value = _detect_format(documents) if dialect is None else (None, None)
        if dialect is None and format_ is None:
            dialect = _find_first(detect_dialect(document, load_parts().dialects) for document in documents)
        if dialect is not None:
            self._files += 1
            self._add_definitions(source, documents, dialect, self._namespace or _find_namespace(os.path.dirname(path)))
        elif format_ is not None:
            self._files += 1
            self._add_format(path, source, documents[0], format_, value)
        elif is_named:
            self._files += 1
            self._diagnostics += _explain_unknown(source, documents)

    def finish(self) -> LoadedTools:
        """Returns the outcome, with records joined to the declarations that refer to them."""
        tools = link_records([found.tool for found in self._found], self._records)
        lines = {id(found.document): _LineFinder(found.document) for found in self._found}
        sourced = [
            _locate_tool(restore_original(tool), found, lines[id(found.document)])
            for tool, found in zip(tools, self._found, strict=True)
        ]
        diagnostics = tuple(sorted(self._diagnostics, key=lambda diagnostic: diagnostic.order))
        summary = summarise(diagnostics, files=self._files, tools=len(sourced), seconds=0.0)
        return LoadedTools(sourced, Report(diagnostics, summary), self._names)

    def _add_definitions(self, source: Source, documents: list[Document], dialect: Dialect, namespace: str) -> None:
        settings = RuleSettings(today=datetime.now(UTC).date().isoformat(), namespace=namespace)
        report = check_file(source, load_parts(), settings, named=True)
        self._diagnostics += report.diagnostics
        for document in documents:
            definitions = dialect.definitions(document)[0] if document.is_parsed else []
            for definition in definitions:
                self._compile(report, document, definition, dialect, namespace)

    def _compile(
        self, report: FileReport, document: Document, definition: Definition, dialect: Dialect, namespace: str
    ) -> None:
        errors = _list_errors(report, definition.path)
        # The tools of a manifest are judged one by one below.
        if errors and definition.kind != "adl.manifest":
            return
        try:
            compiled = dialect.compile(document, definition, namespace)
        except Exception:  # only definitions with errors may make a dialect raise; without any it is a bug
            if not errors:
                finding = Finding(
                    "FER-5", definition.path, "this definition cannot be compiled", hint="please report it"
                )
                self._add_findings(document, [finding])
            return
        self._records += compiled.records
        for number, tool in enumerate(compiled.tools):
            path = definition.path
            if definition.kind == "adl.manifest":
                path = _find_item(definition, tool, number)
                if _list_errors(report, path):
                    continue
            elif definition.kind == "aml.tool" and document.body.strip():
                payload = decode_raw(tool.payload)
                tool = msgspec.structs.replace(tool, payload=raw({**payload, BODY: document.body}))
            self._found.append(_FoundTool(tool, document, path))
        if definition.kind == "aml.agent":
            agents = build_agent_tools(compiled.records, namespace)
            self._found += [_FoundTool(agent, document, definition.path) for agent in agents]

    def _add_format(self, path: str, source: Source, document: Document, format_: Format, value: JsonValue) -> None:
        self._names |= _read_names(os.path.dirname(path))
        stem = os.path.basename(path).partition(".")[0]
        reading = format_.read(value, self._namespace or stem or "tools", self._names)
        self._add_findings(document, list(reading.findings))
        self._found += [_FoundTool(found.tool, document, found.path) for found in reading.tools]

    def _add_findings(self, document: Document, findings: list[Finding]) -> None:
        file = document.source.file
        self._diagnostics += [
            build_diagnostic(one, file, build_page_url(one.finding.rule)) for one in locate(document, findings)
        ]


def _detect_by_content(document: Document) -> Dialect | None:
    """Returns the dialect of a document, by its content. Extensions in a list may look like another dialect."""
    return _find_first(one if document.is_parsed and one.detect(document) else None for one in load_parts().dialects)


def _find_first(found: Iterable[Dialect | None]) -> Dialect | None:
    return next((one for one in found if one is not None), None)


def _find_namespace(folder: str) -> str:
    return _open_workspace(folder).namespace


@cache
def _open_workspace(folder: str) -> Workspace:
    return Workspace.open(folder)


def _detect_format(documents: list[Document]) -> tuple[Format | None, JsonValue]:
    """Returns the format of a file without definitions, and its value."""
    if len(documents) != 1 or not documents[0].is_parsed:
        return None, None
    value = documents[0].value
    return next((one for one in FORMATS if one.detect(value)), None), value


def _explain_unknown(source: Source, documents: list[Document]) -> list[Diagnostic]:
    report = check_file(source, load_parts(), RuleSettings(today=""), named=True)
    broken = [one for one in report.diagnostics if one.severity is Severity.ERROR]
    if broken:
        return broken
    hint = "definitions are AML, ADL, OXP or Agent Tool; lists are those of MCP and of providers; documents are OpenAPI"
    finding = Finding(
        UNKNOWN, (), "no known dialect or format is recognised in this file", Severity.ERROR, hint, line=1
    )
    return (
        [build_diagnostic(one, source.file, build_page_url(UNKNOWN)) for one in locate(documents[0], [finding])]
        if documents
        else []
    )


def _list_errors(report: FileReport, path: ValuePath) -> list[Diagnostic]:
    """Returns the errors that prevent converting a definition."""
    prefix = format_path(path)
    return [
        one
        for one in report.diagnostics
        if one.severity is Severity.ERROR
        and one.rule not in HARMLESS
        and (not prefix or one.path == prefix or one.path.startswith((f"{prefix}.", f"{prefix}[")))
    ]


def _find_item(definition: Definition, tool: Tool, number: int) -> ValuePath:
    """Returns the path of a tool in a manifest, whose items without a valid id are no tools."""
    spec = definition.value.get("spec")
    items = spec.get("tools") if isinstance(spec, dict) else None
    found = (index for index, item in enumerate(items or ()) if isinstance(item, dict) and item.get("id") == tool.name)
    return ("spec", "tools", next(found, number))


def _read_names(folder: str) -> dict[str, str]:
    """Returns the names that a conversion into this folder changed."""
    try:
        data = Path(folder, NAMES_FILE).read_bytes()
        return msgspec.json.decode(data, type=dict[str, str])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}


def _locate_tool(tool: Tool, found: _FoundTool, lines: _LineFinder) -> LocatedTool:
    def line(field: str) -> int:
        path = find_path(found.tool.dialect, field)
        return 0 if path is None else lines.find((*found.path, *path))

    return LocatedTool(tool, found.document.source.file, lines.find(found.path), line)


class _LineFinder:
    """The lines of a document, located on first use."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._places: Places | None = None

    def find(self, path: ValuePath) -> int:
        """Returns the line of a path."""
        if not path:
            return 1 if self._document.index == 0 else self._document.first_line
        if self._places is None:
            self._places = find_places(self._document)
        return find_line(self._document, self._places, path)
