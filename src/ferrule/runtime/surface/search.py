"""Tool search: exact selection and keywords over the tools a caller may see, and loading selected tools (AT-179 to
AT-192).

What is blocked or excluded is not in the index, is not selected, and looks like an unknown tool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import msgspec

from ferrule.model.surface import SearchResult, Surface, SurfaceEntry
from ferrule.model.value import JsonObject
from ferrule.runtime.surface.index import KeywordIndex, ToolTerms, extract_terms

SELECT = "select:"
_MOST_NAMES = 50
_KEPT = 8

NextAction = Literal["load_schema_then_call", "refine_query", "wait_for_provider", "none"]


class SurfaceIndex:
    """The index of the tools one surface shows."""

    def __init__(self, entries: Sequence[SurfaceEntry], terms: dict[str, ToolTerms]) -> None:
        self.tool_ids = [entry.tool.tool_id for entry in entries]
        self.last = frozenset(number for number, entry in enumerate(entries) if not entry.is_offered)
        self._index = KeywordIndex([terms[entry.digest] for entry in entries])

    def find(self, query: str, most: int) -> list[tuple[str, float, tuple[str, ...]]]:
        """Returns tool ids with score and matched words, best first; deprecated tools that are not offered come last
        (AT-16)."""
        found = self._index.find(query, most, self.last)
        return [(self.tool_ids[match.number], match.score, match.words) for match in found]


class SearchIndexes:
    """Keeps the indexes of the surfaces searched last. A rebuilt surface with the same tools has the same index, and one
    with nearly the same tools takes their words from the one before."""

    def __init__(self, kept: int = _KEPT) -> None:
        self._kept = kept
        self._by_surface: dict[int, tuple[Surface, SurfaceIndex]] = {}
        self._by_tools: dict[frozenset[tuple[str, str, bool]], SurfaceIndex] = {}
        self._terms: dict[str, ToolTerms] = {}

    def find_or_build(self, surface: Surface) -> SurfaceIndex:
        """Returns the surface's index, built at its first search."""
        known = self._by_surface.get(id(surface))
        if known is not None:  # the surface is held here too, so nothing else can have its id
            return known[1]
        entries = [entry for entry in surface.entries.values() if _is_searchable(entry)]
        key = frozenset((entry.tool.tool_id, entry.digest, entry.is_offered) for entry in entries)
        index = self._by_tools.get(key)
        if index is None:
            index = self._by_tools[key] = SurfaceIndex(entries, self._extract_terms(entries))
        self._by_surface[id(surface)] = (surface, index)
        # Dictionaries keep their insertion order, so the oldest surface goes first.
        _trim(self._by_surface, self._kept)
        _trim(self._by_tools, self._kept)
        return index

    def _extract_terms(self, entries: Iterable[SurfaceEntry]) -> dict[str, ToolTerms]:
        before = self._terms
        self._terms = {entry.digest: before.get(entry.digest) or extract_terms(entry.tool) for entry in entries}
        return self._terms


def _trim(cache: dict[Any, Any], kept: int) -> None:
    while len(cache) > kept:
        del cache[next(iter(cache))]


SHARED_INDEXES = SearchIndexes()
"""For callers that keep none of their own. It holds nothing but what follows from the surfaces searched."""


def search(
    surface: Surface,
    query: str,
    *,
    search_id: str,
    limit: int = 10,
    indexes: SearchIndexes = SHARED_INDEXES,
) -> SearchResult:
    """Answers a query: `select:` and names, or keywords. Loads nothing."""
    if query.lstrip().startswith(SELECT):
        return _search_by_name(surface, query, search_id)
    return _search_by_keywords(surface, query, search_id, limit, indexes)


def parse_selection(query: str) -> tuple[str, ...]:
    """Parses the names of an exact selection, each once."""
    listed = query.strip().removeprefix(SELECT).split(",")
    return tuple(dict.fromkeys(name for text in listed if (name := text.strip())))[:_MOST_NAMES]


def select(surface: Surface, names: Sequence[str], search_id: str, *, new_id: Callable[[], str], now: int) -> Surface:
    """Returns a surface with these deferred tools loaded; the same one when there is nothing to load (AT-187).

    What is held back, pending, unavailable or ambiguous is not loaded. The request of the new surface names what was
    selected, so a surface made again from it has the same tools loaded.
    """
    found = [entry for name in names if (entry := surface.find(name)) is not None and _is_loadable(entry)]
    if not found:
        return surface
    entries = dict(surface.entries)
    for entry in found:
        entries[entry.tool.tool_id] = msgspec.structs.replace(
            entry, standing="loaded", loading_state="loaded", selection_ref=search_id, reason=None, detail=""
        )
    selected = {**surface.request.selected, **{entry.tool.tool_id: search_id for entry in found}}
    return msgspec.structs.replace(
        surface,
        surface_id=new_id(),
        created_at=now,
        entries=entries,
        request=msgspec.structs.replace(surface.request, selected=selected),
    )


def _is_searchable(entry: SurfaceEntry) -> bool:
    """Returns True for tools the caller sees. Resources and prompts are listed, not searched for."""
    return entry.is_visible and entry.tool.exposed_as is None


def _is_loadable(entry: SurfaceEntry) -> bool:
    return entry.standing == "deferred" and entry.loading_state in ("deferred", "discoverable")


def _search_by_name(surface: Surface, query: str, search_id: str) -> SearchResult:
    found: dict[str, SurfaceEntry] = {}
    missing: list[str] = []
    ambiguous: dict[str, tuple[str, ...]] = {}
    for name in parse_selection(query):
        entry = surface.find(name)
        if entry is not None and _is_searchable(entry):
            found[entry.tool.tool_id] = entry
        elif meant := _list_visible_meanings(surface, name):
            ambiguous[name] = meant
        else:
            missing.append(name)
    details = tuple(_describe_match(surface, entry, 1.0, _why_selected(entry)) for entry in found.values())
    return SearchResult(
        search_id=search_id,
        query=query,
        query_type="select",
        matches=tuple(found),
        match_details=details,
        total_deferred_tools=_count_deferred(surface),
        pending_providers=_list_pending_providers(surface),
        missing_names=tuple(missing),
        ambiguous_names=ambiguous,
        next_action=_suggest_next_action(surface, found.values()),
    )


def _search_by_keywords(
    surface: Surface, query: str, search_id: str, limit: int, indexes: SearchIndexes
) -> SearchResult:
    exact = surface.find(query.strip())
    details: dict[str, JsonObject] = {}
    if exact is not None and exact.is_visible and exact.is_offered:
        details[exact.tool.tool_id] = _describe_match(surface, exact, 1.0, "its name")
    for tool_id, score, matched in indexes.find_or_build(surface).find(query, limit):
        entry = surface.entries[tool_id]
        # What is found by its name keeps its place and its score.
        details.setdefault(tool_id, _describe_match(surface, entry, score, f"has {', '.join(matched)}"))
    best = dict(list(details.items())[:limit])
    return SearchResult(
        search_id=search_id,
        query=query,
        query_type="keyword",
        matches=tuple(best),
        match_details=tuple(best.values()),
        total_deferred_tools=_count_deferred(surface),
        pending_providers=_list_pending_providers(surface),
        next_action=_suggest_next_action(surface, (surface.entries[tool_id] for tool_id in best)),
    )


def _list_visible_meanings(surface: Surface, name: str) -> tuple[str, ...]:
    """Lists the names to use instead of an ambiguous one, as far as the caller may know them."""
    entries = (surface.entries[tool_id] for tool_id in surface.names.get(name, ()))
    return tuple(surface.shown_name(entry) for entry in entries if _is_searchable(entry))


def _describe_match(surface: Surface, entry: SurfaceEntry, score: float, reason: str) -> JsonObject:
    detail: JsonObject = {
        "tool_id": entry.tool.tool_id,
        "name": surface.shown_name(entry),
        "score": score,
        "reason": reason,
        "loading_state": entry.loading_state,
    }
    if entry.tool.search_hint:
        detail["search_hint"] = entry.tool.search_hint
    if entry.tool.lifecycle == "deprecated":
        detail["is_deprecated"] = True
    return detail


def _why_selected(entry: SurfaceEntry) -> str:
    """Returns why a match cannot be loaded (AT-190), or that its name was selected."""
    return entry.detail if entry.loading_state in ("unavailable", "pending_provider") else "selected by name"


def _count_deferred(surface: Surface) -> int:
    return sum(entry.standing == "deferred" for entry in surface.entries.values())


def _list_pending_providers(surface: Surface) -> tuple[str, ...]:
    waiting = (entry for entry in surface.entries.values() if entry.loading_state == "pending_provider")
    return tuple(sorted({entry.pending_provider for entry in waiting if entry.pending_provider}))


def _suggest_next_action(surface: Surface, found: Iterable[SurfaceEntry]) -> NextAction:
    states = {entry.loading_state for entry in found}
    if states & {"deferred", "discoverable"}:
        return "load_schema_then_call"
    if "pending_provider" in states:
        return "wait_for_provider"
    if states:
        return "none"
    return "wait_for_provider" if _list_pending_providers(surface) else "refine_query"
