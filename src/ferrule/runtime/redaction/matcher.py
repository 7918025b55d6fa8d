"""Finds every spelling of many secrets in bytes, in one or two passes.

An automaton knows the first bytes of all spellings; a hit is then compared in full. That keeps it small and quick to
build. Base64, hex and escapes are searched a second time with blanks and backslashes left out: that joins wrapped and
indented lines, and undoes JSON inside JSON.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, product
from typing import NamedTuple

from ahocorasick_rs import BytesAhoCorasick, Implementation, MatchKind

from ferrule.runtime.redaction.spellings import IGNORED_BYTES, SecretSpelling, blank_escapes

REACH = 72
"""How many bytes after a match may belong to it, or decide whether it is one."""
_GAP = 64
"""The most blanks between a match and the character that holds its last bits."""
_OPENING = 6
_MAX_SEARCHED = 48
"""Up to this many spellings are searched one by one: building an automaton would take longer."""
_MAX_DFA_OPENINGS = 16_384
"""The quicker kind of automaton takes about a kilobyte per opening; beyond this number the smaller kind is used."""
_BLOCK = 4096
_SHARED = 8
_BASE64 = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")


class SecretSpan(NamedTuple):
    """Bytes to redact, and the name they are reported under."""

    start: int
    end: int
    name: str


class _MatcherEntry(NamedTuple):
    spelling: SecretSpelling
    name: str


class _Hit(NamedTuple):
    start: int
    end: int
    entry: _MatcherEntry


class Matcher:
    """The spellings of some secrets; the same pass also reports short texts for another search."""

    __slots__ = ("_compact", "_plain", "notices")

    def __init__(
        self,
        secrets: Iterable[tuple[str, Iterable[SecretSpelling]]],
        notices: Sequence[bytes] = (),
        *,
        lasts: bool = False,
    ) -> None:
        """`lasts`: it will be used again and again, so that it may take time to make it quick."""
        entries = [_MatcherEntry(spelling, name) for name, spellings in secrets for spelling in spellings]
        plain = [entry for entry in entries if not entry.spelling.is_compact]
        self.notices = bool(notices)
        """Whether it says where the short texts are."""
        plain += (_MatcherEntry(SecretSpelling(text), "") for text in notices)
        self._plain = _Finder(plain, lasts=lasts)
        self._compact = _Finder([entry for entry in entries if entry.spelling.is_compact], lasts=lasts)

    def may_hold(self, data: bytes, noticed: list[tuple[int, bytes]]) -> bool:
        """Returns False when the bytes contain no secret, however they are cut."""
        if self._plain.may_hit(data):
            for start, _, entry in self._plain.find_hits(data):
                if entry.name:
                    return True
                noticed.append((start, entry.spelling.text))
        view = blank_escapes(data).translate(None, IGNORED_BYTES)
        return self._compact.may_hit(view) and next(self._compact.find_hits(view), None) is not None

    def find_spans(self, data: bytes, noticed: list[tuple[int, bytes]]) -> list[SecretSpan]:
        """Finds every secret, in no order; spans may overlap."""
        found: list[SecretSpan] = []
        for start, end, (spelling, name) in self._plain.find_hits(data):
            if not name:
                noticed.append((start, spelling.text))
            elif not spelling.is_word or _is_word(data, start, end):
                found.append(SecretSpan(start, end, name))
        bare = blank_escapes(data)
        view = bare.translate(None, IGNORED_BYTES)
        places = _ViewOffsets(bare, len(view))
        for hit in self._compact.find_hits(view):
            span = _find_compact_span(data, view, places, hit)
            if span is not None:
                found.append(span)
        return found

    def find_beginnings(self, data: bytes, mark: bytes) -> Iterator[tuple[int, int]]:
        """Yields where the beginning of a secret, of six bytes or more, stands right before a mark."""
        yield from self._plain.find_beginnings(data, mark)
        bare = blank_escapes(data)
        view = bare.translate(None, IGNORED_BYTES)
        places = _ViewOffsets(bare, len(view))
        for start, end in self._compact.find_beginnings(view, mark):
            # The character before may hold the first bits of a secret.
            yield places.locate(max(0, start - 1)), places.locate(end - 1) + 1

    def find_open_end(self, data: bytes, since: int) -> int:
        """Returns the start of the first bytes, from `since` on, that may become a secret once more bytes arrive."""
        begin = max(since, len(data) - _max_stretch(self._compact.longest) - _GAP)
        tail = blank_escapes(data[begin:])
        view = tail.translate(None, IGNORED_BYTES) if self._compact.longest else b""
        if not view:
            return self._plain.find_open_end(data, since)
        # The character before may hold the first bits of a secret, even when nothing of the rest is there yet.
        opened = max(0, self._compact.find_open_end(view, 0) - 1)
        start = begin + _ViewOffsets(tail, len(view)).locate(opened)
        return min(start, self._plain.find_open_end(data, since))


class _Finder:
    """A search for spellings in one view of the bytes."""

    __slots__ = ("_automaton", "_by_opening", "_entries", "_firsts", "_sorted", "longest")

    def __init__(self, entries: list[_MatcherEntry], *, lasts: bool) -> None:
        self.longest = max((len(entry.spelling.text) for entry in entries), default=0)
        self._entries = entries
        self._automaton: BytesAhoCorasick | None = None
        self._by_opening: list[_SpellingGroup] = []
        self._sorted: tuple[list[bytes], list[bytes]] | None = None
        self._firsts: frozenset[bytes] = frozenset()
        if len(entries) > _MAX_SEARCHED or (entries and lasts):
            openings: dict[bytes, list[_MatcherEntry]] = {}
            for entry in entries:
                for opening in _list_openings(entry.spelling):
                    openings.setdefault(opening, []).append(entry)
            self._by_opening = [_SpellingGroup(entries) for entries in openings.values()]
            kind = Implementation.DFA if len(openings) <= _MAX_DFA_OPENINGS else Implementation.ContiguousNFA
            self._automaton = BytesAhoCorasick(list(openings), matchkind=MatchKind.Standard, implementation=kind)

    def may_hit(self, data: bytes) -> bool:
        """Returns False when nothing in the bytes begins like a spelling."""
        return self._automaton is None or bool(self._automaton.find_matches_as_indexes(data, overlapping=True))

    def find_hits(self, data: bytes) -> Iterator[_Hit]:
        """Yields the spellings found. Many hits that overlap with themselves, as in a row of zeros, are merged."""
        told: dict[_MatcherEntry, _Hit] = {}
        for start, entry in self._iter_candidates(data):
            last = told.get(entry)
            end = start + len(entry.spelling.text)
            if last is None or last.end <= start or entry.spelling.is_word:
                told[entry] = hit = _Hit(start, end, entry)
                yield hit
            elif end > last.end:
                for hit in _merge_run(data, start, start - last.start, entry):
                    told[entry] = hit
                    yield hit

    def _iter_candidates(self, data: bytes) -> Iterator[tuple[int, _MatcherEntry]]:
        if self._automaton is None:
            yield from self._search_one_by_one(data)
            return
        for number, start, _ in self._automaton.find_matches_as_indexes(data, overlapping=True):
            for entry in self._by_opening[number].find_at(data, start):
                yield start, entry

    def _search_one_by_one(self, data: bytes) -> Iterator[tuple[int, _MatcherEntry]]:
        lowered = data.lower() if any(entry.spelling.folds for entry in self._entries) else data
        for entry in self._entries:
            within = lowered if entry.spelling.folds else data
            start = within.find(entry.spelling.text)
            while start >= 0:
                yield start, entry
                start = within.find(entry.spelling.text, start + 1)

    def find_beginnings(self, data: bytes, mark: bytes) -> Iterator[tuple[int, int]]:
        """Yields where the beginning of a spelling stands right before a mark."""
        last = end = -1
        for start in self._iter_openings(data):
            if not last <= start <= end - _OPENING:  # search the mark once for all openings before it
                end = data.find(mark, start + _OPENING)
                end = end if end >= 0 else len(data) + self.longest + _OPENING
            last = start
            if end < start + self.longest and self._begins_spelling(data[start:end]):
                yield start, end

    def _iter_openings(self, data: bytes) -> Iterator[int]:
        """Yields where something begins like a spelling."""
        if self._automaton is not None:
            yield from (start for _, start, _ in self._automaton.find_matches_as_indexes(data, overlapping=True))
            return
        lowered = data.lower() if any(entry.spelling.folds for entry in self._entries) else data
        for entry in self._entries:
            within, opening = lowered if entry.spelling.folds else data, entry.spelling.text[:_OPENING]
            start = within.find(opening)
            while start >= 0:
                yield start
                start = within.find(opening, start + 1)

    def find_open_end(self, data: bytes, since: int) -> int:
        """Returns the start of the first unfinished spelling at the end; the length without one."""
        if not self._entries:
            return len(data)
        self._sort()
        end = len(data)
        for start in range(max(since, end - self.longest + 1), end):
            first = data[start : start + 2]
            if (len(first) < 2 or first in self._firsts or first.lower() in self._firsts) and self._begins_spelling(
                data[start:]
            ):
                return start
        return end

    def _sort(self) -> tuple[list[bytes], list[bytes]]:
        if self._sorted is None:
            exact = sorted({entry.spelling.text for entry in self._entries if not entry.spelling.folds})
            folded = sorted({entry.spelling.text for entry in self._entries if entry.spelling.folds})
            self._firsts = frozenset(text[:2] for text in exact) | frozenset(text[:2] for text in folded)
            self._sorted = exact, folded
        return self._sorted

    def _begins_spelling(self, text: bytes) -> bool:
        for known, wanted in zip(self._sort(), (text, text.lower()), strict=True):
            at = bisect_left(known, wanted)
            if at < len(known) and known[at].startswith(wanted):
                return True
        return False


class _SpellingGroup:
    """Spellings that begin alike. Many of them, such as keys of one service, are looked up in tables."""

    __slots__ = ("_few", "_tables")

    def __init__(self, entries: list[_MatcherEntry]) -> None:
        self._few = entries if len(entries) <= _SHARED else []
        self._tables: dict[tuple[int, bool], dict[bytes, list[_MatcherEntry]]] = {}
        for entry in () if self._few else entries:
            text, folds = entry.spelling.text, entry.spelling.folds
            self._tables.setdefault((len(text), folds), {}).setdefault(text, []).append(entry)

    def find_at(self, data: bytes, start: int) -> Iterator[_MatcherEntry]:
        """Yields the spellings at a position."""
        for entry in self._few:
            text = entry.spelling.text
            if data.startswith(text, start) or (
                entry.spelling.folds and data[start : start + len(text)].lower() == text
            ):
                yield entry
        for (length, folds), table in self._tables.items():
            piece = data[start : start + length]
            yield from table.get(piece.lower() if folds else piece, ())


class _ViewOffsets:
    """Maps positions in a view without blanks and backslashes back to the original bytes."""

    __slots__ = ("_counts", "_data", "_is_same", "_known")

    def __init__(self, data: bytes, length: int) -> None:
        self._data = data
        self._is_same = length == len(data)
        self._counts: list[int] = []
        self._known: tuple[int, list[int]] = (-1, [])

    def locate(self, at: int) -> int:
        if self._is_same:
            return at
        if not self._counts:
            starts = range(0, len(self._data), _BLOCK)
            lengths = (len(self._data[start : start + _BLOCK].translate(None, IGNORED_BYTES)) for start in starts)
            self._counts = list(accumulate(lengths, initial=0))
        block = bisect_right(self._counts, at) - 1
        if self._known[0] != block:
            start = block * _BLOCK
            within = enumerate(self._data[start : start + _BLOCK], start)
            self._known = block, [place for place, byte in within if byte not in IGNORED_BYTES]
        return self._known[1][at - self._counts[block]]


def _merge_run(data: bytes, start: int, period: int, entry: _MatcherEntry) -> Iterator[_Hit]:
    """Merges overlapping hits into one long hit, with the last ones one by one: more bytes may still extend the run."""
    size = len(entry.spelling.text)
    count = _count_repeated(data, start + size, period) // period
    single = min(count, (REACH + size) // period + 1)
    last = start + (count - single) * period
    yield _Hit(start, last + size, entry)
    for number in range(1, single + 1):
        yield _Hit(last + number * period, last + number * period + size, entry)


def _count_repeated(data: bytes, at: int, period: int) -> int:
    """Counts the bytes that repeat those one period before."""
    # In strides that double: a run may be megabytes long.
    found, step = 0, 64
    while step:
        piece = data[at + found : at + found + step]
        if piece == data[at + found - period : at + found - period + len(piece)]:
            found += len(piece)
            step = 2 * step if len(piece) == step else 0
        else:
            step //= 2
    return found


def _find_compact_span(data: bytes, view: bytes, places: _ViewOffsets, hit: _Hit) -> SecretSpan | None:
    (at, _, (spelling, name)), last = hit, hit.end - 1
    start, end = places.locate(at), places.locate(last) + 1
    # Further apart than line breaks and backslashes explain: letters of other words that happen to fit.
    if end - start > _max_stretch(hit.end - at):
        return None
    if spelling.is_word and not _is_word(data, start, end):
        return None
    if spelling.before and at > 0 and view[at - 1] in _BASE64:
        before = places.locate(at - 1)
        start = before if start - before <= _GAP else start
    if spelling.after and last + 1 < len(view) and view[last + 1] in _BASE64:
        after = places.locate(last + 1)
        end = after + 1 if after - end <= _GAP else end
    if not spelling.folds:  # the padding of base64
        for _ in range(2):
            end += data[end : end + 1] == b"="
    return SecretSpan(start, end, name)


def _max_stretch(length: int) -> int:
    """Returns how far blanks and backslashes may stretch a spelling."""
    return 4 * length + _GAP


def _list_openings(spelling: SecretSpelling) -> Iterable[bytes]:
    opening = spelling.text[:_OPENING]
    if not spelling.folds:
        return (opening,)
    # The automaton knows no folding: at most 64 cases of six characters here, the rest is compared later.
    cases = [{character, character.upper()} for character in opening.decode()]
    return ["".join(characters).encode() for characters in product(*cases)]


def _is_word(data: bytes, start: int, end: int) -> bool:
    """Returns True when no letter, digit or underscore touches it."""
    before = data[max(0, start - 4) : start].decode("utf-8", "ignore")[-1:]
    after = data[end : end + 4].decode("utf-8", "ignore")[:1]
    return not (before.isalnum() or before == "_" or after.isalnum() or after == "_")
