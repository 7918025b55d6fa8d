"""Types of objects: records with members, and maps."""

from __future__ import annotations

from typing import NamedTuple

from ferrule.contracts import type_tree as types
from ferrule.definitions.stubs.alternatives import Alternative
from ferrule.definitions.stubs.growth import ANYTHING, Growth, make_key, select_places
from ferrule.definitions.stubs.limits import describe_needs, list_bounds, list_limits, read_annotations
from ferrule.definitions.stubs.lists import split_items
from ferrule.definitions.stubs.places import SchemaNode, SchemaPlace
from ferrule.definitions.stubs.scalars import make_plain
from ferrule.model.value import JsonObject

_SHAPING_WORDS = """
    properties required additionalProperties patternProperties unevaluatedProperties if then else dependentSchemas
    dependencies
"""
SHAPING = frozenset(_SHAPING_WORDS.split())
_CONDITIONS = ("then", "else")
_BY_MEMBER = ("dependentSchemas", "dependencies")
_EVALUATING = frozenset(
    ["if", "then", "else", "dependentSchemas", "dependencies", "anyOf", "$dynamicRef", "$recursiveRef"]
)
"""Keywords that may allow members which `unevaluatedProperties` does not judge then."""
_CONDITIONAL = frozenset({"if", *_BY_MEMBER})
ANY_MAP = types.MapOf(ANYTHING)


class Rest(NamedTuple):
    """Members that have no schema of their own."""

    openness: types.Openness
    node: SchemaNode
    """What they must fit; no places where they may be anything."""


def make_object(growth: Growth, found: Alternative, name: str, pointer: str, depth: int) -> types.Type:
    """Returns the type of one alternative that is an object."""
    places = select_places(found.places, SHAPING)
    rest = _read_rest(growth, places, found.places)
    is_root = growth.root_key is not None and make_key("object", places) == growth.root_key
    is_record = is_root and any("properties" in place.schema for place in places)
    if not is_record and rest.openness != "closed" and not _is_named(growth, places):
        return _make_map(growth, places, rest, name, pointer, depth)
    key = make_key("object", places, _find_marks(rest))
    if is_root:
        # `reserve` knows the root by its whole key, and the marks are known only now.
        growth.root_key = key
    if (known := growth.find_known(key)) is not None:
        return known
    named = growth.reserve(key, name, pointer)
    if named is None:
        return ANY_MAP
    base = growth.names.prefix if is_root else named.name
    told = _read_words(found)
    growth.later.append(lambda: _declare(growth, named.name, base, places, rest, pointer, told))
    return named


def _find_marks(rest: Rest) -> frozenset[str]:
    """Returns marks that tell records of the same places apart: schemas around them may judge other members too."""
    return frozenset([rest.openness, *(place.pointer for place in rest.node.places)])


def _read_words(found: Alternative) -> types.TypeAnnotations:
    """Returns a branch of a union speaks for itself before what stands around it does."""
    clauses = list_limits(found.places, ("object",))
    required = tuple(clause for place in found.places if (clause := describe_needs(place.schema)))
    if found.origin is not None:
        return read_annotations((found.origin, *found.places), clauses + required)
    return read_annotations(tuple(reversed(found.places)) if found.pointer else found.places, clauses + required)


def _make_map(
    growth: Growth, places: tuple[SchemaPlace, ...], rest: Rest, name: str, pointer: str, depth: int
) -> types.Type:
    if not rest.node.places:
        return ANY_MAP

    def build() -> types.Type:
        value = growth.make_type(rest.node, f"{name}Value", depth + 1)
        return ANY_MAP if value is None else types.MapOf(value)

    return growth.build_once(
        make_key("object", places, _find_marks(rest)),
        name,
        pointer,
        build,
        lambda: read_annotations(places, list_limits(places, ("object",))),
    )


def _is_named(growth: Growth, places: tuple[SchemaPlace, ...]) -> bool:
    return any(place.schema.get("properties") for place in places) or bool(_list_members(growth, places))


def _list_members(growth: Growth, places: tuple[SchemaPlace, ...]) -> dict[str, bool]:
    """Returns the names of members, in order, and whether they have a schema of their own."""
    found: dict[str, bool] = {}
    for place in places:
        if isinstance(said := place.schema.get("properties"), dict):
            found |= dict.fromkeys(said, True)
    for place in places:
        for name in list_required(place.schema):
            found.setdefault(name, False)
    for inner in _list_conditional(growth, places):
        if isinstance(said := inner.schema.get("properties"), dict):
            for name in said:
                found.setdefault(name, False)
    return found


def list_required(schema: JsonObject) -> list[str]:
    said = schema.get("required")
    return [name for name in said if isinstance(name, str)] if isinstance(said, list) else []


def _list_conditional(growth: Growth, places: tuple[SchemaPlace, ...]) -> list[SchemaPlace]:
    """Schemas that hold under a condition, flat."""
    conditional: list[SchemaPlace] = []
    for place in places:
        schema = place.schema
        if _CONDITIONAL.isdisjoint(schema):
            continue
        if "if" in schema:
            conditional += [place.below(keyword) for keyword in _CONDITIONS if keyword in schema]
        for keyword in _BY_MEMBER:
            if isinstance(said := schema.get(keyword), dict):
                conditional += [place.below(keyword, name) for name in said if isinstance(said[name], dict)]
    return [inner for place in conditional for inner in growth.document.flatten((place,)) or ()]


def _declare(
    growth: Growth,
    name: str,
    base: str,
    places: tuple[SchemaPlace, ...],
    rest: Rest,
    pointer: str,
    told: types.TypeAnnotations,
) -> None:
    """Returns the record, members and all."""
    required = {each for place in places for each in list_required(place.schema)}
    documented = {
        each: inner
        for inner in _list_conditional(growth, places)
        if isinstance(said := inner.schema.get("properties"), dict)
        for each in said
    }
    members = []
    for each, is_declared in _list_members(growth, places).items():
        node = collect_member(each, places)
        beside = () if is_declared or each not in documented else (documented[each].below("properties", each),)
        member = _make_member(growth, each, node, each in required, base, beside)
        if member is not None:
            members.append(member)
    extra = growth.make_type(rest.node, f"{base}Value", 1) if rest.node.places else ANYTHING
    # Where nothing fits a further member there can be none.
    openness: types.Openness = "closed" if extra is None else rest.openness
    growth.declared[name] = types.RecordType(
        name=name,
        members=tuple(members),
        openness=openness,
        extra=None if openness == "closed" else extra,
        pointer=pointer,
        words=told,
    )


def collect_member(name: str, places: tuple[SchemaPlace, ...]) -> SchemaNode:
    """Collects all schemas of a member."""
    found: list[SchemaPlace] = []
    for place in places:
        schema = place.schema
        properties = schema.get("properties")
        if isinstance(properties, dict) and name in properties:
            found.append(place.below("properties", name))
        elif schema.get("additionalProperties", True) is not True and not schema.get("patternProperties"):
            found.append(place.below("additionalProperties"))
    return SchemaNode(tuple(found))


def _make_member(
    growth: Growth, name: str, node: SchemaNode, is_required: bool, base: str, beside: tuple[SchemaPlace, ...]
) -> types.RecordMember | None:
    made: types.Type | None = ANYTHING
    if node.places:
        if (simple := make_plain(node)) is not None:
            told = read_annotations(
                node.places,
                list_limits(node.places, _find_kinds(simple)),
                list_bounds(node.places, _find_kinds(simple)),
            )
            return types.RecordMember(name=name, type=simple, is_required=is_required, words=told)
        made = growth.make_type(node, growth.names.join(base, name), 1)
    if made is None:
        if not is_required:
            return None
        made = growth.loosen(node.pointer, "no value fits what is said of this member, which is required")
    if beside and made == ANYTHING:
        growth.document.note(beside[0].pointer, "it is described under a condition only; any value is taken")
    flat = growth.document.flatten(node.places) or ()
    clauses = list_limits(flat, _find_kinds(made)) + _list_item_limits(growth, flat, made)
    told = read_annotations((*node.places, *flat, *beside), clauses, list_bounds(flat, _find_kinds(made)))
    return types.RecordMember(name=name, type=made, is_required=is_required, words=told)


def _list_item_limits(growth: Growth, flat: tuple[SchemaPlace, ...], made: types.Type) -> tuple[str, ...]:
    """Returns the limits of a list's items, where nothing else tells them."""
    if isinstance(made, types.Nullable):
        made = made.inner
    if not isinstance(made, types.ListOf):
        return ()
    items = tuple(rest for place in flat if (rest := split_items(place)[1]) is not None)
    return tuple(
        f"each item {clause}" for clause in list_limits(growth.document.flatten(items) or (), _find_kinds(made.item))
    )


def _find_kinds(made: types.Type) -> tuple[str, ...]:
    """Returns the kinds whose limits are told beside a member: a declared type tells its own."""
    match made:
        case types.Nullable():
            return _find_kinds(made.inner)
        case types.TextType():
            return ("string",)
        case types.Integer() | types.Number():
            return ("number",)
        case types.ListOf() | types.TupleOf():
            return ("array",)
        case types.MapOf():
            return ("object",)
        case types.NamedType():
            return ()
        case _:
            return ("string", "number", "array")


def _read_rest(growth: Growth, places: tuple[SchemaPlace, ...], around: tuple[SchemaPlace, ...]) -> Rest:
    """Reads the schemas of members that are not named."""
    openness: types.Openness = "silent"
    nodes: list[SchemaPlace] = []
    is_loose = False
    for place in places:
        schema = place.schema
        patterns = schema.get("patternProperties")
        additional = schema.get("additionalProperties")
        if isinstance(patterns, dict) and patterns:
            openness = "open"
            if additional is False and len(patterns) == 1 and not _has_several_patterns(places):
                nodes.append(place.below("patternProperties", next(iter(patterns))))
            else:
                is_loose = True
        elif additional is False:
            return Rest("closed", SchemaNode(()))
        elif additional is not None:
            openness = "open"
            if additional is not True:
                nodes.append(place.below("additionalProperties"))
        elif "unevaluatedProperties" in schema:
            judged = all(_EVALUATING.isdisjoint(each.schema) for each in around)
            judged = judged and not any(_allows_more(each.schema) for each in around if each is not place)
            if schema["unevaluatedProperties"] is False and judged:
                return Rest("closed", SchemaNode(()))
            openness = "open"
            if judged and schema["unevaluatedProperties"] is not True:
                nodes.append(place.below("unevaluatedProperties"))
    if is_loose and any(place.schema.get("patternProperties") for place in places):
        growth.document.note(places[0].pointer, "members by pattern: the type of those without a name is loose")
        nodes = []
    return Rest(openness, SchemaNode(tuple(nodes)))


def _has_several_patterns(places: tuple[SchemaPlace, ...]) -> bool:
    return sum(bool(place.schema.get("patternProperties")) for place in places) > 1


def _allows_more(schema: JsonObject) -> bool:
    said = [schema.get(keyword, False) for keyword in ("additionalProperties", "unevaluatedProperties")]
    return bool(schema.get("patternProperties")) or any(each is not False for each in said)
