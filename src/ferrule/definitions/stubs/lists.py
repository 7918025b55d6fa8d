"""Types of lists: any number of values of one type, or values by position."""

from __future__ import annotations

from ferrule.contracts.type_tree import ListOf, TupleOf, Type
from ferrule.definitions.stubs.alternatives import Alternative
from ferrule.definitions.stubs.growth import ANYTHING, Growth, key_of, saying, singular
from ferrule.definitions.stubs.limits import limits, words
from ferrule.definitions.stubs.places import Node, Place
from ferrule.model.value import is_integer

_SHAPING = frozenset({"items", "prefixItems", "additionalItems", "minItems", "maxItems"})
_MOST_POSITIONS = 100
ANY_LIST = ListOf(ANYTHING)


def list_type(growth: Growth, found: Alternative, name: str, pointer: str, depth: int) -> Type:
    """The type of one alternative that is a list."""
    places = saying(found.places, _SHAPING)
    if not places:
        return ANY_LIST
    return growth.grown(
        key_of("array", places),
        name,
        pointer,
        lambda: _built(growth, places, name, depth),
        lambda: words(places, limits(places, ("array",))),
    )


def _built(growth: Growth, places: tuple[Place, ...], name: str, depth: int) -> Type:
    told = [positions_at(place) for place in places]
    longest = max(len(first) for first, _ in told)
    if longest == 0:
        rests = tuple(rest for _, rest in told if rest is not None)
        item = growth.type_of(Node(rests), _item_name(growth, name), depth + 1) if rests else ANYTHING
        return ANY_LIST if item is None else ListOf(item)
    if longest > _MOST_POSITIONS:
        growth.document.note(places[0].pointer, f"more than {_MOST_POSITIONS} positions; the type is any list")
        return ANY_LIST
    return _tuple(growth, places, told, longest, name, depth)


def _item_name(growth: Growth, name: str) -> str:
    return f"{name}Item" if name == growth.names.prefix else singular(name)


def _tuple(
    growth: Growth,
    places: tuple[Place, ...],
    told: list[tuple[list[Place], Place | None]],
    longest: int,
    name: str,
    depth: int,
) -> Type:
    items: list[Type] = []
    most = min((most for place in places if is_integer(most := place.schema.get("maxItems"))), default=None)
    is_ended = most is not None and most <= longest
    for at in range(longest if most is None else max(0, min(longest, most))):
        node = Node(tuple(said for first, rest in told if (said := first[at] if at < len(first) else rest) is not None))
        item = growth.type_of(node, f"{name}Item{at + 1}", depth + 1) if node.places else ANYTHING
        if item is None:
            is_ended = True
            break
        items.append(item)
    if not items:
        return ANY_LIST  # only the empty list fits
    rests = Node(() if is_ended else tuple(rest for _, rest in told if rest is not None))
    rest = growth.type_of(rests, f"{name}Rest", depth + 1) if rests.places else ANYTHING
    least = max((least for place in places if is_integer(least := place.schema.get("minItems"))), default=0)
    return TupleOf(tuple(items), min(max(0, least), len(items)), None if is_ended else rest)


def positions_at(place: Place) -> tuple[list[Place], Place | None]:
    """What is said about the first items, one by one, and about those after them (None: nothing)."""
    schema = place.schema
    if isinstance(first := schema.get("prefixItems"), list):
        after = place.below("items") if "items" in schema and not isinstance(schema["items"], list) else None
        return [place.below("prefixItems", at) for at in range(len(first))], after
    if isinstance(first := schema.get("items"), list):
        after = place.below("additionalItems") if "additionalItems" in schema else None
        return [place.below("items", at) for at in range(len(first))], after
    return [], place.below("items") if "items" in schema else None
