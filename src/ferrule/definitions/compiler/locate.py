"""Turns the paths of findings into places. The only module that knows lines; its conventions are those of section 0 of
the digests.

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


def find_places(document: Document) -> Places:
    """Returns the places of a document that was parsed."""
    if document.syntax == "json":
        return json_text.compose(document.text).places
    first_line = document.first_line if document.syntax == "front_matter" else 1
    documents = compose_all(document.text, first_line)
    return documents[document.index].places


def locate(document: Document, findings: Iterable[Finding]) -> list[Located]:
    """Returns findings (with paths from the document's root) with their places."""
    places: Places | None = None
    located: list[Located] = []
    for finding in findings:
        if finding.line:
            column = finding.column or 1
            span = Span(finding.line, column, finding.line, column)
            located.append(Located(finding, finding.path, finding.path, span))
            continue
        # Reading a text for places is slow, so files whose findings bring a line never need it.
        if places is None:
            places = find_places(document)
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
    # A value that begins below its key is marked at the key; a list item has none.
    if isinstance(finding.path[-1], int) or node.span.line == node.opener.line:
        return node.span, written
    return node.opener, written


def find_line(document: Document, places: Places, path: Path) -> int:
    """Returns the line where a value is written, or where it would have to be."""
    return _place(document, places, Finding("", path, ""))[0].line


def build_diagnostic(located: Located, file: str, url: str | None) -> Diagnostic:
    """Builds the public form of a located finding."""
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


def keep_worst(located: Iterable[Located]) -> list[Located]:
    """Keeps one diagnostic per defect: of several findings on one key or value the worst, and among equals the
    first."""
    best: dict[Path, Located] = {}
    about_file: list[Located] = []
    for item in located:
        if not item.written or item.finding.is_repeat:  # about the file itself, or about a key's second occurrence
            about_file.append(item)
            continue
        known = best.get(item.written)
        if known is None or item.finding.severity.rank < known.finding.severity.rank:
            best[item.written] = item
    return about_file + list(best.values())
