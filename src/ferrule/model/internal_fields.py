"""Which fields of a tool's input are for the runtime alone (AT-56 to AT-59), and whether a value holds one.

A field is internal when its contract lists it in `internal_only_fields`, or when a schema marks it `visibility: internal`.
A bare name is internal at every depth; a dotted one, and a marked one, where it stands. Lists on the way do not count.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ferrule.model.schema import positions
from ferrule.model.tool import Tool
from ferrule.model.value import Path

Trail = tuple[str, ...]
"""The names of the properties that lead to a field."""


class InternalFields(msgspec.Struct, frozen=True):
    """The internal fields of one tool. False when it has none."""

    names: frozenset[str] = frozenset()
    """Internal wherever they stand."""
    trails: frozenset[Trail] = frozenset()
    """Internal at this place."""

    def __bool__(self) -> bool:
        return bool(self.names or self.trails)

    def covers(self, trail: Trail) -> bool:
        """True when the field at this place is internal."""
        return trail[-1] in self.names or trail in self.trails

    def is_in(self, value: object) -> bool:
        """True when a value holds an internal field, at any depth."""
        stack: list[tuple[Trail, object]] = [((), value)]
        while stack:
            trail, item = stack.pop()
            if isinstance(item, list):
                stack += [(trail, member) for member in item]
            elif isinstance(item, dict):
                for name, member in item.items():
                    below = (*trail, name)
                    if self.covers(below):
                        return True
                    stack.append((below, member))
        return False


NONE = InternalFields()
_SHARED = frozenset({"$defs", "definitions"})


def internal_fields(tool: Tool) -> InternalFields:
    """The internal fields of a tool, from its contract and its schemas."""
    names, trails = _listed(tool)
    for schema in (tool.input_schema, tool.runtime_input_schema):
        if schema is not None and b"visibility" in bytes(schema):
            for path, trail in _marked(msgspec.json.decode(schema)):
                # A shared definition may be used anywhere, so what it marks is internal everywhere.
                if _SHARED.isdisjoint(path):
                    trails.add(trail)
                else:
                    names.add(trail[-1])
    return InternalFields(frozenset(names), frozenset(trails)) if names or trails else NONE


def _listed(tool: Tool) -> tuple[set[str], set[Trail]]:
    if b"internal_only_fields" not in bytes(tool.payload):
        return set(), set()
    payload = msgspec.json.decode(tool.payload)
    contract = payload.get("input_contract") if isinstance(payload, dict) else None
    listed = contract.get("internal_only_fields") if isinstance(contract, dict) else None
    words = [word for word in listed if isinstance(word, str) and word] if isinstance(listed, list) else []
    # A listed word is taken literally too: a property's name may have a dot in it.
    return set(words), {tuple(word.split(".")) for word in words if "." in word}


def _marked(schema: object) -> Iterator[tuple[Path, Trail]]:
    """The properties marked as internal, with the path of the schema that has them."""
    for position in positions(schema):
        members = position.schema.get("properties")
        if isinstance(members, dict):
            outer = _trail(position.path)
            for name, member in members.items():
                if isinstance(member, dict) and member.get("visibility") == "internal":
                    yield position.path, (*outer, name)


def _trail(path: Path) -> Trail:
    """The property names in a path through a schema: each stands right after the keyword `properties`."""
    names: list[str] = []
    is_name = False
    for step in path:
        if is_name:
            names.append(str(step))
            is_name = False
        else:
            is_name = step == "properties"
    return tuple(names)
