"""Identifiers of TypeScript: what no name may be, and names that are all different."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ferrule.definitions.stubs.identifiers import Style, camel, pascal

_WORDS = """
    bigint never
    abstract any arguments as async await boolean break case catch class const constructor continue debugger declare default
    delete do else enum eval export extends false finally for from function get if implements import in instanceof
    interface let new null number object of package private protected public return set static string super switch
    symbol this throw true try type typeof undefined unknown var void while with yield NaN Infinity globalThis
"""
KEYWORDS = frozenset(_WORDS.split())
"""Words that are no names of variables, or had better not be."""
_SYMBOL = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")


def camel_style(acronyms: frozenset[str]) -> Style:
    """How functions and variables are called."""
    return Style(camel, KEYWORDS, acronyms)


def pascal_style(acronyms: frozenset[str]) -> Style:
    """How types are called."""
    return Style(pascal, KEYWORDS, acronyms)


def symbol(text: str, otherwise: str, style: Style) -> str:
    """A name that a definition gives, made legal where it is not."""
    if _SYMBOL.fullmatch(text) and len(text) <= style.longest and text not in KEYWORDS:
        return text
    return style.made(text or otherwise)


class Names:
    """Names given out one after another, none of them twice."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._used = set(taken)

    def given(self, *wanted: str) -> str:
        """The first of the wanted names that is free, or the last with something behind it."""
        found = next((each for each in wanted if each not in self._used), "")
        number = 2
        while not found:
            found = f"{wanted[-1]}{number}" if f"{wanted[-1]}{number}" not in self._used else ""
            number += 1
        self._used.add(found)
        return found
