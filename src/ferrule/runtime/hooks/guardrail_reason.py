"""A provider's reason without what it was shown: a reason goes to the model and into records that are never erased.

Words that stand out (names, numbers, addresses) and runs of three words are left out where the judged value has them too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

LONGEST = 300
_CUT = "…"
_RUN = 3
_SHORTEST = 3
_PUNCTUATION = "\"'`.,;:!?()[]{}<>«»“”‘’"


def without_content(reason: str | None, judged: Any) -> str:
    """The reason as one short line that repeats nothing of the judged value."""
    if not reason:
        return ""
    words = "".join(letter if letter.isprintable() else " " for letter in reason[: 4 * LONGEST]).split()
    leaves = [" ".join(leaf.split()) for leaf in _leaves(judged)]
    whole, text = {leaf.casefold() for leaf in leaves}, "\n".join(leaves).casefold()
    hidden = {number for number, word in enumerate(words) if _is_quoted(word, whole, text)}
    for start in range(len(words) - _RUN + 1):
        if " ".join(words[start : start + _RUN]).strip(_PUNCTUATION).casefold() in text:
            hidden.update(range(start, start + _RUN))
    kept = " ".join(_CUT if number in hidden else word for number, word in enumerate(words))
    return kept if len(kept) <= LONGEST else kept[: LONGEST - 1] + _CUT


def _is_quoted(word: str, whole: set[str], text: str) -> bool:
    core = word.strip(_PUNCTUATION)
    if len(core) < _SHORTEST:
        return False
    folded = core.casefold()
    stands_out = not (core.isalpha() and core.islower())
    return folded in whole or (stands_out and folded in text)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for member in value.values():
            yield from _leaves(member)
    elif isinstance(value, list):
        for member in value:
            yield from _leaves(member)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
