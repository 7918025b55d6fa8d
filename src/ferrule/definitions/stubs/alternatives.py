"""The ways in which a value may fit a schema: one for each type it takes and for each branch of its unions.

Only what stands in place is looked at (`$ref`, `allOf`, `anyOf`, `oneOf`, `type`, `enum`), never members or items, so this ends
whatever refers to whatever.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, Literal, NamedTuple

from ferrule.definitions.stubs.places import NEUTRAL, SchemaDocument, SchemaNode, SchemaPlace
from ferrule.model.value import JsonObject, JsonValue
from ferrule.schema.fitting.keywords import FAMILIES, type_of
from ferrule.schema.merging import ANNOTATIONS, common_types, key_of

Kind = Literal["any", "object", "array", "string", "number", "integer", "boolean", "union"]
_UNIONS = frozenset({"anyOf", "oneOf"})
_KINDS = ("object", "array", "string", "number", "integer", "boolean", "null")
_MOST = 2_000
"""How many alternatives one schema may have."""
_MOST_COMBINED = 64
"""How many, where they are combinations of several unions."""
_MOST_NESTED = 40
_LISTING = ANNOTATIONS - {"$defs", "definitions"} | {"const", "enum", "type"}
_CONSTRAINTS_WORDS = """
    required not minLength maxLength pattern minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems
    maxItems uniqueItems contains minContains maxContains minProperties maxProperties propertyNames dependentRequired
    format title description $comment examples default deprecated
"""
_CONSTRAINTS = frozenset(_CONSTRAINTS_WORDS.split())
"""Keywords that do not change the shape of a value whose type is known."""


class Alternative(NamedTuple):
    """One way."""

    kind: Kind
    places: tuple[SchemaPlace, ...]
    """What says so: flat, that is without references to follow."""
    values: tuple[Any, ...] | None = None
    """The only values, where they are listed: none of them null."""
    pointer: str = ""
    """The branch of a union that it comes of; empty where it comes of none."""
    node: SchemaNode | None = None
    """What a `union` is made of."""
    title: str = ""
    labels: tuple[str, ...] = ()
    """A name for each of the values; empty where they have none."""
    kinds: frozenset[str] = frozenset()
    """The kinds within a `union`."""
    origin: SchemaPlace | None = None
    """The schema that it is all of, whatever refers to it; None where what stands around it says more."""


class FittingWays(NamedTuple):
    """All ways; none of them is null."""

    is_nullable: bool
    found: tuple[Alternative, ...]


NOTHING = FittingWays(False, ())


class _TooMany(Exception):
    """More alternatives than anybody wants to read."""


def find_alternatives(document: SchemaDocument, node: SchemaNode, *, is_root: bool = False) -> FittingWays:
    """Returns the ways in which a value may fit all schemas of a node."""
    flat = document.flatten(node.places)
    if flat is None:
        return NOTHING
    if all(_UNIONS.isdisjoint(place.schema) for place in flat):
        return _classify(document, flat, is_root)
    try:
        return _Expansion(document).expand(SchemaNode(flat, node.chosen), 0)
    except _TooMany:
        document.note(node.pointer, "its unions have too many combinations; the type does not tell them apart")
        return _classify(document, flat, is_root)


class _Expansion:
    """One node's unions being multiplied out."""

    def __init__(self, document: SchemaDocument) -> None:
        self._document = document
        self._left = _MOST

    def expand(self, node: SchemaNode, depth: int) -> FittingWays:
        flat = self._document.flatten(node.places)
        if flat is None:
            return NOTHING
        unions = [union for union in _find_unions(flat) if f"{union[0].pointer}/{union[1]}" not in node.chosen]
        telling = [union for union in unions if not _is_idle(union)]
        if telling and depth > _MOST_NESTED:
            self._document.note(
                node.pointer, f"unions more than {_MOST_NESTED} deep; the type does not tell them apart"
            )
        if not telling or depth > _MOST_NESTED:
            return _classify(self._document, flat, False)
        chosen = node.chosen
        if len(telling) > 1 and _count_combinations(telling) > _MOST_COMBINED:
            self._document.note(
                node.pointer, "several unions at once; the type tells the branches of one of them apart"
            )
            chosen |= {f"{place.pointer}/{keyword}" for place, keyword in telling[1:]}
            telling = telling[:1]
        return self._distribute(flat, telling, chosen, depth)

    def _distribute(
        self, flat: tuple[SchemaPlace, ...], unions: list[tuple[SchemaPlace, str]], chosen: frozenset[str], depth: int
    ) -> FittingWays:
        place, keyword = unions[0]
        # The schema around the branch stays among the places, and would lead to this union again.
        chosen |= {f"{place.pointer}/{keyword}"}
        is_nullable = False
        found: list[Alternative] = []
        is_bare = all(each.schema.keys() <= _AROUND for each in flat)
        for at in range(len(place.schema[keyword])):
            branch = place.below(keyword, at)
            inner = self.expand(SchemaNode((*flat, branch), chosen), depth + 1)
            is_nullable |= inner.is_nullable
            spliced = self._splice(inner.found, branch, SchemaNode((*flat, branch), chosen), len(unions) == 1)
            origin = self._document.find_origin(branch) if is_bare else None
            found += [each if each.origin else each._replace(origin=origin) for each in spliced]
            self._left -= max(1, len(inner.found))
            if self._left < 0:
                raise _TooMany
        return FittingWays(is_nullable, tuple(found))

    def _splice(
        self, inner: tuple[Alternative, ...], branch: SchemaPlace, node: SchemaNode, is_only: bool
    ) -> list[Alternative]:
        """Returns the alternatives of a branch as those of the union around it."""
        title = branch.schema.get("title") if isinstance(branch.schema, dict) else None
        title = title if isinstance(title, str) else ""
        if len(inner) == 1 or all(not each.pointer for each in inner):
            return [each._replace(pointer=branch.pointer, title=title or each.title) for each in inner]
        # A union that says nothing else is no type of its own: its branches join those around it.
        if is_only and _is_plain_union(self._document.flatten((branch,))):
            return list(inner)
        if any(each.kind == "any" for each in inner):
            return [Alternative("any", ())]
        kinds = frozenset(kind for each in inner for kind in kinds_of(each))
        return [Alternative("union", (), None, branch.pointer, node, title, (), kinds)]


def kinds_of(alternative: Alternative) -> frozenset[str]:
    """Returns the kinds of values it takes, integers being numbers."""
    if alternative.kind == "union":
        return alternative.kinds
    return frozenset({"number" if alternative.kind == "integer" else alternative.kind})


def _find_unions(flat: tuple[SchemaPlace, ...]) -> list[tuple[SchemaPlace, str]]:
    return [
        (place, keyword)
        for place in flat
        for keyword in ("anyOf", "oneOf")
        if isinstance(branches := place.schema.get(keyword), list) and branches
    ]


def _count_combinations(unions: list[tuple[SchemaPlace, str]]) -> int:
    product = 1
    for place, keyword in unions:
        product *= len(place.schema[keyword])
    return product


def _is_listing(branches: list[JsonValue]) -> bool:
    """Tells whether all branches of a union name values."""
    return all(
        isinstance(branch, dict)
        and ("const" in branch or isinstance(branch.get("enum"), list))
        and branch.keys() <= _LISTING
        for branch in branches
    )


def _is_idle(union: tuple[SchemaPlace, str]) -> bool:
    """Tells whether it does not change the shape: some branch says nothing, or all only limit values."""
    branches = union[0].schema[union[1]]
    if _is_listing(branches):
        return True  # it is read as an enumeration
    if any(branch is True or (isinstance(branch, dict) and branch.keys() <= NEUTRAL_WORDS) for branch in branches):
        return True
    return all(isinstance(branch, dict) and branch.keys() <= _CONSTRAINTS for branch in branches)


_AROUND = NEUTRAL | {"anyOf", "oneOf"}
NEUTRAL_WORDS = NEUTRAL - {"$ref", "allOf", "$dynamicRef", "$recursiveRef"}


def _is_plain_union(flat: tuple[SchemaPlace, ...] | None) -> bool:
    """Tells whether it is a union and says nothing else."""
    if flat is None:
        return False
    words = [word for place in flat for word in place.schema if word not in NEUTRAL]
    return len(words) == 1 and words[0] in ("anyOf", "oneOf")


def _classify(document: SchemaDocument, flat: tuple[SchemaPlace, ...], is_root: bool) -> FittingWays:
    """Returns the alternatives of schemas without unions."""
    types, values, labels = _read_values(flat)
    if values is not None:
        return _group_values(document, flat, _filter_types(types, values), labels)
    if types is None:
        types = [
            word
            for word in ("object", "array", "string", "number")
            if any(not FAMILIES[word].isdisjoint(place.schema) for place in flat)
        ]
        if not types:
            return FittingWays(False, (Alternative("any", flat),))
        if not is_root:
            document.note(flat[0].pointer, f"it says no type and is taken to mean {' or '.join(types)}")
    if "number" in types and "integer" in types:
        types = [word for word in types if word != "integer"]
    kinds = [word for word in types if word != "null"]
    return FittingWays(len(kinds) < len(types), tuple(Alternative(kind, flat) for kind in kinds))  # type: ignore[arg-type]  # _KINDS


class _AllowedValues(NamedTuple):
    """The types and the values that schemas allow; None where they say nothing about them."""

    types: list[str] | None
    values: list[JsonValue] | None
    labels: dict[object, str]
    """Names of values, by their keys."""


def _read_values(flat: tuple[SchemaPlace, ...]) -> _AllowedValues:
    """Reads the types and values that all of some schemas allow."""
    types: list[str] | None = None
    values: list[JsonValue] | None = None
    labels: dict[object, str] = {}
    for place in flat:
        schema = place.schema
        if (written := schema.get("type")) is not None:
            words = [written] if isinstance(written, str) else written if isinstance(written, list) else []
            known = list(dict.fromkeys(word for word in words if isinstance(word, str) and word in _KINDS))
            if known:
                types = known if types is None else common_types(types, known)
        if "const" in schema:
            values = _intersect(values, [schema["const"]])
            if isinstance(title := schema.get("title"), str) and title.strip():
                labels[key_of(schema["const"])] = title
        if isinstance(listed := schema.get("enum"), list):
            values = _intersect(values, listed)
            labels |= _read_labels(schema, listed)
        for keyword in ("anyOf", "oneOf"):
            if isinstance(branches := schema.get(keyword), list) and branches and _is_listing(branches):
                parts = [_read_values((SchemaPlace(branch, ""),)) for branch in branches]
                values = _intersect(
                    values, [value for part in parts for value in _filter_types(part.types, part.values or [])]
                )
                labels = {key: label for part in parts for key, label in part.labels.items()} | labels
    return _AllowedValues(types, values, labels)


def _read_labels(schema: JsonObject, listed: list[JsonValue]) -> dict[object, str]:
    """Returns the names that some tools write beside the values."""
    for keyword in ("x-enum-varnames", "x-enumNames", "x-enum-names"):
        names = schema.get(keyword)
        if isinstance(names, list) and len(names) == len(listed) and all(isinstance(name, str) for name in names):
            return {key_of(value): name for value, name in zip(listed, names, strict=True) if name.strip()}
    return {}


def _intersect(some: list[JsonValue] | None, others: list[JsonValue]) -> list[JsonValue]:
    if some is None:
        return others
    known = {key_of(value) for value in others}
    return [value for value in some if key_of(value) in known]


def _filter_types(types: list[str] | None, values: list[JsonValue]) -> list[JsonValue]:
    """Returns the values of some types."""
    if types is None:
        return values
    kinds = [(type_of(value), value) for value in values]
    return [
        value for kind, value in kinds if kind in types or (kind == "number" and "integer" in types and is_whole(value))
    ]


def _group_values(
    document: SchemaDocument, flat: tuple[SchemaPlace, ...], values: list[JsonValue], labels: dict[object, str]
) -> FittingWays:
    """Returns the alternatives of an enumeration: one for each kind of values."""
    groups: dict[str, dict[object, JsonValue]] = {}
    for value in values:
        groups.setdefault(type_of(value), {}).setdefault(key_of(value), value)
    if groups.keys() & {"object", "array"}:
        document.note(flat[0].pointer, "it lists objects or lists; the type does not say which")
    is_nullable = groups.pop("null", None) is not None
    found = []
    for kind, group in groups.items():
        is_scalar = kind not in ("object", "array")
        names = tuple(labels.get(key, "") for key in group) if labels else ()
        found.append(
            Alternative(kind, flat, tuple(group.values()) if is_scalar else None, labels=names)  # type: ignore[arg-type]  # of _KINDS
        )
    return FittingWays(is_nullable, tuple(found))


def is_whole(value: object) -> bool:
    """Tells whether a number has no fraction: 2.0 has none."""
    return isinstance(value, int) or (isinstance(value, float) and isfinite(value) and value.is_integer())
