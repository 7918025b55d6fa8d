"""Mends one file's text: tries the fixes its diagnostics ask for, and keeps only those that are proven.

A fix is kept when the text reads back to exactly the value it promised, everything else in the file is untouched, its
diagnostic is gone, and the file has no more errors than before. Everything else is left as it was, comments and
formatting included. Fixes are tried many at a time; of a definition in which that fails, one at a time.
"""

from __future__ import annotations

import re
from bisect import bisect, insort
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any, NamedTuple

import msgspec

from ferrule.contracts.dialect import Dialect
from ferrule.contracts.fix import Edit, Fix, Fixers, Manuscript
from ferrule.definitions.compiler.locate import places_of
from ferrule.definitions.compiler.read import decode, read
from ferrule.definitions.compiler.scalars import Unparsable
from ferrule.model.diagnostic import Diagnostic, Severity
from ferrule.model.document import Document, Source
from ferrule.model.value import Path, format_path

MAX_FIXES = 10_000
"""Per file; more are left for a second run."""
MAX_READ = 8_000_000
"""Bytes of changed texts that are read and judged again, per file: a bound on time."""
MIN_ATTEMPTS = 8
"""Texts that are tried in any case."""
MAX_STEPS = 20
"""Fixes that may follow one that brings to light what others can mend."""
_BOM = "\ufeff"
_ODD_BREAKS = ("\x85", "\u2028", "\u2029")
"""Line breaks to YAML but not to us: places and offsets would disagree, so such a file is left alone."""

_STEP = re.compile(r"[.\[]|$")
"""Where a step of a path ends."""

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


_Place = tuple[int, Path]
"""A document of a file, and a path in it."""


class _Offer(NamedTuple):
    """A fix for one of a file's documents."""

    document: int
    base: str
    """Where the definition it is about stands."""
    fix: Fix

    @property
    def home(self) -> tuple[int, str]:
        """The definition it is about."""
        return self.document, self.base

    @property
    def identity(self) -> tuple[int, str, str]:
        """The same for the same fix of a later state of the file."""
        return self.document, self.fix.rule, format_path(self.fix.paths[0])


class _State(NamedTuple):
    """A file as it is now, and what is wrong with it."""

    source: Source
    diagnostics: list[Diagnostic]
    answered: tuple[str, ...] = ()

    @property
    def errors(self) -> int:
        return sum(found.severity is Severity.ERROR for found in self.diagnostics)

    @property
    def found(self) -> Counter[tuple[str, str]]:
        return Counter((found.rule, found.path) for found in self.diagnostics)


def mend_text(source: Source, dialect: Dialect, fixers: Fixers, examine: Examine) -> Mended | None:
    """The file with everything mended that can be mended safely; None when that is nothing."""
    before = _text_of(source)
    if before is None:
        return None
    state = _Mender(dialect, fixers, examine).mend(_State(source, examine(source)))
    after = _text_of(state.source)
    return Mended(before, after, state.answered) if state.answered and after is not None else None


class _Mender:
    """Tries fixes, and remembers what was tried in vain."""

    def __init__(self, dialect: Dialect, fixers: Fixers, examine: Examine) -> None:
        self.dialect = dialect
        self.fixers = fixers
        self.examine = examine
        self.refused: set[tuple[int, str, str]] = set()
        self.careful: set[tuple[int, str]] = set()
        """Definitions whose fixes are tried one at a time."""
        self.attempts = 0
        self.bytes_read = 0

    def mend(self, state: _State) -> _State:
        """The state after every fix that holds."""
        together = MAX_FIXES
        while (room := MAX_FIXES - len(state.answered)) > 0 and self.has_time:
            offers = self.chosen(state)[: min(together, room)]
            if not offers:
                break
            mended = self.attempt(state, offers)
            if mended is not None and _is_better(state, mended, offers):
                state, together = mended, together * 2
            elif len(offers) == 1:
                self.refused.add(offers[0].identity)
                if mended is not None and _is_answered(state, mended, offers):
                    state = self.followed(state, mended) or state
            elif mended is None or not self.blamed(state, mended, offers):
                together = len(offers) // 2
        return state

    @property
    def has_time(self) -> bool:
        """False when so much was tried that the rest is left for another run."""
        return self.attempts < MIN_ATTEMPTS or self.bytes_read < MAX_READ

    def attempt(self, state: _State, offers: list[_Offer]) -> _State | None:
        """The state after some fixes, or None when the text is not what they promise."""
        self.attempts += 1
        self.bytes_read += len(state.source.data)
        source = _rewritten(state.source, offers)
        if source is None:
            return None
        rules = tuple(offer.fix.rule for offer in offers)
        return _State(source, self.examine(source), state.answered + rules)

    def blamed(self, before: _State, after: _State, offers: list[_Offer]) -> bool:
        """Finds the definitions that some fixes made worse; the only fix of one is refused, others get turns."""
        bases = {offer.base for offer in offers}
        worse = _errors_by(after, bases) - _errors_by(before, bases)
        guilty = [offer for offer in offers if worse[offer.base] or not _is_answered(before, after, [offer])]
        homes = Counter(offer.home for offer in offers)
        for offer in guilty:
            if homes[offer.home] == 1 and len(homes) > 1:
                self.refused.add(offer.identity)
            else:
                self.careful.add(offer.home)
        return bool(guilty)

    def followed(self, state: _State, reached: _State) -> _State | None:
        """A fix that shows errors nobody saw before, together with the fixes of those; None when some remain."""
        seen = state.found
        tried = set(self.refused)
        for _ in range(MAX_STEPS):
            if reached.errors <= state.errors:
                break
            shown = reached.found - seen
            step = next((each for each in self.offers(reached, tried) if _answers(each.fix, shown)), None)
            if step is None:
                return None
            tried.add(step.identity)
            mended = self.attempt(reached, [step])
            if mended is not None and _is_better(reached, mended, [step]):
                reached = mended
        return reached if reached.errors <= state.errors else None

    def chosen(self, state: _State) -> list[_Offer]:
        """The fixes to try together."""
        chosen: list[_Offer] = []
        had: set[tuple[int, str]] = set()
        for offer in _apart(self.offers(state, self.refused)):
            if offer.home not in self.careful or offer.home not in had:
                chosen.append(offer)
                had.add(offer.home)
        return chosen

    def offers(self, state: _State, refused: set[tuple[int, str, str]]) -> Iterator[_Offer]:
        """Fixes that answer a diagnostic and were not tried in vain."""
        asked = state.found
        if not any(rule in self.fixers.rules for rule, _ in asked):
            return
        for index, manuscript in _manuscripts(state.source, self.dialect):
            homes = {definition.path for definition in manuscript.definitions}
            for fixer in self.fixers.fixers:
                for fix in fixer(manuscript):
                    offer = _Offer(index, format_path(_home(fix.paths[0], homes)), fix)
                    if offer.identity not in refused and _answers(fix, asked):
                        yield offer


def _home(path: Path, homes: set[Path]) -> Path:
    """The path of the definition around a path."""
    return next((path[:length] for length in range(len(path), 0, -1) if path[:length] in homes), ())


def _errors_by(state: _State, bases: set[str]) -> Counter[str]:
    """How many errors each of some definitions has."""
    errors: Counter[str] = Counter()
    for found in state.diagnostics:
        if found.severity is Severity.ERROR:
            ends = (match.start() for match in _STEP.finditer(found.path))
            errors[next((base for end in ends if (base := found.path[:end]) in bases), "")] += 1
    return errors


def _answers(fix: Fix, found: Counter[tuple[str, str]]) -> bool:
    return any(found[fix.rule, format_path(path)] > 0 for path in fix.paths)


def _is_better(before: _State, after: _State, offers: list[_Offer]) -> bool:
    return after.errors <= before.errors and _is_answered(before, after, offers)


def _is_answered(before: _State, after: _State, offers: list[_Offer]) -> bool:
    """True when every diagnostic that a fix is about is gone: documents of one file may have paths in common."""
    answered = Counter((offer.fix.rule, format_path(path)) for offer in offers for path in set(offer.fix.paths))
    had, has = before.found, after.found
    return all(has[place] <= max(had[place] - count, 0) for place, count in answered.items())


def _apart(offers: Iterator[_Offer]) -> list[_Offer]:
    """The fixes that touch neither the same text nor something inside one another; the others are for a later round."""
    chosen: list[_Offer] = []
    taken: list[tuple[int, int]] = []
    answered: set[_Place] = set()
    around: set[_Place] = set()
    for offer in offers:
        places = [(offer.document, path) for path in offer.fix.paths]
        above = {(offer.document, path[:length]) for path in offer.fix.paths for length in range(len(path))}
        if not answered.isdisjoint(above) or any(place in answered or place in around for place in places):
            continue
        if not all(_is_free(edit, taken) for edit in offer.fix.edits):
            continue
        chosen.append(offer)
        for edit in offer.fix.edits:
            insort(taken, edit[:2])
        answered.update(places)
        around |= above
        if len(chosen) >= MAX_FIXES:
            break
    return chosen


def _is_free(edit: Edit, taken: list[tuple[int, int]]) -> bool:
    """True when an edit touches none of the stretches that are taken, which do not touch one another."""
    at = bisect(taken, edit[:2])
    return not any(edit.start < end and start < edit.end for start, end in taken[max(at - 1, 0) : at + 1])


def _manuscripts(source: Source, dialect: Dialect) -> Iterator[tuple[int, Manuscript]]:
    documents = _sound(source)
    text = _text_of(source)
    if not documents or text is None:
        return
    is_json = documents[0].syntax == "json"
    if not is_json and any(odd in text for odd in _ODD_BREAKS):
        return
    for document in documents:
        definitions = dialect.definitions(document)[0]
        if definitions:
            written = text.removeprefix(_BOM)
            places = places_of(document)
            yield (
                document.index,
                Manuscript(written, document.value, places, is_json=is_json, definitions=definitions),
            )


def _sound(source: Source) -> list[Document]:
    """The documents of a file; none when the reader stumbled over something in one of them."""
    documents = read(source)
    return [] if any(document.issues for document in documents) else documents


def _rewritten(source: Source, offers: list[_Offer]) -> Source | None:
    """The file after some fixes, or None when the text does not read back to what they promised."""
    documents = _sound(source)
    text = _text_of(source)
    if not documents or text is None:
        return None
    edits = tuple(edit for offer in offers for edit in offer.fix.edits)
    bom = _BOM if text.startswith(_BOM) else ""
    mended = msgspec.structs.replace(source, data=(bom + _edited(text.removeprefix(_BOM), edits)).encode())
    results = _sound(mended)
    if len(results) != len(documents) or [each.body for each in results] != [each.body for each in documents]:
        return None
    promised: list[Any] = deepcopy([document.value for document in documents])
    try:
        for offer in offers:
            offer.fix.change(promised[offer.document])
    except LookupError:  # they do not go together; each is tried alone then
        return None
    return mended if _same([each.value for each in results], promised) else None


def _edited(text: str, edits: tuple[Edit, ...]) -> str:
    parts: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):  # what is put in one place keeps its order
        parts += [text[at : edit.start], edit.text]
        at = max(at, edit.end)
    return "".join([*parts, text[at:]])


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


def _text_of(source: Source) -> str | None:
    try:
        text = decode(source.data)
    except Unparsable:
        return None
    return _BOM + text if source.data.startswith(_BOM.encode()) else text
