"""Paths to places. The only module that turns a finding into a line number; conventions are those of the digests' section 0.

- a wrong value: the line of the key that holds it; a list item: the line where its text begins
- an unknown key: that key
- a missing key: the key that opens the enclosing mapping; line 1 at the top of a file; a list item's `-` or `{`
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ferrule.definitions.compiler import json_text
from ferrule.definitions.compiler.read import compose_all
from ferrule.model.diagnostic import Diagnostic, Finding
from ferrule.model.document import Document, Places, Span
from ferrule.model.value import Path, format_path


class Located(NamedTuple):
    """A finding with its place and the path at which the offending text is written."""

    finding: Finding
    path: Path
    written: Path
    span: Span


def places_of(document: Document) -> Places:
    """The places of a document that was parsed."""
    if document.syntax == "json":
        return json_text.compose(document.text).places
    first_line = document.first_line if document.syntax == "front_matter" else 1
    documents = compose_all(document.text, first_line)
    return documents[document.index].places


def locate(document: Document, findings: Iterable[Finding]) -> list[Located]:
    """Findings (with paths from the document's root) at their places."""
    places: Places | None = None
    located: list[Located] = []
    for finding in findings:
        if finding.line:
            column = finding.column or 1
            span = Span(finding.line, column, finding.line, column)
            located.append(Located(finding, finding.path, finding.path, span))
            continue
        if places is None:
            places = places_of(document)
        span, written = _place(document, places, finding)
        located.append(Located(finding, finding.path, written, span))
    return located


def _place(document: Document, places: Places, finding: Finding) -> tuple[Span, Path]:
    node, exists, written = places.find(finding.path)
    if node is places.root:
        line = 1 if document.index == 0 else document.first_line
        return Span(line, 1, line, 1), written
    if not exists or finding.on_key:
        return node.opener, written
    if isinstance(finding.path[-1], int) or node.span.line == node.opener.line:
        return node.span, written
    return node.opener, written


def line_of(document: Document, places: Places, path: Path) -> int:
    """The line at which something is said, or would have to be."""
    return _place(document, places, Finding("", path, ""))[0].line


def diagnostic_of(located: Located, file: str, url: str | None) -> Diagnostic:
    """The located finding in its public shape."""
    finding, span = located.finding, located.span
    return Diagnostic(
        rule=finding.rule,
        severity=finding.severity,
        path=format_path(located.path),
        file=file,
        line=span.line,
        column=span.column,
        end_line=max(span.end_line, span.line),
        end_column=span.end_column,
        message=finding.message,
        hint=finding.hint,
        url=url,
    )


def settle(located: Iterable[Located]) -> list[Located]:
    """One defect, one diagnostic: of several findings on one key or value the worst, and among equals the first, is kept."""
    best: dict[Path, Located] = {}
    whole: list[Located] = []
    for item in located:
        if not item.written or item.finding.is_repeat:  # about the file as a whole, or about a key's second occurrence
            whole.append(item)
            continue
        known = best.get(item.written)
        if known is None or item.finding.severity.rank < known.finding.severity.rank:
            best[item.written] = item
    return whole + list(best.values())
