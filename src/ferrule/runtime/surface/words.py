"""Text to the words tools are found by: camelCase, snake_case and kebab-case taken apart, case and plurals levelled."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import chain
from sys import intern

_PARTS = re.compile(r"[^\W_]+")
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[^A-Za-z]+")
_FILLERS = frozenset(
    {"a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "i", "in", "is", "it", "its", "me", "my", "of", "on",
     "or", "that", "the", "this", "to", "with", "you", "your"}
)  # fmt: skip
_LONGEST = 64


def words(text: str) -> Iterator[str]:
    """The words of a text in order, repeated as often as they occur."""
    return chain.from_iterable(map(_of_part, _PARTS.findall(text)))


@lru_cache(maxsize=16_384)  # descriptions are made of few different words
def _of_part(part: str) -> tuple[str, ...]:
    if not part.isascii() and _unspaced().search(part):  # writing without spaces: every pair of characters is a word
        return tuple(part[at : at + 2] for at in range(max(1, min(len(part), _LONGEST) - 1)))
    humps = _HUMPS.findall(part) if part.isascii() and not part.islower() else (part,)
    lowered = (hump.casefold() for hump in humps)
    return tuple(intern(levelled(word)) for word in lowered if word not in _FILLERS)


@cache
def _unspaced() -> re.Pattern[str]:
    """Letters of writing without spaces. Made when the first is met: such a large set takes milliseconds."""
    return re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def levelled(word: str) -> str:
    """A lower-case word without the ending of its plural."""
    word = word[:_LONGEST]
    if len(word) > 3 and word[-1] == "s":
        if word.endswith("ies") and len(word) > 4:
            return word[:-3] + "y"
        if word[-2] not in "sui":
            return word[:-1]
    return word
