"""Types of objects: records with members, and maps."""

from __future__ import annotations

from typing import Any, NamedTuple

from ferrule.contracts.type_tree import (
    Integer,
    ListOf,
    MapOf,
    NamedType,
    Nullable,
    Number,
    Openness,
    RecordMember,
    RecordType,
    TextType,
    TupleOf,
    Type,
    TypeAnnotations,
)
from ferrule.definitions.stubs.alternatives import Alternative
from ferrule.definitions.stubs.growth import ANYTHING, Growth, key_of, saying
from ferrule.definitions.stubs.limits import bounds, limits, needs, words
from ferrule.definitions.stubs.lists import positions_at
from ferrule.definitions.stubs.places import Node, Place
from ferrule.definitions.stubs.scalars import plain

SHAPING = frozenset(
    [
        "properties",
        "required",
        "additionalProperties",
        "patternProperties",
        "unevaluatedProperties",
        "if",
        "then",
        "else",
        "dependentSchemas",
        "dependencies",
    ]
)
_CONDITIONS = ("then", "else")
_BY_MEMBER = ("dependentSchemas", "dependencies")
_EVALUATING = frozenset(
    ["if", "then", "else", "dependentSchemas", "dependencies", "anyOf", "$dynamicRef", "$recursiveRef"]
)
"""Keywords that may allow members which `unevaluatedProperties` does not judge then."""
_CONDITIONAL = frozenset({"if", *_BY_MEMBER})
ANY_MAP = MapOf(ANYTHING)


class Rest(NamedTuple):
    """What is said about members that have no schema of their own."""

    openness: Openness
    node: Node
    """What they must fit; no places where they may be anything."""


def object_type(growth: Growth, found: Alternative, name: str, pointer: str, depth: int) -> Type:
    """The type of one alternative that is an object."""
    places = saying(found.places, SHAPING)
    rest = _rest(growth, places, found.places)
    is_root = growth.root_key is not None and key_of("object", places) == growth.root_key
    is_record = is_root and any("properties" in place.schema for place in places)
    if not is_record and rest.openness != "closed" and not _is_named(growth, places):
        return _map(growth, places, rest, name, pointer, depth)
    key = key_of("object", places, _marks(rest))
    if is_root:
        growth.root_key = key
    if (known := growth.known(key)) is not None:
        return known
    named = growth.reserved(key, name, pointer)
    if named is None:
        return ANY_MAP
    base = growth.names.prefix if is_root else named.name
    told = _words(found)
    growth.later.append(lambda: _declare(growth, named.name, base, places, rest, pointer, told))
    return named


def _marks(rest: Rest) -> frozenset[str]:
    """What tells records of the same places apart: what stands around them may judge other members too."""
    return frozenset([rest.openness, *(place.pointer for place in rest.node.places)])


def _words(found: Alternative) -> TypeAnnotations:
    """A branch of a union speaks for itself before what stands around it does."""
    clauses = limits(found.places, ("object",))
    required = tuple(clause for place in found.places if (clause := needs(place.schema)))
    if found.origin is not None:
        return words((found.origin, *found.places), clauses + required)
    return words(tuple(reversed(found.places)) if found.pointer else found.places, clauses + required)


def _map(growth: Growth, places: tuple[Place, ...], rest: Rest, name: str, pointer: str, depth: int) -> Type:
    if not rest.node.places:
        return ANY_MAP

    def built() -> Type:
        value = growth.type_of(rest.node, f"{name}Value", depth + 1)
        return ANY_MAP if value is None else MapOf(value)

    return growth.grown(
        key_of("object", places, _marks(rest)), name, pointer, built, lambda: words(places, limits(places, ("object",)))
    )


def _is_named(growth: Growth, places: tuple[Place, ...]) -> bool:
    return any(place.schema.get("properties") for place in places) or bool(_names(growth, places))


def _names(growth: Growth, places: tuple[Place, ...]) -> dict[str, bool]:
    """The names of members, in order, and whether they have a schema of their own."""
    found: dict[str, bool] = {}
    for place in places:
        if isinstance(said := place.schema.get("properties"), dict):
            found |= dict.fromkeys(said, True)
    for place in places:
        for name in required_of(place.schema):
            found.setdefault(name, False)
    for inner in _conditional(growth, places):
        if isinstance(said := inner.schema.get("properties"), dict):
            for name in said:
                found.setdefault(name, False)
    return found


def required_of(schema: dict[str, Any]) -> list[str]:
    said = schema.get("required")
    return [name for name in said if isinstance(name, str)] if isinstance(said, list) else []


def _conditional(growth: Growth, places: tuple[Place, ...]) -> list[Place]:
    """Schemas that hold under a condition, flat."""
    conditional: list[Place] = []
    for place in places:
        schema = place.schema
        if _CONDITIONAL.isdisjoint(schema):
            continue
        if "if" in schema:
            conditional += [place.below(keyword) for keyword in _CONDITIONS if keyword in schema]
        for keyword in _BY_MEMBER:
            if isinstance(said := schema.get(keyword), dict):
                conditional += [place.below(keyword, name) for name in said if isinstance(said[name], dict)]
    return [inner for place in conditional for inner in growth.document.flat((place,)) or ()]


def _declare(
    growth: Growth, name: str, base: str, places: tuple[Place, ...], rest: Rest, pointer: str, told: TypeAnnotations
) -> None:
    """The record, members and all."""
    required = {each for place in places for each in required_of(place.schema)}
    documented = {
        each: inner
        for inner in _conditional(growth, places)
        if isinstance(said := inner.schema.get("properties"), dict)
        for each in said
    }
    members = []
    for each, is_declared in _names(growth, places).items():
        node = about(each, places)
        beside = () if is_declared or each not in documented else (documented[each].below("properties", each),)
        member = _member(growth, each, node, each in required, base, beside)
        if member is not None:
            members.append(member)
    extra = growth.type_of(rest.node, f"{base}Value", 1) if rest.node.places else ANYTHING
    openness: Openness = "closed" if extra is None else rest.openness
    growth.declared[name] = RecordType(
        name=name,
        members=tuple(members),
        openness=openness,
        extra=None if openness == "closed" else extra,
        pointer=pointer,
        words=told,
    )


def about(name: str, places: tuple[Place, ...]) -> Node:
    """Everything that is said about a member."""
    found: list[Place] = []
    for place in places:
        schema = place.schema
        properties = schema.get("properties")
        if isinstance(properties, dict) and name in properties:
            found.append(place.below("properties", name))
        elif schema.get("additionalProperties", True) is not True and not schema.get("patternProperties"):
            found.append(place.below("additionalProperties"))
    return Node(tuple(found))


def _member(
    growth: Growth, name: str, node: Node, is_required: bool, base: str, beside: tuple[Place, ...]
) -> RecordMember | None:
    made: Type | None = ANYTHING
    if node.places:
        if (simple := plain(node)) is not None:
            told = words(node.places, limits(node.places, _kinds(simple)), bounds(node.places, _kinds(simple)))
            return RecordMember(name=name, type=simple, is_required=is_required, words=told)
        made = growth.type_of(node, growth.names.joined(base, name), 1)
    if made is None:
        if not is_required:
            return None
        made = growth.loose(node.pointer, "no value fits what is said of this member, which is required")
    if beside and made == ANYTHING:
        growth.document.note(beside[0].pointer, "it is described under a condition only; any value is taken")
    flat = growth.document.flat(node.places) or ()
    clauses = limits(flat, _kinds(made)) + _of_items(growth, flat, made)
    told = words((*node.places, *flat, *beside), clauses, bounds(flat, _kinds(made)))
    return RecordMember(name=name, type=made, is_required=is_required, words=told)


def _of_items(growth: Growth, flat: tuple[Place, ...], made: Type) -> tuple[str, ...]:
    """The limits of a list's items, where nothing else tells them."""
    if isinstance(made, Nullable):
        made = made.inner
    if not isinstance(made, ListOf):
        return ()
    items = tuple(rest for place in flat if (rest := positions_at(place)[1]) is not None)
    return tuple(f"each item {clause}" for clause in limits(growth.document.flat(items) or (), _kinds(made.item)))


def _kinds(made: Type) -> tuple[str, ...]:
    """The kinds whose limits are told beside a member: a declared type tells its own."""
    match made:
        case Nullable():
            return _kinds(made.inner)
        case TextType():
            return ("string",)
        case Integer() | Number():
            return ("number",)
        case ListOf() | TupleOf():
            return ("array",)
        case MapOf():
            return ("object",)
        case NamedType():
            return ()
        case _:
            return ("string", "number", "array")


def _rest(growth: Growth, places: tuple[Place, ...], around: tuple[Place, ...]) -> Rest:
    """What is said about other members."""
    openness: Openness = "silent"
    nodes: list[Place] = []
    is_loose = False
    for place in places:
        schema = place.schema
        patterns = schema.get("patternProperties")
        additional = schema.get("additionalProperties")
        if isinstance(patterns, dict) and patterns:
            openness = "open"
            if additional is False and len(patterns) == 1 and not _listed(places):
                nodes.append(place.below("patternProperties", next(iter(patterns))))
            else:
                is_loose = True
        elif additional is False:
            return Rest("closed", Node(()))
        elif additional is not None:
            openness = "open"
            if additional is not True:
                nodes.append(place.below("additionalProperties"))
        elif "unevaluatedProperties" in schema:
            judged = all(_EVALUATING.isdisjoint(each.schema) for each in around)
            judged = judged and not any(_allows_more(each.schema) for each in around if each is not place)
            if schema["unevaluatedProperties"] is False and judged:
                return Rest("closed", Node(()))
            openness = "open"
            if judged and schema["unevaluatedProperties"] is not True:
                nodes.append(place.below("unevaluatedProperties"))
    if is_loose and any(place.schema.get("patternProperties") for place in places):
        growth.document.note(places[0].pointer, "members by pattern: the type of those without a name is loose")
        nodes = []
    return Rest(openness, Node(tuple(nodes)))


def _listed(places: tuple[Place, ...]) -> bool:
    return sum(bool(place.schema.get("patternProperties")) for place in places) > 1


def _allows_more(schema: dict[str, Any]) -> bool:
    said = [schema.get(keyword, False) for keyword in ("additionalProperties", "unevaluatedProperties")]
    return bool(schema.get("patternProperties")) or any(each is not False for each in said)
