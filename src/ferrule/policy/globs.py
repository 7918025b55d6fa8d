"""Globs over names and over paths cut into segments. Both take time in proportion to pattern times text, never more."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import translate
from functools import lru_cache

LONGEST = 1000
_MAGIC = re.compile(r"[*?\[]")

Test = Callable[[str], bool]


def is_literal(pattern: str) -> bool:
    """True for a pattern that fits exactly one text."""
    return _MAGIC.search(pattern) is None


def defect_of(pattern: str) -> str | None:
    """What makes a glob unusable, or None."""
    if not pattern.strip():
        return "it is empty and fits nothing"
    if len(pattern) > LONGEST:
        return f"it is longer than {LONGEST} characters"
    opened = pattern.find("[")
    while opened >= 0:
        closed = pattern.find("]", opened + (3 if pattern[opened + 1 : opened + 2] == "!" else 2))
        if closed < 0:
            return "a `[` is not closed"
        opened = pattern.find("[", closed)
    return None


@lru_cache(maxsize=4096)
def test_of(pattern: str) -> Test:
    """A test for whole texts. Case counts."""
    if is_literal(pattern):
        return lambda text: text == pattern
    match = re.compile(translate(pattern)).match
    return lambda text: match(text) is not None


def fits(patterns: Iterable[str], text: str) -> bool:
    """True when one of the patterns fits the text."""
    return any(test_of(pattern)(text) for pattern in patterns)


class Segments:
    """A glob over segments: `*` stays within one, a segment `**` stands for any number of them."""

    __slots__ = ("_tests", "needs_more")

    def __init__(self, pattern: Sequence[str], *, needs_more: bool = False) -> None:
        self._tests = tuple(None if part == "**" else test_of(part) for part in pattern)
        self.needs_more = needs_more
        """True when a closing `**` stands for at least one segment, so that `src/**` is not `src` itself."""

    def fits(self, parts: Sequence[str]) -> bool:
        """True when the whole sequence fits."""
        tests = self._tests
        if self.needs_more and tests and tests[-1] is None:
            return self._reaches(tests[:-1], parts[:-1], is_open=True) and bool(parts)
        return self._reaches(tests, parts, is_open=False)

    def _reaches(self, tests: Sequence[Test | None], parts: Sequence[str], *, is_open: bool) -> bool:
        """Walks all ways through the pattern at once; `is_open`: whatever follows a full fit fits as well."""
        ways = _through({0}, tests)
        for part in parts:
            if is_open and len(tests) in ways:
                return True
            ways = _through({after for at in ways for after in _step(tests, at, part)}, tests)
        return len(tests) in ways


def _step(tests: Sequence[Test | None], at: int, part: str) -> tuple[int, ...]:
    if at == len(tests):
        return ()
    test = tests[at]
    if test is None:
        return (at,)
    return (at + 1,) if test(part) else ()


def _through(ways: set[int], tests: Sequence[Test | None]) -> set[int]:
    """The positions, and those behind every `**` that stands for nothing."""
    reached = set(ways)
    for at in ways:
        while at < len(tests) and tests[at] is None:
            at += 1
            reached.add(at)
    return reached
