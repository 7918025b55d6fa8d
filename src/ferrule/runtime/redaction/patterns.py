"""Patterns of one's own: `[[redaction.patterns]]`. Compiled and tried out when settings are loaded.

Python's expressions know no time limit. So one that explodes on short texts is refused when it is loaded, every pattern looks
at a few thousand characters at a time, and where it still takes too long, the rest of the text is taken out unread.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from ferrule.errors import SettingsError
from ferrule.model.redaction import RedactionPattern

LONGEST = 4096
"""A match of more characters than this is not seen whole."""
_NARROW = 256
_PATIENCE_SECONDS = 0.5
"""What one pattern may take for one text, over all its windows."""
_TRIAL_SECONDS = 0.02
_SIZES = (*range(8, 33, 2), 64, 128, 256, 512)
_CHARACTERS = "a0 "


class Pattern:
    """One expression, the name it is told under, and text that every match has in it."""

    __slots__ = ("_expression", "_is_narrow", "_literal", "name")

    def __init__(self, pattern: RedactionPattern) -> None:
        self.name = f"pattern:{pattern.name}"
        try:
            self._expression = re.compile(pattern.pattern)
            self._literal, self._is_narrow = _facts(self._expression)
        except (re.error, RecursionError, OverflowError) as error:
            raise SettingsError(
                f"[[redaction.patterns]] {pattern.name!r} is no regular expression: {error}; mend or remove it"
            ) from None
        if self._expression.match("") is not None:
            raise SettingsError(
                f"[[redaction.patterns]] {pattern.name!r} matches the empty text, so it would match everywhere;"
                " write + in place of *, or say what has to be there"
            )
        if not _is_quick(self._expression):
            raise SettingsError(
                f"[[redaction.patterns]] {pattern.name!r} takes too long on some short texts: it repeats something that is"
                " itself repeated; give the repeats a bound ({1,64}) or say what stands between them"
            )

    def may_hold(self, text: str) -> bool:
        """False when a text lacks what every match has in it."""
        return self._literal in text

    def matches(self, text: str, start: int = 0) -> Iterator[tuple[int, int]]:
        """Where it matches from `start` on, first things first, none within another."""
        if self._is_narrow:
            for found in self._expression.finditer(text, start) if self._literal in text else ():
                if found.end() > found.start():
                    yield found.span()
            return
        given_up_at = time.perf_counter() + _PATIENCE_SECONDS
        while start < len(text):
            at = text.find(self._literal, start)
            if at < 0:
                return
            if time.perf_counter() > given_up_at:
                yield start, len(text)
                return
            start = max(start, at - LONGEST)
            end = start + 2 * LONGEST
            match = self._expression.search(text, start, end)
            if match is None or (match.start() >= start + LONGEST and end < len(text)):
                start += LONGEST
            elif match.end() == match.start():
                start = match.end() + 1
            else:
                yield match.span()
                start = match.end()


def _facts(expression: re.Pattern[str]) -> tuple[str, bool]:
    """The longest text that stands in every match, and whether all matches are short."""
    parsed = re._parser.parse(expression.pattern)  # type: ignore[attr-defined]
    _, longest = parsed.getwidth()
    if expression.flags & re.IGNORECASE:
        return "", longest <= _NARROW
    runs = [""]
    for operation, argument in parsed:
        runs = [*runs[:-1], runs[-1] + chr(argument)] if operation is re._constants.LITERAL else [*runs, ""]  # type: ignore[attr-defined]
    return max(runs, key=len), longest <= _NARROW


def _is_quick(expression: re.Pattern[str]) -> bool:
    """Tried on texts of one character repeated, growing, so that one that explodes is caught while it is small."""
    own = [character for character in dict.fromkeys(expression.pattern) if character not in "()[]{}|?*+\\^$"]
    for character in (*_CHARACTERS, *own[:3]):
        for size in _SIZES:
            text = character * size + "\0"
            started = time.perf_counter()
            expression.search(text)
            if time.perf_counter() - started > _TRIAL_SECONDS:
                started = time.perf_counter()
                expression.search(text)  # once more: the machine may have been busy
                if time.perf_counter() - started > _TRIAL_SECONDS:
                    return False
    return True
