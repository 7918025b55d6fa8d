"""Checks each file on its own, then all of them together.

The wiring hands in rules and dialects as `CheckParts`; this module knows none of them. `workspace` calls it,
`locate` gives its findings their places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from msgspec.structs import replace

from ferrule.contracts.dialect import Definition, Dialect
from ferrule.contracts.rule import LibraryFinding, LibraryRule, RuleSet, RuleSettings, Subject
from ferrule.definitions.compiler import suppress
from ferrule.definitions.compiler.locate import Located, build_diagnostic, keep_worst, locate
from ferrule.definitions.compiler.read import decode, detect_syntax, read
from ferrule.definitions.compiler.structure import check_structure
from ferrule.model.diagnostic import Diagnostic, FileReport, Finding, Severity
from ferrule.model.document import Document, Issue, Source
from ferrule.model.outline import BrokenOutline, Library, Outline, ToolOutline

UNREADABLE, UNRECOGNISED, CRASHED = "FER-1", "FER-2", "FER-5"
BROKEN_KINDS = {".tool.md": "tool", ".agent.md": "agent", ".iam.md": "role"}
"""The kind of definition that a file which cannot be parsed would have held, by the end of its name."""


class CheckParts(NamedTuple):
    """The dialects and rules the compiler works with, chosen by the wiring."""

    dialects: tuple[Dialect, ...]
    rule_set: Callable[[str], RuleSet]
    """Returns the rules of one kind of definition; loaded when a file of that kind is met."""
    library_rules: Callable[[], tuple[LibraryRule, ...]]
    page_of: Callable[[str], str]
    """Returns the address of a rule's documentation page."""


def detect_dialect(document: Document, dialects: Iterable[Dialect]) -> Dialect | None:
    """Finds the dialect of a document: by content, or by name and raw text when the content cannot be parsed."""
    dialects = tuple(dialects)
    if document.is_parsed:
        for dialect in dialects:
            if dialect.detect(document):
                return dialect
    return next((dialect for dialect in dialects if dialect.claims_name(document.source)), None)


class FileToCheck(NamedTuple):
    """One file to check, and how."""

    source: Source
    named: bool = False
    """True when it was requested by name, so it must be recognised."""
    rules: bool = True
    """False when only the outlines of its definitions are needed."""


class _Opened(NamedTuple):
    """A document split into definitions, with the findings that come from no rule."""

    document: Document
    definitions: list[Definition]
    findings: list[Finding]
    subjects: list[Subject]


class _File(NamedTuple):
    request: FileToCheck
    dialect: Dialect | None
    opened: list[_Opened]


def check_file(
    source: Source, parts: CheckParts, settings: RuleSettings, *, named: bool = False, rules: bool = True
) -> FileReport:
    """Checks one file on its own."""
    return check_files([FileToCheck(source, named, rules)], parts, settings)[0]


def check_files(requests: Iterable[FileToCheck], parts: CheckParts, settings: RuleSettings) -> list[FileReport]:
    """Checks each file on its own.

    The steps, and the rules one by one, are taken over all files together: code that stays in the processor's cache
    runs a good deal faster than code that takes turns.
    """
    files = [_open_file(request, parts, settings) for request in requests]
    groups: dict[str, list[Subject]] = {}
    for file in files:
        for opened in file.opened:
            for subject in opened.subjects:
                groups.setdefault(subject.kind, []).append(subject)
    for kind, subjects in groups.items():
        _run_rules(subjects, parts.rule_set(kind))
    return [_report_file(file, parts, settings) for file in files]


def _open_file(request: FileToCheck, parts: CheckParts, settings: RuleSettings) -> _File:
    documents = read(request.source)
    dialect = next((found for document in documents if (found := detect_dialect(document, parts.dialects))), None)
    if dialect is None:
        return _File(request, None, [_Opened(document, [], [], []) for document in documents])
    opened = []
    for document in documents:
        definitions, findings = _split_definitions(document, dialect)
        subjects = [Subject(kind, document, value, settings, path) for kind, path, value in definitions]
        opened.append(_Opened(document, definitions, findings, subjects if request.rules else []))
    return _File(request, dialect, opened)


def _run_rules(subjects: list[Subject], rule_set: RuleSet) -> None:
    rows, rules = rule_set
    if rows:
        for subject in subjects:
            check_structure(subject, rows)
    for rule in rules:
        for subject in subjects:
            try:
                for finding in rule.check(subject):
                    subject.report(finding)
            except Exception as error:  # a bug of ours must not hide the other findings
                subject.report(_report_crash(rule.code, error))


def _report_file(file: _File, parts: CheckParts, settings: RuleSettings) -> FileReport:
    (source, named, rules), dialect, opened = file
    documents = [document for document, *_ in opened]
    if dialect is None:
        return _report_unrecognised(source, documents, parts, named=named)
    diagnostics: list[Diagnostic] = []
    outlines: list[Outline] = []
    for document, definitions, findings, subjects in opened:
        for definition in definitions:
            outlines += dialect.outline(document, definition, settings.namespace)
        if rules:
            found = findings + [finding for subject in subjects for finding in _expand_paths(subject)]
            if found:
                diagnostics += _locate_findings(document, found, parts)
        if not document.is_parsed:
            outlines += _outline_broken_file(source)
    if not outlines and not diagnostics and not any(dialect.detect(document) for document in documents):
        return _report_unrecognised(
            source, documents, parts, named=named
        )  # it has the dialect's words but no definition
    comments = (
        suppress.find_suppressions(_decode_text(source), detect_syntax(source))
        if suppress.MARKER in source.data
        else ()
    )
    tools = sum(outline.__class__ is ToolOutline for outline in outlines)
    return FileReport(source.file, dialect.name, tools, tuple(outlines), tuple(diagnostics), comments)


def _expand_paths(subject: Subject) -> list[Finding]:
    if not subject.base:
        return subject.findings
    return [replace(finding, path=subject.base + finding.path) for finding in subject.findings]


def _split_definitions(document: Document, dialect: Dialect) -> tuple[list[Definition], list[Finding]]:
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


def _locate_findings(document: Document, findings: list[Finding], parts: CheckParts) -> list[Diagnostic]:
    file = document.source.file
    return [
        build_diagnostic(item, file, parts.page_of(item.finding.rule))
        for item in keep_worst(locate(document, findings))
    ]


def _report_unrecognised(source: Source, documents: list[Document], parts: CheckParts, *, named: bool) -> FileReport:
    issue: Issue | None = next((issue for document in documents for issue in document.issues), None)
    if not named:
        return FileReport(source.file, None)
    if issue is not None:
        finding = Finding(UNREADABLE, (), issue.message, hint=issue.hint, line=issue.line, column=issue.column)
    else:
        hint = "a definition is an AML Markdown file, an ADL manifest, OXP JSON or an Agent Tool record"
        finding = Finding(UNRECOGNISED, (), "no known dialect is recognised in this file", Severity.INFO, hint, line=1)
    located = locate(documents[0], [finding]) if documents else []
    diagnostics = tuple(build_diagnostic(item, source.file, parts.page_of(finding.rule)) for item in located)
    return FileReport(source.file, None, diagnostics=diagnostics)


def _outline_broken_file(source: Source) -> list[Outline]:
    # Without this outline every file that refers to the broken one would get an error about a missing definition.
    for suffix, kind in BROKEN_KINDS.items():
        if source.name.endswith(suffix):
            return [BrokenOutline(source.file, kind, source.name.removesuffix(suffix))]
    return []


def _decode_text(source: Source) -> str:
    try:
        return decode(source.data)
    except Exception:  # the reader has reported it already
        return ""


def check_library(
    library: Library, parts: CheckParts, settings: RuleSettings, source_of: Callable[[str], Source]
) -> list[Diagnostic]:
    """Runs the rules that need several files. A file is read again only when it has such a finding."""
    by_place: dict[tuple[str, int], list[Finding]] = {}
    for rule in parts.library_rules():
        for outline, finding in _run_library_rule(rule, library, settings):
            base: Any = getattr(outline, "path", ())
            if base:
                finding = replace(finding, path=base + finding.path)
            by_place.setdefault((outline.file, getattr(outline, "document", 0)), []).append(finding)
    diagnostics: list[Diagnostic] = []
    for (file, index), findings in by_place.items():
        # The file may have changed since it was outlined, and then have fewer documents.
        documents = read(source_of(file))
        located: list[Located] = locate(documents[index], findings) if index < len(documents) else []
        diagnostics += [build_diagnostic(item, file, parts.page_of(item.finding.rule)) for item in keep_worst(located)]
    return diagnostics


def _run_library_rule(rule: LibraryRule, library: Library, settings: RuleSettings) -> list[LibraryFinding]:
    try:
        return list(rule.check(library, settings))
    except Exception as error:  # a bug of ours must not hide the other findings
        first = next((outline for outline in library.outlines if not isinstance(outline, BrokenOutline)), None)
        if first is None:
            return []
        return [LibraryFinding(first, _report_crash(rule.code, error))]


def _report_crash(code: str, error: Exception) -> Finding:
    message = f"the rule {code} failed on this definition: {type(error).__name__}"
    return Finding(CRASHED, (), message, hint="this is a bug in Ferrule; please report it")


def merge(
    report: FileReport, shared: list[Diagnostic], is_active: Callable[[str], bool] = lambda rule: True
) -> list[Diagnostic]:
    """Joins one file's own diagnostics with the cross-file ones, keeps one per key or value, and applies
    suppressions."""
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
    return suppress.apply(report.file, unplaced + list(best.values()), report.suppressions, is_active=is_active)
