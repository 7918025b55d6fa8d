"""The catalog for people: searched by the words that agents search by, filtered by the properties of tools.

Each property is one large number with a bit for each tool, so filters and their counts stay quick with many thousands of
tools. Made once for each catalog; nothing here depends on the viewer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

import msgspec

from ferrule.contracts.surface import CatalogEntry, CatalogView
from ferrule.definitions.content.tokens import estimate_tokens
from ferrule.model.decision import Risk
from ferrule.model.surface import SurfaceEntry
from ferrule.model.tool import Tool
from ferrule.runtime.pipeline.tool_facts import read_traits
from ferrule.runtime.surface.index import KeywordIndex, extract_terms
from ferrule.schema.internal_fields import model_schema

Effect = Literal["reads", "writes", "destroys", "depends"]
"""The effect of a tool on the world: `depends` on its input, when a fact is asked per call."""
Facet = Literal["namespace", "dialect", "effect", "risk", "owner", "lifecycle", "approval", "switch", "findings"]
FACETS: tuple[Facet, ...] = get_args(Facet)
NOBODY = "-"
"""The owner of tools that name none."""
_SHORTEST_PART = 2
"""The shortest text that is searched for anywhere in a name."""


class ToolSummary(NamedTuple):
    """One tool, as lists show it."""

    listed: CatalogEntry
    risk: Risk
    effect: Effect


class ToolSize(msgspec.Struct, frozen=True):
    """The size of a tool, as a model reads it."""

    characters: int
    """Of name, description and input schema, written as JSON."""
    tokens: int
    """An estimate, the same as that of `ferrule export`; no provider's own count."""
    description_characters: int


class CatalogPage(NamedTuple):
    """One page of a search."""

    matched: int
    """How many there are in all."""
    page: Sequence[ToolSummary]
    counts: Mapping[Facet, Mapping[str, int]]
    """For every filter, the number of tools for each of its values, with the other filters as they are."""


def effect_of(tool: Tool) -> Effect:
    """Returns a tool's effect by its facts; unstated facts count as harmful."""
    facts = tool.facts
    if isinstance(facts.is_read_only, str) or isinstance(facts.is_destructive, str):
        return "depends"
    if facts.is_read_only is True:
        return "reads"
    return "destroys" if facts.is_destructive is True else "writes"


def risk_of(listed: CatalogEntry) -> Risk:
    """Returns a tool's risk, as approvers see it."""
    return read_traits(SurfaceEntry(listed.tool, listed.digest, "loaded")).risk


def measure_tool(tool: Tool) -> ToolSize:
    """Measures a tool as a model reads it."""
    shown = {"name": tool.name, "description": tool.description, "input_schema": model_schema(tool)}
    written = msgspec.json.encode(shown)
    return ToolSize(len(written), estimate_tokens(written), len(tool.description))


class CatalogBrowser:
    """One catalog, indexed for search and filters."""

    def __init__(self, catalog: CatalogView) -> None:
        self.digest = catalog.digest
        listed = sorted(catalog.list_preferred(), key=lambda one: one.tool.tool_id)
        self.tools = tuple(ToolSummary(one, risk_of(one), effect_of(one.tool)) for one in listed)
        """Every tool in the version that surfaces show, by id."""
        self._numbers = {one.tool.tool_id: number for number, one in enumerate(listed)}
        self._names = [f"{one.tool.name}\n{one.tool.tool_id}\n{one.tool.title or ''}".casefold() for one in listed]
        self._index = KeywordIndex([extract_terms(one.tool) for one in listed])
        self._all = (1 << len(self.tools)) - 1
        self._bits = self._index_properties()

    def _index_properties(self) -> dict[Facet, dict[str, int]]:
        bits: dict[Facet, dict[str, int]] = {facet: defaultdict(int) for facet in FACETS}
        for number, shown in enumerate(self.tools):
            tool, bit = shown.listed.tool, 1 << number
            bits["namespace"][tool.namespace] |= bit
            bits["dialect"][tool.dialect] |= bit
            bits["effect"][shown.effect] |= bit
            bits["risk"][shown.risk] |= bit
            bits["owner"][tool.owner or NOBODY] |= bit
            bits["lifecycle"][tool.lifecycle] |= bit
            bits["approval"]["required" if tool.approval_required else "none"] |= bit
        return bits

    def find(
        self,
        words: str = "",
        wanted: Mapping[Facet, str] | None = None,
        *,
        switched_off: Collection[str] = (),
        findings: Mapping[str, Collection[str]] | None = None,
        skip: int = 0,
        count: int = 50,
    ) -> CatalogPage:
        """Returns the tools that match some of the words and have every wanted property: by id, or the best first where there
        are words. `findings`: the ids of tools with an error, with a warning, and without either."""
        bits = {**self._bits, "switch": self._switch(switched_off), "findings": self._findings(findings)}
        chosen = {facet: bits[facet].get(value, 0) for facet, value in (wanted or {}).items()}
        scores = self._score_words(words) if words.strip() else None
        found = self._all if scores is None else _bits_of(scores)
        kept = found
        for mask in chosen.values():
            kept &= mask
        numbers = _numbers_of(kept)
        if scores is not None:
            numbers.sort(key=lambda number: (-scores[number], number))
        page = [self.tools[number] for number in numbers[skip : skip + count]]
        return CatalogPage(
            len(numbers), page, {facet: _count_values(bits[facet], facet, chosen, found) for facet in FACETS}
        )

    def _score_words(self, words: str) -> dict[int, float]:
        """Scores tools by the words: a tool of that name comes first, and a part of a name matches too."""
        scores, asked = self._index.score_all(words), words.strip().casefold()
        highest = max(scores.values(), default=0.0)
        if len(asked) >= _SHORTEST_PART:
            for number, names in enumerate(self._names):
                if asked in names:
                    bonus = 2.0 if asked in names.split("\n") else 1.0 if names.startswith(asked) else 0.0
                    scores[number] = scores.get(number, 0.0) + bonus * (highest + 1.0)
        return scores

    def _switch(self, switched_off: Collection[str]) -> dict[str, int]:
        off = self._of(switched_off)
        return {"on": self._all & ~off, "off": off}

    def _findings(self, findings: Mapping[str, Collection[str]] | None) -> dict[str, int]:
        return {} if findings is None else {word: self._of(tool_ids) for word, tool_ids in findings.items()}

    def _of(self, tool_ids: Iterable[str]) -> int:
        return _bits_of(number for one in tool_ids if (number := self._numbers.get(one)) is not None)


def _bits_of(numbers: Iterable[int]) -> int:
    bits = 0
    for number in numbers:
        bits |= 1 << number
    return bits


def _numbers_of(bits: int) -> list[int]:
    # The digits behind `0b`, from the lowest on.
    return [number for number, digit in enumerate(bin(bits)[:1:-1]) if digit == "1"]


def _count_values(values: Mapping[str, int], facet: Facet, chosen: Mapping[Facet, int], found: int) -> dict[str, int]:
    others = found
    for other, mask in chosen.items():
        if other != facet:
            others &= mask
    counts = ((value, (others & mask).bit_count()) for value, mask in values.items())
    return {value: count for value, count in sorted(counts, key=lambda one: (-one[1], one[0])) if count}
