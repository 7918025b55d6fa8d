"""A small result that a tool's output schema accepts, for a body that nobody has written yet."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import jsonschema_rs
import msgspec

from ferrule.definitions.stubs.alternatives import Alternative, alternatives
from ferrule.definitions.stubs.lists import positions_at
from ferrule.definitions.stubs.places import Document, Node, Place
from ferrule.definitions.stubs.records import about, required_of
from ferrule.model.value import MISSING, Missing, is_integer
from ferrule.schema.validation.samples import LONGEST, samples
from ferrule.schema.validation.validators import compile_schema

_DEEPEST = 12
_MOST_TRIED = 60
_MOST_VALUES = 500


def placeholder_of(schema: msgspec.Raw | bytes) -> msgspec.Raw | None:
    """The value as JSON; None where none was found. What is given was checked."""
    try:
        validator = compile_schema(bytes(schema))
        value: Any = msgspec.json.decode(schema)
        for tried in islice(_suggested(value), _MOST_TRIED):
            if validator.is_valid(tried):
                return msgspec.Raw(msgspec.json.encode(tried))
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError, RecursionError):
        pass  # a schema that nobody can check by, or a value that nobody can write
    return None


def _suggested(schema: Any) -> Iterator[Any]:
    found = _Smallest(schema).value(Node((Place(schema, "#"),)), 0)
    if not isinstance(found, Missing):
        yield found
    yield from samples(schema)
    if isinstance(schema, dict):
        yield from [schema[keyword] for keyword in ("default", "example") if keyword in schema]
        yield from said if isinstance(said := schema.get("examples"), list) else ()


class _Smallest:
    """One value being put together: the members that must be there, as few items as may be."""

    def __init__(self, schema: Any) -> None:
        self._document = Document(schema)
        self._left = _MOST_VALUES

    def value(self, node: Node, depth: int) -> Any:
        """A value that should fit; MISSING where none is at hand."""
        self._left -= 1
        if self._left < 0 or depth > _DEEPEST:
            return MISSING
        found = alternatives(self._document, node)
        if found.is_nullable and depth > 0:
            return None
        for each in found.found:
            made = self._of(each, depth)
            if made is not MISSING:
                return made
        return None if found.is_nullable else MISSING

    def _of(self, found: Alternative, depth: int) -> Any:
        if found.values:
            return found.values[0]
        match found.kind:
            case "any":
                return {}
            case "union":
                return MISSING if found.node is None else self.value(found.node, depth + 1)
            case "object":
                return self._object(found.places, depth)
            case "array":
                return self._list(found.places, depth)
            case kind:
                said = {word: operand for place in found.places for word, operand in place.schema.items()}
                checked = compile_schema(msgspec.json.encode({"allOf": [place.schema for place in found.places]}))
                likely = samples({**said, "type": kind})
                return next((each for each in likely if checked.is_valid(each)), MISSING) if likely else MISSING

    def _object(self, places: tuple[Place, ...], depth: int) -> Any:
        made: dict[str, Any] = {}
        for name in dict.fromkeys(name for place in places for name in required_of(place.schema)):
            node = about(name, places)
            made[name] = self.value(node, depth + 1) if node.places else {}
            if made[name] is MISSING:
                return MISSING
        return made

    def _list(self, places: tuple[Place, ...], depth: int) -> Any:
        least = max((least for place in places if is_integer(least := place.schema.get("minItems"))), default=0)
        if least <= 0:
            return []
        if least > LONGEST:
            return MISSING
        made = [self.value(Node(_items_at(places, at)), depth + 1) for at in range(least)]
        return MISSING if MISSING in made else made


def _items_at(places: tuple[Place, ...], at: int) -> tuple[Place, ...]:
    found = []
    for place in places:
        first, rest = positions_at(place)
        said = first[at] if at < len(first) else rest
        if said is not None:
            found.append(said)
    return tuple(found)
