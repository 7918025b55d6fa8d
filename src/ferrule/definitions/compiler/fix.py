"""Fixes one file's text: tries the fixes its diagnostics offer, and keeps only those that are proven.

A fix is kept when the text reads back to exactly the value it promised, everything else in the file is untouched,
its diagnostic is gone, and the file has no more errors than before. Everything else stays as it was, comments and
formatting included. Fixes are tried many at a time; in a definition where that fails, one at a time.
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
from ferrule.definitions.compiler.locate import find_places
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
"""Texts that are tried however large the file is."""
MAX_STEPS = 20
"""How many fixes may follow one that uncovers errors which others can fix."""
_BOM = "\ufeff"
_ODD_BREAKS = ("\x85", "\u2028", "\u2029")
"""Line breaks to YAML but not to us: places and offsets would disagree, so such a file is left alone."""

_STEP = re.compile(r"[.\[]|$")
"""Where a step of a path ends."""

Examine = Callable[[Source], list[Diagnostic]]
"""Returns the diagnostics of a file on its own."""


class FixedText(NamedTuple):
    """A file's content before and after its fixes."""

    before: str
    after: str
    rules: tuple[str, ...]
    """The rules whose findings were fixed, in order."""

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
    """The path of the definition it fixes."""
    fix: Fix

    @property
    def definition(self) -> tuple[int, str]:
        """The document and path of the definition it fixes."""
        return self.document, self.base

    @property
    def identity(self) -> tuple[int, str, str]:
        """The key by which the same fix is known in a later state of the file."""
        return self.document, self.fix.rule, format_path(self.fix.paths[0])


class _State(NamedTuple):
    """A file as it is now, and its diagnostics."""

    source: Source
    diagnostics: list[Diagnostic]
    fixed_rules: tuple[str, ...] = ()

    @property
    def error_count(self) -> int:
        return sum(found.severity is Severity.ERROR for found in self.diagnostics)

    @property
    def counts(self) -> Counter[tuple[str, str]]:
        return Counter((found.rule, found.path) for found in self.diagnostics)


def fix_text(source: Source, dialect: Dialect, fixers: Fixers, examine: Examine) -> FixedText | None:
    """Fixes everything that can be fixed safely; returns None when that is nothing."""
    before = _decode_text(source)
    if before is None:
        return None
    state = _FixAttempts(dialect, fixers, examine).fix_all(_State(source, examine(source)))
    after = _decode_text(state.source)
    return FixedText(before, after, state.fixed_rules) if state.fixed_rules and after is not None else None


class _FixAttempts:
    """Tries fixes, and remembers those that failed."""

    def __init__(self, dialect: Dialect, fixers: Fixers, examine: Examine) -> None:
        self.dialect = dialect
        self.fixers = fixers
        self.examine = examine
        self.refused: set[tuple[int, str, str]] = set()
        self.careful: set[tuple[int, str]] = set()
        """Definitions whose fixes are tried one at a time."""
        self.attempts = 0
        self.bytes_read = 0

    def fix_all(self, state: _State) -> _State:
        """Returns the state after every fix that holds."""
        together = MAX_FIXES
        while (room := MAX_FIXES - len(state.fixed_rules)) > 0 and self.has_time:
            offers = self.choose_offers(state)[: min(together, room)]
            if not offers:
                break
            mended = self.attempt(state, offers)
            if mended is not None and _is_better(state, mended, offers):
                # Doubles after a success and halves after a failure: most files take one attempt, and a bad fix is
                # found in a few.
                state, together = mended, together * 2
            elif len(offers) == 1:
                self.refused.add(offers[0].identity)
                # It may have uncovered errors that other fixes answer; only together they make the file better.
                if mended is not None and _is_answered(state, mended, offers):
                    state = self.follow_up(state, mended) or state
            elif mended is None or not self.blame_definitions(state, mended, offers):
                together = len(offers) // 2
        return state

    @property
    def has_time(self) -> bool:
        """False when so much was tried that the rest is left for another run."""
        return self.attempts < MIN_ATTEMPTS or self.bytes_read < MAX_READ

    def attempt(self, state: _State, offers: list[_Offer]) -> _State | None:
        """Returns the state after some fixes, or None when the text is not what they promise."""
        self.attempts += 1
        self.bytes_read += len(state.source.data)
        source = _apply_offers(state.source, offers)
        if source is None:
            return None
        rules = tuple(offer.fix.rule for offer in offers)
        return _State(source, self.examine(source), state.fixed_rules + rules)

    def blame_definitions(self, before: _State, after: _State, offers: list[_Offer]) -> bool:
        """Finds the definitions that some fixes made worse; refuses the only fix of one, and marks the others to be
        tried one at a time."""
        bases = {offer.base for offer in offers}
        worse = _count_errors(after, bases) - _count_errors(before, bases)
        guilty = [offer for offer in offers if worse[offer.base] or not _is_answered(before, after, [offer])]
        counts = Counter(offer.definition for offer in offers)
        for offer in guilty:
            if counts[offer.definition] == 1 and len(counts) > 1:
                self.refused.add(offer.identity)
            else:
                self.careful.add(offer.definition)
        return bool(guilty)

    def follow_up(self, state: _State, reached: _State) -> _State | None:
        """Adds the fixes of the errors that a fix uncovered. Returns None when some of those errors remain."""
        seen = state.counts
        tried = set(self.refused)
        for _ in range(MAX_STEPS):
            if reached.error_count <= state.error_count:
                break
            shown = reached.counts - seen
            step = next((each for each in self.find_offers(reached, tried) if _answers(each.fix, shown)), None)
            if step is None:
                return None
            tried.add(step.identity)
            mended = self.attempt(reached, [step])
            if mended is not None and _is_better(reached, mended, [step]):
                reached = mended
        return reached if reached.error_count <= state.error_count else None

    def choose_offers(self, state: _State) -> list[_Offer]:
        """Returns the fixes to try together."""
        chosen: list[_Offer] = []
        had: set[tuple[int, str]] = set()
        for offer in _pick_separate(self.find_offers(state, self.refused)):
            if offer.definition not in self.careful or offer.definition not in had:
                chosen.append(offer)
                had.add(offer.definition)
        return chosen

    def find_offers(self, state: _State, refused: set[tuple[int, str, str]]) -> Iterator[_Offer]:
        """Yields the fixes that answer a diagnostic and were not refused before."""
        wanted = state.counts
        if not any(rule in self.fixers.rules for rule, _ in wanted):
            return
        # Only now: manuscripts need the file read again, with its places.
        for index, manuscript in _read_manuscripts(state.source, self.dialect):
            paths = {definition.path for definition in manuscript.definitions}
            for fixer in self.fixers.fixers:
                for fix in fixer(manuscript):
                    offer = _Offer(index, format_path(_find_definition(fix.paths[0], paths)), fix)
                    if offer.identity not in refused and _answers(fix, wanted):
                        yield offer


def _find_definition(path: Path, definitions: set[Path]) -> Path:
    """Returns the path of the definition around a path."""
    return next((path[:length] for length in range(len(path), 0, -1) if path[:length] in definitions), ())


def _count_errors(state: _State, bases: set[str]) -> Counter[str]:
    """Counts the errors of each of some definitions."""
    errors: Counter[str] = Counter()
    for found in state.diagnostics:
        if found.severity is Severity.ERROR:
            ends = (match.start() for match in _STEP.finditer(found.path))
            errors[next((base for end in ends if (base := found.path[:end]) in bases), "")] += 1
    return errors


def _answers(fix: Fix, found: Counter[tuple[str, str]]) -> bool:
    return any(found[fix.rule, format_path(path)] > 0 for path in fix.paths)


def _is_better(before: _State, after: _State, offers: list[_Offer]) -> bool:
    return after.error_count <= before.error_count and _is_answered(before, after, offers)


def _is_answered(before: _State, after: _State, offers: list[_Offer]) -> bool:
    """True when every diagnostic that a fix is about is gone. It counts, since documents of one file may have paths
    in common."""
    answered = Counter((offer.fix.rule, format_path(path)) for offer in offers for path in set(offer.fix.paths))
    had, has = before.counts, after.counts
    return all(has[place] <= max(had[place] - count, 0) for place, count in answered.items())


def _pick_separate(offers: Iterator[_Offer]) -> list[_Offer]:
    """Picks fixes that touch neither the same text nor something inside one another; the others wait for a later
    round."""
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


def _read_manuscripts(source: Source, dialect: Dialect) -> Iterator[tuple[int, Manuscript]]:
    documents = _read_clean(source)
    text = _decode_text(source)
    if not documents or text is None:
        return
    is_json = documents[0].syntax == "json"
    if not is_json and any(odd in text for odd in _ODD_BREAKS):
        return
    for document in documents:
        definitions = dialect.definitions(document)[0]
        if definitions:
            # Places are counted without the mark.
            written = text.removeprefix(_BOM)
            places = find_places(document)
            yield (
                document.index,
                Manuscript(written, document.value, places, is_json=is_json, definitions=definitions),
            )


def _read_clean(source: Source) -> list[Document]:
    """Reads the documents of a file; returns none when the reader reported an issue in any of them."""
    documents = read(source)
    return [] if any(document.issues for document in documents) else documents


def _apply_offers(source: Source, offers: list[_Offer]) -> Source | None:
    """Returns the file after some fixes, or None when the text does not read back to what they promised."""
    documents = _read_clean(source)
    text = _decode_text(source)
    if not documents or text is None:
        return None
    edits = tuple(edit for offer in offers for edit in offer.fix.edits)
    bom = _BOM if text.startswith(_BOM) else ""
    mended = msgspec.structs.replace(source, data=(bom + _apply_edits(text.removeprefix(_BOM), edits)).encode())
    results = _read_clean(mended)
    # Nothing below the front matter may change.
    if len(results) != len(documents) or [each.body for each in results] != [each.body for each in documents]:
        return None
    # The proof: apply the changes to the old values, and compare with what the new text reads back to.
    promised: list[Any] = deepcopy([document.value for document in documents])
    try:
        for offer in offers:
            offer.fix.change(promised[offer.document])
    except LookupError:  # they do not go together; each is tried alone then
        return None
    return mended if _is_same([each.value for each in results], promised) else None


def _apply_edits(text: str, edits: tuple[Edit, ...]) -> str:
    parts: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):  # inserts at one place keep their order
        parts += [text[at : edit.start], edit.text]
        at = max(at, edit.end)
    return "".join([*parts, text[at:]])


def _is_same(one: object, other: object) -> bool:
    """True when two values are equal and of the same types all the way down: to Python `1`, `1.0` and `true` are
    equal."""
    return one == other and _list_types(one) == _list_types(other)


def _list_types(value: object) -> object:
    match value:
        case dict():
            return {key: _list_types(member) for key, member in value.items()}
        case list():
            return [_list_types(item) for item in value]
        case _:
            return type(value)


def _decode_text(source: Source) -> str | None:
    try:
        text = decode(source.data)
    except Unparsable:
        return None
    return _BOM + text if source.data.startswith(_BOM.encode()) else text
