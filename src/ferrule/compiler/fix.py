"""Mends one file's text: tries the fixes its diagnostics ask for, one at a time, and keeps only those that are proven.

A fix is kept when the text reads back to exactly the value it promised, the body is untouched, its diagnostic is gone,
and the file has no more errors than before. Everything else is left as it was, comments and formatting included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any, NamedTuple

import msgspec

from ferrule.compiler.locate import places_of
from ferrule.compiler.read import decode, read
from ferrule.compiler.unparsable import Unparsable
from ferrule.contracts.fix import Edit, Fix, Fixers, Manuscript
from ferrule.model.diagnostic import Diagnostic, Severity
from ferrule.model.document import Document, Source
from ferrule.model.value import dotted

MAX_FIXES = 500
"""Per file; more are left for a second run."""
_BOM = "\ufeff"
_ODD_BREAKS = ("\x85", "\u2028", "\u2029")
"""Line breaks to YAML but not to us: places and offsets would disagree, so such a file is left alone."""

Examine = Callable[[Source], list[Diagnostic]]
"""The diagnostics of a file on its own."""


class Mended(NamedTuple):
    """A file's new content."""

    before: str
    after: str
    rules: tuple[str, ...]
    """The rules that were answered, in order."""

    @property
    def data(self) -> bytes:
        """The bytes to write."""
        return self.after.encode()


def mend_text(source: Source, fixers: Fixers, examine: Examine) -> Mended | None:
    """The file with everything mended that can be mended safely; None when that is nothing."""
    before = _text_of(source)
    if before is None:
        return None
    current, diagnostics = source, examine(source)
    refused: set[tuple[str, str]] = set()
    answered: list[str] = []
    while len(answered) < MAX_FIXES:
        fix = next(_asked_for(current, fixers, diagnostics, refused), None)
        if fix is None:
            break
        mended = _attempt(current, fix)
        found = examine(mended) if mended is not None else []
        if mended is None or not _is_better(diagnostics, found, fix):
            refused.add(_identity(fix))
            continue
        current, diagnostics = mended, found
        answered.append(fix.rule)
    after = _text_of(current)
    return Mended(before, after, tuple(answered)) if answered and after is not None else None


def _asked_for(
    source: Source, fixers: Fixers, diagnostics: list[Diagnostic], refused: set[tuple[str, str]]
) -> Iterator[Fix]:
    """Fixes that answer a diagnostic and were not tried in vain."""
    asked = {(found.rule, found.path) for found in diagnostics if found.rule in fixers.rules}
    manuscript = _manuscript(source) if asked else None
    if manuscript is None:
        return
    for fixer in fixers.fixers:
        for fix in fixer(manuscript):
            if _identity(fix) not in refused and any((fix.rule, dotted(path)) in asked for path in fix.paths):
                yield fix


def _identity(fix: Fix) -> tuple[str, str]:
    return fix.rule, dotted(fix.paths[0])


def _manuscript(source: Source) -> Manuscript | None:
    document = _only_document(source)
    text = _text_of(source)
    if document is None or text is None or document.syntax == "json" or any(odd in text for odd in _ODD_BREAKS):
        return None
    return Manuscript(text.removeprefix(_BOM), document.value, places_of(document))  # type: ignore[arg-type]


def _only_document(source: Source) -> Document | None:
    documents = read(source)
    if len(documents) != 1 or documents[0].issues or not isinstance(documents[0].value, dict):
        return None
    return documents[0]


def _attempt(source: Source, fix: Fix) -> Source | None:
    """The file after a fix, or None when the text does not read back to what the fix promised."""
    document = _only_document(source)
    text = _text_of(source)
    if document is None or text is None:
        return None
    bom = _BOM if text.startswith(_BOM) else ""
    mended = msgspec.structs.replace(source, data=(bom + _edited(text.removeprefix(_BOM), fix.edits)).encode())
    result = _only_document(mended)
    promised: Any = deepcopy(document.value)
    fix.change(promised)
    if result is None or result.body != document.body or not _same(result.value, promised):
        return None
    return mended


def _edited(text: str, edits: tuple[Edit, ...]) -> str:
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def _same(one: object, other: object) -> bool:
    """Equal, and of the same types all the way down: to Python `1`, `1.0` and `true` are equal."""
    return one == other and _kinds(one) == _kinds(other)


def _kinds(value: object) -> object:
    match value:
        case dict():
            return {key: _kinds(member) for key, member in value.items()}
        case list():
            return [_kinds(item) for item in value]
        case _:
            return type(value)


def _is_better(before: list[Diagnostic], after: list[Diagnostic], fix: Fix) -> bool:
    paths = {dotted(path) for path in fix.paths}
    if any(found.rule == fix.rule and found.path in paths for found in after):
        return False
    return _errors(after) <= _errors(before)


def _errors(diagnostics: list[Diagnostic]) -> int:
    return sum(found.severity is Severity.ERROR for found in diagnostics)


def _text_of(source: Source) -> str | None:
    try:
        text = decode(source.data)
    except Unparsable:
        return None
    return _BOM + text if source.data.startswith(_BOM.encode()) else text
