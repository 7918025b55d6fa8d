"""Looks for everything at once: known secrets, well-known shapes and patterns of one's own. Says where, and under what name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ferrule.runtime.redaction import patterns as well_known
from ferrule.runtime.redaction.matcher import Matcher, SecretSpan
from ferrule.runtime.redaction.patterns import MAX_MATCH_CHARS, Pattern

MARK = b"[REDACTED]"
"""What stands in place of what was taken out."""
_SEPARATOR = b"\xff\xfe\xff\xfe"
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
            openings = well_known.find_openings(data) if self.is_well_known else ()
            return bool(openings) and well_known.may_hold(data, openings)
        noticed: list[tuple[int, bytes]] = []
        if any(matcher.may_hold(data, noticed) for matcher in self.matchers):
            return True
        if _CUT_OFF in data and next(self._find_cut_off(data), None) is not None:
            return True
        return self.is_well_known and well_known.may_hold(data, self._choose_openings(data, noticed))

    def find_spans(self, data: bytes) -> list[SecretSpan]:
        """Secrets and well-known shapes in bytes, in no order."""
        noticed: list[tuple[int, bytes]] = []
        found = [span for matcher in self.matchers for span in matcher.find_spans(data, noticed)]
        if self.is_well_known:
            found += well_known.find_spans(data, self._choose_openings(data, noticed))
        if _CUT_OFF in data:
            found += self._find_cut_off(data)
        return found

    def _find_cut_off(self, data: bytes) -> Iterator[SecretSpan]:
        """Beginnings of secrets where a text was cut short: however long they are, and however often that happened."""
        for matcher in self.matchers:
            for start, end in matcher.find_beginnings(data, _CUT_OFF):
                yield SecretSpan(start, end, CUT_OFF)

    def _choose_openings(self, data: bytes, noticed: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
        is_noticed = any(matcher.notices for matcher in self.matchers)
        return noticed if is_noticed else well_known.find_openings(data)

    def find_pattern_spans(self, text: str) -> Iterator[SecretSpan]:
        """Matches of patterns, in bytes of the encoded text."""
        for pattern in self.patterns:
            yield from iter_byte_spans(text, pattern.find_matches(text), pattern.name)

    def find_open_end(self, data: bytes, since: int) -> int:
        """Where the first text begins, from `since` on, that may turn out to be something once more bytes are there."""
        start = len(data) - MAX_MATCH_CHARS if self.patterns else len(data)
        if self.is_well_known:
            start = min(start, well_known.find_open_end(data, since))
        for matcher in self.matchers:
            start = min(start, matcher.find_open_end(data, since))
        return max(since, start)

    def clean_texts(self, texts: Iterable[str]) -> tuple[dict[str, str], tuple[str, ...]]:
        """Those of the texts that have something to hide, without it; and what that was."""
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
    """Places among characters as places among bytes."""
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
    """The bytes with a mark in place of each span; spans that overlap or touch get one mark. They come in order."""
    pieces: list[bytes] = []
    covered = -1
    for start, end, _ in spans:
        if start > covered:
            pieces += (data[max(covered, 0) : start], MARK)
        covered = max(covered, end)
    pieces.append(data[max(covered, 0) :])
    return b"".join(pieces)


def decode_text(data: bytes) -> str:
    """Text again. Where a cut left half a character behind, that is replaced."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")
