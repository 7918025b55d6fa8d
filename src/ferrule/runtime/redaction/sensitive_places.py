"""The places of sensitive members in a tool's input: listed in its contract, or marked in its schemas at any depth.

Marks: `sensitive: true`, `writeOnly: true`, `format: password`. A listed bare name is sensitive everywhere; a path
(`payment.card`, `/payment/card`, `items[].token`) only where it leads. Lists on the way do not count.
"""

from __future__ import annotations

import re

import msgspec

from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject
from ferrule.schema.pointers import read_pointer
from ferrule.schema.schema_view import CLOSURE_LIMIT, Schemas, SchemaView, types_of

_HINTS = (b'"sensitive"', b'"writeOnly"', b'"password"')
_CLOSING = ("additionalProperties", "unevaluatedProperties")
_INDEX = re.compile(r"\[[^\]]*\]")

TrailSpot = tuple[int, int]
"""A position along one listed path."""


class SensitivePlaces:
    """The sensitive places at and below one value, cached: inputs of a tool lead to the same few."""

    __slots__ = ("_atlas", "_below", "_items", "_schemas", "_spots", "admits_text", "is_sensitive", "leads_on")

    def __init__(
        self, atlas: PlaceAtlas, schemas: tuple[Schemas, ...], spots: frozenset[TrailSpot], is_named: bool
    ) -> None:
        self._atlas = atlas
        self._schemas = schemas
        self._spots = spots
        self._below: dict[str | None, SensitivePlaces] = {}
        self._items: SensitivePlaces | None = None
        every = [schema for group in schemas for schema in group]
        # At the limit some schemas were left out, and one of them may mark the value.
        is_marked = any(_is_marked(schema) for schema in every) or len(every) >= CLOSURE_LIMIT
        has_arrived = any(at == len(atlas.trails[trail]) for trail, at in spots)
        self.is_sensitive = is_named or is_marked or has_arrived or atlas.is_unclear
        """The whole value is sensitive."""
        self.leads_on = bool(atlas.names or spots) or any(id(schema) in atlas.leading for schema in every)
        """Members of the value may be sensitive."""
        types = types_of(tuple(every))
        self.admits_text = "string" in types or not (types or spots)
        """A plain text may stand here, as far as the schemas say."""

    def find_member(self, name: str) -> SensitivePlaces:
        """Returns the places at and below a member."""
        if not self.leads_on:
            return NOWHERE
        # All unknown names share one entry, so that hostile inputs cannot grow the cache.
        known = name if name in self._atlas.vocabulary else None
        found = self._below.get(known)
        if found is None:
            found = self._below[known] = self._build_member(name)
        return found

    def find_items(self) -> SensitivePlaces:
        """Returns the places at and below the items of a list."""
        if not self.leads_on:
            return NOWHERE
        if self._items is None:
            trails = self._atlas.trails
            spots = {(t, at + 1 if _is_index(trails[t][at : at + 1]) else at) for t, at in self._spots}
            pairs = zip(self._atlas.views, self._schemas, strict=True)
            schemas = tuple(view.about(view.items(group)) for view, group in pairs)
            self._items = self._atlas.find_places(schemas, frozenset(spots), False)
        return self._items

    def _build_member(self, name: str) -> SensitivePlaces:
        trails = self._atlas.trails
        spots = {(t, at + 1) for t, at in self._spots if trails[t][at : at + 1] in ((name,), ("*",))}
        pairs = zip(self._atlas.views, self._schemas, strict=True)
        schemas = tuple(view.about(view.member(group, name)) for view, group in pairs)
        return self._atlas.find_places(schemas, frozenset(spots), name in self._atlas.names or self._is_stray(name))

    def _is_stray(self, name: str) -> bool:
        """Returns True for an unknown member where only known ones are allowed: it may be a sensitive one, misspelt."""
        return any(map(_is_closed, self._schemas)) and not any(_declares(group, name) for group in self._schemas)


class PlaceAtlas:
    """The schemas of one tool, which of them lead to a sensitive one, and the listed names and paths."""

    __slots__ = ("_known", "is_unclear", "leading", "names", "trails", "views", "vocabulary")

    def __init__(self, schemas: list[object], listed: list[str]) -> None:
        self.views = tuple(SchemaView(schema) for schema in schemas)
        self.names = frozenset(word for word in listed if not word.startswith("/"))
        self.trails = tuple(trail for word in listed for trail in _list_trails(word))
        self.vocabulary = {*self.names, *(step for trail in self.trails for step in trail)}
        """Every name that a schema or the list speaks of."""
        self.leading: set[int] = set()
        for view in self.views:
            self.leading |= _find_leading(view, self.vocabulary)
        self.is_unclear = any(view.unresolved for view in self.views)
        """A reference leads nowhere, so nobody can say what stands there: all is masked."""
        self._known: dict[object, SensitivePlaces] = {}

    def find_root(self) -> SensitivePlaces:
        """Returns the places in the whole input."""
        schemas = tuple(view.about([view.root]) for view in self.views)
        return self.find_places(schemas, frozenset((number, 0) for number in range(len(self.trails))), False)

    def find_places(self, schemas: tuple[Schemas, ...], spots: frozenset[TrailSpot], is_named: bool) -> SensitivePlaces:
        """Returns the places for these schemas: the same object every time, so that a recursive schema ends."""
        key = (tuple(frozenset(map(id, group)) for group in schemas), spots, is_named)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = SensitivePlaces(self, schemas, spots, is_named)
        return found


def find_sensitive_places(tool: Tool) -> SensitivePlaces | None:
    """Returns the sensitive places of a tool's input; None without any."""
    listed = _list_fields(tool)
    texts = [bytes(schema) for schema in (tool.input_schema, tool.runtime_input_schema) if schema is not None]
    if not listed and not any(hint in text or b"\\u" in text for text in texts for hint in _HINTS):
        return None
    atlas = PlaceAtlas([msgspec.json.decode(text) for text in texts], listed)
    return atlas.find_root() if listed or atlas.leading else None


def find_marked_places(schema: JsonObject) -> SensitivePlaces | None:
    """Returns the places that a schema marks as sensitive; None without any."""
    atlas = PlaceAtlas([schema], [])
    return atlas.find_root() if atlas.leading else None


def _list_fields(tool: Tool) -> list[str]:
    if b"sensitive_fields" not in bytes(tool.payload):
        return []
    payload = msgspec.json.decode(tool.payload)
    contract = payload.get("input_contract") if isinstance(payload, dict) else None
    fields = contract.get("sensitive_fields") if isinstance(contract, dict) else None
    return [word for word in fields if isinstance(word, str) and word] if isinstance(fields, list) else []


def _list_trails(word: str) -> list[tuple[str, ...]]:
    """Lists the paths that a listed field may mean."""
    if word.startswith("/"):
        return [read_pointer(word)]
    plain = _INDEX.sub("", word.removeprefix("$.")).strip(".")
    trail = tuple(step for step in plain.split(".") if step)
    return [trail] if trail else []


def _is_index(steps: tuple[str, ...]) -> bool:
    return any(step in ("*", "-") or step.isdecimal() for step in steps)


def _is_closed(schemas: Schemas) -> bool:
    return any(schema.get(key) is False for schema in schemas for key in _CLOSING)


def _declares(schemas: Schemas, name: str) -> bool:
    return any(name in schema.get("properties", ()) or schema.get("patternProperties") for schema in schemas)


def _is_marked(schema: JsonObject) -> bool:
    return schema.get("sensitive") is True or schema.get("writeOnly") is True or schema.get("format") == "password"


def _find_leading(view: SchemaView, vocabulary: set[str]) -> set[int]:
    """Returns the ids of all schemas that lead to a sensitive one. Adds every property's name to the vocabulary."""
    above: dict[int, set[int]] = {}
    marked: set[int] = set()
    seen: set[int] = set()
    stack: list[JsonObject] = [view.root]
    while stack:
        schema = stack.pop()
        if id(schema) in seen:
            continue
        seen.add(id(schema))
        vocabulary.update(schema["properties"] if isinstance(schema.get("properties"), dict) else ())
        if _is_marked(schema):
            marked.add(id(schema))
        for below in view.neighbours(schema):
            above.setdefault(id(below), set()).add(id(schema))
            stack.append(below)
    return _climb(marked, above)


def _climb(marked: set[int], above: dict[int, set[int]]) -> set[int]:
    found: set[int] = set()
    stack = list(marked)
    while stack:
        schema = stack.pop()
        if schema not in found:
            found.add(schema)
            stack += above.get(schema, ())
    return found


NOWHERE = SensitivePlaces(PlaceAtlas([], []), (), frozenset(), False)
"""Nothing is sensitive here or below."""
