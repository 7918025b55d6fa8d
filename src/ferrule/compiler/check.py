"""Checks one file at a time, then all files together. Rules and dialects are handed in as `Parts`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec

from ferrule.compiler import suppress
from ferrule.compiler.locate import Located, diagnostic_of, locate, settle
from ferrule.compiler.read import decode, read, syntax_of
from ferrule.compiler.structure import check_structure
from ferrule.contracts.dialect import Definition, Dialect
from ferrule.contracts.rule import LibraryFinding, LibraryRule, RuleSet, RuleSettings, Subject
from ferrule.model.diagnostic import Diagnostic, Finding, Severity
from ferrule.model.document import Document, Issue, Source
from ferrule.model.outline import BrokenOutline, Library, Outline
from ferrule.model.report import FileReport

UNREADABLE, UNRECOGNISED, CRASHED = "FER-1", "FER-2", "FER-5"
_BROKEN_KINDS = {".tool.md": "tool", ".agent.md": "agent", ".iam.md": "role"}


class Parts(NamedTuple):
    """What the compiler works with, picked from the shelves by the wiring."""

    dialects: tuple[Dialect, ...]
    rule_set: Callable[[str], RuleSet]
    """The rules of one kind of definition, loaded when a file of that kind is met."""
    library_rules: Callable[[], tuple[LibraryRule, ...]]
    page_of: Callable[[str], str]
    """A rule's documentation page."""


def detect(document: Document, dialects: Iterable[Dialect]) -> Dialect | None:
    """The dialect of a document: by content, or by name and raw text when the content cannot be parsed."""
    dialects = tuple(dialects)
    if document.is_parsed:
        for dialect in dialects:
            if dialect.detect(document):
                return dialect
    return next((dialect for dialect in dialects if dialect.claims_name(document.source)), None)


def check_file(
    source: Source, parts: Parts, settings: RuleSettings, *, named: bool = False, rules: bool = True
) -> FileReport:
    """Everything one file gives on its own. `named` files were asked for by name, so they must be recognised.

    Without `rules` only what the file defines is worked out.
    """
    documents = read(source)
    dialect = next((found for document in documents if (found := detect(document, parts.dialects))), None)
    if dialect is None:
        return _unrecognised(source, documents, parts, named=named)
    diagnostics: list[Diagnostic] = []
    outlines: list[Outline] = []
    tools = 0
    for document in documents:
        definitions, findings = _definitions(document, dialect)
        for definition in definitions:
            if rules:
                findings += _check_definition(document, definition, parts, settings)
            outlined = list(dialect.outline(document, definition, settings.namespace))
            outlines += outlined
            tools += sum(type(outline).__name__ == "ToolOutline" for outline in outlined)
        if findings and rules:
            diagnostics += _diagnostics(document, findings, parts)
        if not document.is_parsed:
            outlines += _broken_outline(source)
    if not outlines and not diagnostics and not any(dialect.detect(document) for document in documents):
        return _unrecognised(source, documents, parts, named=named)  # it has the dialect's words, and no definition
    comments = suppress.suppressions(_text(source), syntax_of(source)) if suppress.MARKER in source.data else ()
    return FileReport(source.file, dialect.name, tools, tuple(outlines), tuple(diagnostics), comments)


def _definitions(document: Document, dialect: Dialect) -> tuple[list[Definition], list[Finding]]:
    findings = [
        Finding(
            dialect.issue_rule(issue),
            issue.path,
            issue.message,
            hint=issue.hint,
            line=issue.line,
            column=issue.column,
            is_repeat=issue.kind == "duplicate_key",
        )
        for issue in document.issues
    ]
    if not document.is_parsed:
        return [], findings
    definitions, shape = dialect.definitions(document)
    return definitions, findings + shape


def _check_definition(
    document: Document, definition: Definition, parts: Parts, settings: RuleSettings
) -> list[Finding]:
    subject = Subject(definition.kind, document, definition.value, settings, definition.path)
    rows, rules = parts.rule_set(definition.kind)
    if rows:
        check_structure(subject, rows)
    for rule in rules:
        try:
            for finding in rule.check(subject):
                subject.report(finding)
        except Exception as error:  # a bug of ours must not hide the other findings
            subject.report(_crash(rule.code, error))
    if not definition.path:
        return subject.findings
    return [msgspec.structs.replace(finding, path=definition.path + finding.path) for finding in subject.findings]


def _diagnostics(document: Document, findings: list[Finding], parts: Parts) -> list[Diagnostic]:
    file = document.source.file
    return [diagnostic_of(item, file, parts.page_of(item.finding.rule)) for item in settle(locate(document, findings))]


def _unrecognised(source: Source, documents: list[Document], parts: Parts, *, named: bool) -> FileReport:
    issue: Issue | None = next((issue for document in documents for issue in document.issues), None)
    if not named:
        return FileReport(source.file, None)
    if issue is not None:
        finding = Finding(UNREADABLE, (), issue.message, hint=issue.hint, line=issue.line, column=issue.column)
    else:
        hint = "a definition is an AML Markdown file, an ADL manifest, OXP JSON or an Agent Tool record"
        finding = Finding(UNRECOGNISED, (), "no known dialect is recognised in this file", Severity.INFO, hint, line=1)
    located = locate(documents[0], [finding]) if documents else []
    diagnostics = tuple(diagnostic_of(item, source.file, parts.page_of(finding.rule)) for item in located)
    return FileReport(source.file, None, diagnostics=diagnostics)


def _broken_outline(source: Source) -> list[Outline]:
    for suffix, kind in _BROKEN_KINDS.items():
        if source.name.endswith(suffix):
            return [BrokenOutline(source.file, kind, source.name.removesuffix(suffix))]
    return []


def _text(source: Source) -> str:
    try:
        return decode(source.data)
    except Exception:  # the reader has reported it already
        return ""


def check_library(
    library: Library, parts: Parts, settings: RuleSettings, source_of: Callable[[str], Source]
) -> list[Diagnostic]:
    """Findings that need several files. A file is read again only when it has such a finding."""
    by_place: dict[tuple[str, int], list[Finding]] = {}
    for rule in parts.library_rules():
        for outline, finding in _guarded(rule, library, settings):
            base: Any = getattr(outline, "path", ())
            if base:
                finding = msgspec.structs.replace(finding, path=base + finding.path)
            by_place.setdefault((outline.file, getattr(outline, "document", 0)), []).append(finding)
    diagnostics: list[Diagnostic] = []
    for (file, index), findings in by_place.items():
        documents = read(source_of(file))
        located: list[Located] = locate(documents[index], findings) if index < len(documents) else []
        diagnostics += [diagnostic_of(item, file, parts.page_of(item.finding.rule)) for item in settle(located)]
    return diagnostics


def _guarded(rule: LibraryRule, library: Library, settings: RuleSettings) -> list[LibraryFinding]:
    try:
        return list(rule.check(library, settings))
    except Exception as error:  # a bug of ours must not hide the other findings
        first = next((outline for outline in library.outlines if not isinstance(outline, BrokenOutline)), None)
        if first is None:
            return []
        return [LibraryFinding(first, _crash(rule.code, error))]


def _crash(code: str, error: Exception) -> Finding:
    message = f"the rule {code} failed on this definition: {type(error).__name__}"
    return Finding(CRASHED, (), message, hint="this is a bug in Ferrule; please report it")


def merge(
    report: FileReport, shared: list[Diagnostic], active: Callable[[str], bool] = lambda rule: True
) -> list[Diagnostic]:
    """One file's own diagnostics joined with the cross-file ones, one per key or value, suppressions applied."""
    if not shared and not report.suppressions:
        return list(report.diagnostics)
    best: dict[tuple[str, int], Diagnostic] = {}  # with the line, since a file's documents may have paths in common
    unplaced: list[Diagnostic] = []
    for diagnostic in (*report.diagnostics, *shared):
        if not diagnostic.path:
            unplaced.append(diagnostic)
            continue
        place = (diagnostic.path, diagnostic.line)
        known = best.get(place)
        if known is None or diagnostic.severity.rank < known.severity.rank:
            best[place] = diagnostic
    return suppress.apply(report.file, unplaced + list(best.values()), report.suppressions, active=active)
