"""Hints for misspelt words: the nearest known word."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """Returns a hint that names the nearest known word, when one is near."""
    if len(word) > 100:  # comparing takes quadratic time, and nothing known is that long
        return None
    words = list(known)
    near = [other for other in words if other.casefold() == word.casefold()] or get_close_matches(
        word, words, n=1, cutoff=likeness
    )
    return f"did you mean {near[0]!r}?" if near else None
