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
    """Returns True for a pattern that fits exactly one text."""
    return _MAGIC.search(pattern) is None


def find_glob_defect(pattern: str) -> str | None:
    """Returns the reason why a glob cannot be used; None when it can."""
    if not pattern.strip():
        return "it is empty and fits nothing"
    if len(pattern) > LONGEST:
        return f"it is longer than {LONGEST} characters"
    opened = pattern.find("[")
    while opened >= 0:
        # As in fnmatch, a `]` right behind the opening bracket (or its `!`) is a member of the class.
        closed = pattern.find("]", opened + (3 if pattern[opened + 1 : opened + 2] == "!" else 2))
        if closed < 0:
            return "a `[` is not closed"
        opened = pattern.find("[", closed)
    return None


@lru_cache(maxsize=4096)
def compile_glob(pattern: str) -> Test:
    """Compiles a case-sensitive test for whole texts."""
    if is_literal(pattern):
        return lambda text: text == pattern
    match = re.compile(translate(pattern)).match
    return lambda text: match(text) is not None


def fits(patterns: Iterable[str], text: str) -> bool:
    """Returns True when one of the patterns fits the text."""
    return any(compile_glob(pattern)(text) for pattern in patterns)


class Segments:
    """A glob over segments: `*` stays within one, a segment `**` stands for any number of them."""

    __slots__ = ("_head", "_inner", "_needs_more", "_tail")

    def __init__(self, pattern: Sequence[str], *, needs_more: bool = False) -> None:
        tests: list[Test | None] = [None if part == "**" else compile_glob(part) for part in pattern]
        stars = [number for number, test in enumerate(tests) if test is None]
        first, last = (stars[0], stars[-1]) if stars else (len(tests), len(tests))
        self._head = tuple(test for test in tests[:first] if test is not None)
        self._inner = tuple(tests[first : last + 1]) if stars else None
        """From the first `**` to the last; None when there is none."""
        self._tail = tuple(test for test in tests[last + 1 :] if test is not None)
        self._needs_more = needs_more and bool(stars) and last == len(tests) - 1
        """True when a closing `**` stands for at least one segment, so that `src/**` is not `src` itself."""

    def fits(self, parts: Sequence[str]) -> bool:
        """Returns True when the whole sequence fits."""
        head, tail, inner = self._head, self._tail, self._inner
        rest = len(parts) - len(head) - len(tail)
        if rest < self._needs_more or (inner is None and rest):
            return False
        if not all(test(part) for test, part in zip(head, parts, strict=False)):
            return False
        if tail and not all(test(part) for test, part in zip(tail, parts[-len(tail) :], strict=True)):
            return False
        if inner is None or len(inner) == 1:
            return True
        # A closing `**` that stands for something leaves the last segment to it.
        return _matches_inner(inner, parts[len(head) : len(parts) - len(tail) - self._needs_more])


def _matches_inner(tests: Sequence[Test | None], parts: Sequence[str]) -> bool:
    """Follows all ways through a pattern with several `**` at once."""
    ways = _skip_stars({0}, tests)
    for part in parts:
        ways = _skip_stars({after for at in ways for after in _advance(tests, at, part)}, tests)
    return len(tests) in ways


def _advance(tests: Sequence[Test | None], at: int, part: str) -> tuple[int, ...]:
    if at == len(tests):
        return ()
    test = tests[at]
    if test is None:
        return (at,)
    return (at + 1,) if test(part) else ()


def _skip_stars(ways: set[int], tests: Sequence[Test | None]) -> set[int]:
    """Adds the positions behind every `**` that stands for nothing."""
    reached = set(ways)
    for at in ways:
        while at < len(tests) and tests[at] is None:
            at += 1
            reached.add(at)
    return reached
