"""Types of lists: any number of values of one type, or values by position."""

from __future__ import annotations

from ferrule.contracts.type_tree import ListOf, TupleOf, Type
from ferrule.definitions.stubs.alternatives import Alternative
from ferrule.definitions.stubs.growth import ANYTHING, Growth, make_key, make_singular, select_places
from ferrule.definitions.stubs.limits import list_limits, read_annotations
from ferrule.definitions.stubs.places import SchemaNode, SchemaPlace
from ferrule.model.value import is_integer

_SHAPING = frozenset({"items", "prefixItems", "additionalItems", "minItems", "maxItems"})
_MOST_POSITIONS = 100
ANY_LIST = ListOf(ANYTHING)


def make_list(growth: Growth, found: Alternative, name: str, pointer: str, depth: int) -> Type:
    """Returns the type of one alternative that is a list."""
    places = select_places(found.places, _SHAPING)
    if not places:
        return ANY_LIST
    return growth.build_once(
        make_key("array", places),
        name,
        pointer,
        lambda: _build(growth, places, name, depth),
        lambda: read_annotations(places, list_limits(places, ("array",))),
    )


def _build(growth: Growth, places: tuple[SchemaPlace, ...], name: str, depth: int) -> Type:
    told = [split_items(place) for place in places]
    longest = max(len(first) for first, _ in told)
    if longest == 0:
        rests = tuple(rest for _, rest in told if rest is not None)
        item = growth.make_type(SchemaNode(rests), _name_item(growth, name), depth + 1) if rests else ANYTHING
        return ANY_LIST if item is None else ListOf(item)
    if longest > _MOST_POSITIONS:
        growth.document.note(places[0].pointer, f"more than {_MOST_POSITIONS} positions; the type is any list")
        return ANY_LIST
    return _build_tuple(growth, places, told, longest, name, depth)


def _name_item(growth: Growth, name: str) -> str:
    return f"{name}Item" if name == growth.names.prefix else make_singular(name)


def _build_tuple(
    growth: Growth,
    places: tuple[SchemaPlace, ...],
    told: list[tuple[list[SchemaPlace], SchemaPlace | None]],
    longest: int,
    name: str,
    depth: int,
) -> Type:
    items: list[Type] = []
    most = min((most for place in places if is_integer(most := place.schema.get("maxItems"))), default=None)
    is_ended = most is not None and most <= longest
    for at in range(longest if most is None else max(0, min(longest, most))):
        node = SchemaNode(
            tuple(said for first, rest in told if (said := first[at] if at < len(first) else rest) is not None)
        )
        item = growth.make_type(node, f"{name}Item{at + 1}", depth + 1) if node.places else ANYTHING
        if item is None:
            is_ended = True
            break
        items.append(item)
    if not items:
        return ANY_LIST  # only the empty list fits
    rests = SchemaNode(() if is_ended else tuple(rest for _, rest in told if rest is not None))
    rest = growth.make_type(rests, f"{name}Rest", depth + 1) if rests.places else ANYTHING
    least = max((least for place in places if is_integer(least := place.schema.get("minItems"))), default=0)
    return TupleOf(tuple(items), min(max(0, least), len(items)), None if is_ended else rest)


def split_items(place: SchemaPlace) -> tuple[list[SchemaPlace], SchemaPlace | None]:
    """Returns the schemas of the first items, one by one, and that of the items after them; None where they have none."""
    schema = place.schema
    if isinstance(first := schema.get("prefixItems"), list):
        after = place.below("items") if "items" in schema and not isinstance(schema["items"], list) else None
        return [place.below("prefixItems", at) for at in range(len(first))], after
    if isinstance(first := schema.get("items"), list):
        after = place.below("additionalItems") if "additionalItems" in schema else None
        return [place.below("items", at) for at in range(len(first))], after
    return [], place.below("items") if "items" in schema else None
