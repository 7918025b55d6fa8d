"""An inverted index over the tools of one surface, scored like BM25 with a weight per field. In memory, built on
demand.

Text is split into words (camelCase, snake_case and kebab-case taken apart, case and plurals levelled). A word that no
tool has is tried as the beginning of others, then with its ending cut off. Weights of a word are worked out on its
first use and kept in plain arrays: an index costs about a kilobyte a tool. It does not know who may see which tool;
`search` does.
"""

from __future__ import annotations

import math
import re
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from heapq import nlargest
from itertools import accumulate, chain, islice, takewhile
from sys import intern
from typing import NamedTuple

from ferrule.model.tool import Tool

_PARTS = re.compile(r"[^\W_]+")
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[^A-Za-z]+")
_FILLERS = frozenset(
    {"a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "i", "in", "is", "it", "its", "me", "my", "of", "on",
     "or", "that", "the", "this", "to", "with", "you", "your"}
)  # fmt: skip
_LONGEST = 64


def split_words(text: str) -> Iterator[str]:
    """Yields the words of a text in order, repeated as often as they occur."""
    return chain.from_iterable(map(_split_part, _PARTS.findall(text)))


@lru_cache(maxsize=16_384)  # descriptions are made of few different words
def _split_part(part: str) -> tuple[str, ...]:
    # In writing without spaces, every pair of characters is a word.
    if not part.isascii() and _unspaced_letters().search(part):
        return tuple(part[at : at + 2] for at in range(max(1, min(len(part), _LONGEST) - 1)))
    humps = _HUMPS.findall(part) if part.isascii() and not part.islower() else (part,)
    lowered = (hump.casefold() for hump in humps)
    return tuple(intern(strip_plural(word)) for word in lowered if word not in _FILLERS)


@cache
def _unspaced_letters() -> re.Pattern[str]:
    """Letters of writing without spaces. Made when the first is met: such a large set takes milliseconds."""
    return re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def strip_plural(word: str) -> str:
    """Returns a lower-case word without a plural ending."""
    word = word[:_LONGEST]
    if len(word) > 3 and word[-1] == "s":
        if word.endswith("ies") and len(word) > 4:
            return word[:-3] + "y"
        if word[-2] not in "sui":
            return word[:-1]
    return word


_JOINTS = re.compile(r"[\W_]+")
_SATURATION, _LENGTH = 1.2, 0.5
_MOST_WORDS = 32
_MOST_ENDINGS = 16
_SHORTEST_BEGINNING = 3
_CUT = 3
_GUESSED, _CUT_OFF = 0.6, 0.4


class ToolTerms(NamedTuple):
    """The words of one tool and how much each counts in it."""

    words: tuple[str, ...]
    weights: array[float]
    length: float


class SearchMatch(NamedTuple):
    """One tool found."""

    number: int
    score: float
    words: tuple[str, ...]
    """The words of the query that it has."""


def extract_terms(tool: Tool) -> ToolTerms:
    """Extracts the words a tool is found by. A name counts more than a description."""
    counts: dict[str, float] = {}
    for weight, text in _list_weighted_fields(tool):
        for word in split_words(text):
            counts[word] = counts.get(word, 0.0) + weight
    # `send_mail` is found as `sendmail` too.
    counts.setdefault(intern(strip_plural(_JOINTS.sub("", tool.name.casefold()))), 1.0)
    return ToolTerms(tuple(counts), array("f", counts.values()), sum(counts.values()))


def _list_weighted_fields(tool: Tool) -> Iterable[tuple[float, str]]:
    yield 3.0, " ".join((tool.name, *tool.aliases))
    yield 2.0, " ".join((tool.search_hint or "", tool.title or "", *tool.tags))
    yield 1.5, tool.namespace
    yield 1.0, tool.description


class KeywordIndex:
    """Finds tools by words. Numbers are positions in the sequence it was made from."""

    def __init__(self, documents: Sequence[ToolTerms]) -> None:
        self._count = len(documents)
        self._lengths = array("f", (terms.length for terms in documents))
        self._average = sum(self._lengths) / max(1, self._count) or 1.0
        holders = Counter(chain.from_iterable(terms.words for terms in documents))
        self._places = dict(zip(holders, range(len(holders)), strict=True))
        self._starts = array("I", accumulate(holders.values(), initial=0))
        self._is_scored = bytearray(len(holders))
        self._sorted: list[str] = []
        # Postings lie in two flat arrays, sliced by `_starts`: lists per word would take many times the memory.
        self._numbers, self._weights = self._fill(documents)

    def _fill(self, documents: Sequence[ToolTerms]) -> tuple[array[int], array[float]]:
        """Fills the postings, word by word: the tools that have it in order, and how much it counts in them."""
        numbers, weights = array("I", bytes(4 * self._starts[-1])), array("f", bytes(4 * self._starts[-1]))
        places, free = self._places, self._starts.tolist()
        for number, terms in enumerate(documents):
            for word, weight in zip(terms.words, terms.weights, strict=True):
                place = places[word]
                at = free[place]
                numbers[at], weights[at] = number, weight
                free[place] = at + 1
        return numbers, weights

    def find(self, query: str, most: int, last: frozenset[int] = frozenset()) -> list[SearchMatch]:
        """Finds the best matches, best first; numbers in `last` come after all others."""
        meant = self._expand_query(query)
        scores = self._add_scores(meant)
        later = {number: scores.pop(number) for number in last if number in scores}
        best = [*_pick_best(scores, most), *_pick_best(later, most)][:most]
        return [SearchMatch(number, round(score, 3), self._list_matched_words(number, meant)) for number, score in best]

    def score_all(self, query: str) -> dict[int, float]:
        """Scores every tool that has a word of the query."""
        return self._add_scores(self._expand_query(query))

    def _expand_query(self, query: str) -> dict[str, list[tuple[str, float]]]:
        return {word: self._find_variants(word) for word in dict.fromkeys(islice(split_words(query), _MOST_WORDS))}

    def _add_scores(self, meant: dict[str, list[tuple[str, float]]]) -> dict[int, float]:
        scores: dict[int, float] = {}
        for variants in meant.values():
            for word, factor in variants:
                start, end = self._find_span(word)
                for number, score in zip(self._numbers[start:end], self._weights[start:end], strict=True):
                    scores[number] = scores.get(number, 0.0) + score * factor
        return scores

    def _find_variants(self, word: str) -> list[tuple[str, float]]:
        """Finds the indexed words for a word of the query, each with a confidence."""
        if word in self._places:
            return [(word, 1.0)]
        if longer := self._find_longer(word):
            return [(other, _GUESSED) for other in longer]
        for cut in range(1, _CUT + 1):
            if len(word) - cut > _SHORTEST_BEGINNING and (longer := self._find_longer(word[:-cut])):
                return [(other, _CUT_OFF) for other in longer]
        return []

    def _find_longer(self, start: str) -> list[str]:
        if len(start) < _SHORTEST_BEGINNING:
            return []
        if not self._sorted:
            self._sorted = sorted(self._places)
        at = bisect_left(self._sorted, start)
        return list(takewhile(lambda word: word.startswith(start), self._sorted[at : at + _MOST_ENDINGS]))

    def _find_span(self, word: str) -> tuple[int, int]:
        """Returns the range of a word's tools. Its counts become scores on its first use."""
        place = self._places[word]
        start, end = self._starts[place], self._starts[place + 1]
        if not self._is_scored[place]:
            self._score(start, end)
            self._is_scored[place] = 1
        return start, end

    def _score(self, start: int, end: int) -> None:
        rarity = math.log(1 + (self._count - (end - start) + 0.5) / (end - start + 0.5)) * (_SATURATION + 1)
        floor, slope = _SATURATION * (1 - _LENGTH), _SATURATION * _LENGTH / self._average
        lengths = self._lengths
        for at in range(start, end):
            count = self._weights[at]
            self._weights[at] = rarity * count / (count + floor + slope * lengths[self._numbers[at]])

    def _list_matched_words(self, number: int, meant: dict[str, list[tuple[str, float]]]) -> tuple[str, ...]:
        return tuple(word for word, variants in meant.items() if any(self._has(other, number) for other, _ in variants))

    def _has(self, word: str, number: int) -> bool:
        start, end = self._find_span(word)
        at = bisect_left(self._numbers, number, start, end)
        return at < end and self._numbers[at] == number


def _pick_best(scores: dict[int, float], most: int) -> list[tuple[int, float]]:
    """Picks the highest scores, best first; equal ones in their order. Sorts only the scores that can be among them."""
    if len(scores) > most:
        least = nlargest(most, scores.values())[-1]
        # A partial selection first: sorting all matches of a common word would dominate the search.
        scores = {number: score for number, score in scores.items() if score >= least}
    return sorted(scores.items(), key=lambda found: (-found[1], found[0]))[:most]
