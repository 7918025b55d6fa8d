"""Looks for everything at once: known secrets, well-known shapes and patterns of one's own. Says where, and under what name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ferrule.runtime.redaction import patterns as well_known
from ferrule.runtime.redaction.matcher import Matcher, Span
from ferrule.runtime.redaction.patterns import LONGEST, Pattern

MARK = b"[REDACTED]"
"""What stands in place of what was taken out."""
_APART = b"\xff\xfe\xff\xfe"
"""Between texts that are looked at together: no text has it, and nothing goes across it."""


_CUT_OFF = "…".encode()
"""Where a message was cut short: what stands before it may be the beginning of a secret."""
CUT_OFF = "cut_off"
"""The name under which the beginning of a secret is told; of which, is not known for certain."""


class Search(NamedTuple):
    """What is looked for."""

    matchers: tuple[Matcher, ...] = ()
    is_well_known: bool = False
    patterns: tuple[Pattern, ...] = ()

    def may_hold(self, data: bytes) -> bool:
        """False when none of these texts in a row has a secret or a well-known shape. Says nothing of patterns."""
        if not self.matchers:
            openings = well_known.openings_in(data) if self.is_well_known else ()
            return bool(openings) and well_known.may_hold(data, openings)
        noticed: list[tuple[int, bytes]] = []
        if any(matcher.may_hold(data, noticed) for matcher in self.matchers):
            return True
        if _CUT_OFF in data and next(self._cut_off(data), None) is not None:
            return True
        return self.is_well_known and well_known.may_hold(data, self._openings(data, noticed))

    def spans(self, data: bytes) -> list[Span]:
        """Secrets and well-known shapes in bytes, in no order."""
        noticed: list[tuple[int, bytes]] = []
        found = [span for matcher in self.matchers for span in matcher.spans(data, noticed)]
        if self.is_well_known:
            found += well_known.spans(data, self._openings(data, noticed))
        if _CUT_OFF in data:
            found += self._cut_off(data)
        return found

    def _cut_off(self, data: bytes) -> Iterator[Span]:
        """Beginnings of secrets where a text was cut short: however long they are, and however often that happened."""
        for matcher in self.matchers:
            for start, end in matcher.beginnings(data, _CUT_OFF):
                yield Span(start, end, CUT_OFF)

    def _openings(self, data: bytes, noticed: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
        is_noticed = any(matcher.notices for matcher in self.matchers)
        return noticed if is_noticed else well_known.openings_in(data)

    def spans_of_patterns(self, text: str) -> Iterator[Span]:
        """Matches of patterns, in bytes of the encoded text."""
        for pattern in self.patterns:
            yield from byte_spans(text, pattern.matches(text), pattern.name)

    def open_from(self, data: bytes, since: int) -> int:
        """Where the first text begins, from `since` on, that may turn out to be something once more bytes are there."""
        start = len(data) - LONGEST if self.patterns else len(data)
        if self.is_well_known:
            start = min(start, well_known.open_from(data, since))
        for matcher in self.matchers:
            start = min(start, matcher.open_from(data, since))
        return max(since, start)

    def cleaned(self, texts: Iterable[str]) -> tuple[dict[str, str], tuple[str, ...]]:
        """Those of the texts that have something to hide, without it; and what that was."""
        pieces = {text: text.encode("utf-8", "surrogatepass") for text in texts}
        spans = sorted(self.spans(_APART.join(pieces.values())))
        changed: dict[str, str] = {}
        names: dict[str, None] = {}
        begin = at = 0
        for text, piece in pieces.items():
            end = begin + len(piece)
            own = list(self.spans_of_patterns(text)) if self.patterns else []
            while at < len(spans) and spans[at].start < end:
                start, stop, name = spans[at]
                own.append(Span(max(start - begin, 0), min(stop, end) - begin, name))
                at += 1
            if own:
                own.sort()
                names.update((span.name, None) for span in own)
                changed[text] = decoded(without(piece, own))
            begin = end + len(_APART)
        return changed, tuple(names)


def byte_spans(
    text: str, matches: Iterable[tuple[int, int]], name: str, errors: str = "surrogatepass"
) -> Iterator[Span]:
    """Places among characters as places among bytes."""
    character = byte = 0
    is_plain = text.isascii()
    for start, end in matches:
        if is_plain:
            yield Span(start, end, name)
            continue
        first = byte + len(text[character:start].encode("utf-8", errors))
        byte = first + len(text[start:end].encode("utf-8", errors))
        character = end
        yield Span(first, byte, name)


def without(data: bytes, spans: Iterable[Span]) -> bytes:
    """The bytes with a mark in place of each span; spans that overlap or touch get one mark. They come in order."""
    pieces: list[bytes] = []
    covered = -1
    for start, end, _ in spans:
        if start > covered:
            pieces += (data[max(covered, 0) : start], MARK)
        covered = max(covered, end)
    pieces.append(data[max(covered, 0) :])
    return b"".join(pieces)


def decoded(data: bytes) -> str:
    """Text again. Where a cut left half a character behind, that is replaced."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")
