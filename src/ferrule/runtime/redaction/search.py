"""Searches bytes for known secrets, well-known shapes and own patterns in one pass; returns positions and names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ferrule.runtime.redaction import patterns as well_known
from ferrule.runtime.redaction.matcher import Matcher, SecretSpan
from ferrule.runtime.redaction.patterns import MAX_MATCH_CHARS, Pattern

MARK = b"[REDACTED]"
"""The replacement of every redacted span."""
_SEPARATOR = b"\xff\xfe\xff\xfe"
"""Separates texts that are searched together: no UTF-8 text contains it, and no match crosses it."""


_CUT_OFF = "…".encode()
"""The mark of a truncated message: the text before it may be the beginning of a secret."""
CUT_OFF = "cut_off"
"""The name under which the beginning of a secret is reported; which secret is uncertain."""


class Search(NamedTuple):
    """A search for known secrets, well-known shapes and own patterns."""

    matchers: tuple[Matcher, ...] = ()
    is_well_known: bool = False
    patterns: tuple[Pattern, ...] = ()

    def may_hold(self, data: bytes) -> bool:
        """Returns False when the data has no secret and no well-known shape. Does not check patterns."""
        if not self.matchers:
            openings = well_known.find_openings(data) if self.is_well_known else ()
            return bool(openings) and well_known.may_hold(data, openings)
        noticed: list[tuple[int, bytes]] = []
        if any(matcher.may_hold(data, noticed) for matcher in self.matchers):
            return True
        if _CUT_OFF in data and next(self._find_cut_off(data), None) is not None:
            return True
        return self.is_well_known and well_known.may_hold(data, self._choose_openings(data, noticed))

    def find_spans(self, data: bytes) -> list[SecretSpan]:
        """Finds secrets and well-known shapes, in no order."""
        noticed: list[tuple[int, bytes]] = []
        found = [span for matcher in self.matchers for span in matcher.find_spans(data, noticed)]
        if self.is_well_known:
            found += well_known.find_spans(data, self._choose_openings(data, noticed))
        if _CUT_OFF in data:
            found += self._find_cut_off(data)
        return found

    def _find_cut_off(self, data: bytes) -> Iterator[SecretSpan]:
        """Yields the beginnings of secrets where a text was truncated."""
        for matcher in self.matchers:
            for start, end in matcher.find_beginnings(data, _CUT_OFF):
                yield SecretSpan(start, end, CUT_OFF)

    def _choose_openings(self, data: bytes, noticed: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
        is_noticed = any(matcher.notices for matcher in self.matchers)
        return noticed if is_noticed else well_known.find_openings(data)

    def find_pattern_spans(self, text: str) -> Iterator[SecretSpan]:
        """Yields the matches of patterns, as positions in the encoded text."""
        for pattern in self.patterns:
            yield from iter_byte_spans(text, pattern.find_matches(text), pattern.name)

    def find_open_end(self, data: bytes, since: int) -> int:
        """Returns the start of the first bytes, from `since` on, that may become a match once more bytes arrive."""
        start = len(data) - MAX_MATCH_CHARS if self.patterns else len(data)
        if self.is_well_known:
            start = min(start, well_known.find_open_end(data, since))
        for matcher in self.matchers:
            start = min(start, matcher.find_open_end(data, since))
        return max(since, start)

    def clean_texts(self, texts: Iterable[str]) -> tuple[dict[str, str], tuple[str, ...]]:
        """Returns the redacted form of each text that has something to hide, and the names of what was removed."""
        pieces = {text: text.encode("utf-8", "surrogatepass") for text in texts}
        spans = sorted(self.find_spans(_SEPARATOR.join(pieces.values())))
        changed: dict[str, str] = {}
        names: dict[str, None] = {}
        begin = at = 0
        for text, piece in pieces.items():
            end = begin + len(piece)
            own = list(self.find_pattern_spans(text)) if self.patterns else []
            while at < len(spans) and spans[at].start < end:
                start, stop, name = spans[at]
                own.append(SecretSpan(max(start - begin, 0), min(stop, end) - begin, name))
                at += 1
            if own:
                own.sort()
                names.update((span.name, None) for span in own)
                changed[text] = decode_text(replace_spans(piece, own))
            begin = end + len(_SEPARATOR)
        return changed, tuple(names)


def iter_byte_spans(
    text: str, matches: Iterable[tuple[int, int]], name: str, errors: str = "surrogatepass"
) -> Iterator[SecretSpan]:
    """Converts positions of characters into positions of bytes."""
    character = byte = 0
    is_plain = text.isascii()
    for start, end in matches:
        if is_plain:
            yield SecretSpan(start, end, name)
            continue
        first = byte + len(text[character:start].encode("utf-8", errors))
        byte = first + len(text[start:end].encode("utf-8", errors))
        character = end
        yield SecretSpan(first, byte, name)


def replace_spans(data: bytes, spans: Iterable[SecretSpan]) -> bytes:
    """Replaces each span by a mark; spans that overlap or touch get one. They come in order."""
    pieces: list[bytes] = []
    covered = -1
    for start, end, _ in spans:
        if start > covered:
            pieces += (data[max(covered, 0) : start], MARK)
        covered = max(covered, end)
    pieces.append(data[max(covered, 0) :])
    return b"".join(pieces)


def decode_text(data: bytes) -> str:
    """Decodes redacted bytes; a half character left by a cut is replaced."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")
