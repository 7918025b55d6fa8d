"""Types of unions: what can be told apart by its kind, by a tag, or by the schemas alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from ferrule.contracts.type_tree import Anything, Declaration, NamedType, RecordType, Type, Union, Variant
from ferrule.definitions.stubs.alternatives import Alternative, find_alternatives, is_whole, kinds_of
from ferrule.definitions.stubs.growth import ANYTHING, Growth, is_definition, last_step, make_key
from ferrule.definitions.stubs.identifiers import Style, identifiers, pascal
from ferrule.definitions.stubs.limits import read_annotations
from ferrule.definitions.stubs.lists import split_items
from ferrule.definitions.stubs.places import NEUTRAL, SchemaNode, SchemaPlace
from ferrule.definitions.stubs.records import list_required
from ferrule.definitions.stubs.scalars import join_scalars
from ferrule.model.value import JsonValue
from ferrule.schema.merging import key_of as value_key

_SCALARS = ("string", "number", "boolean")
_WORDS = {
    "string": "text",
    "number": "number",
    "boolean": "boolean",
    "array": "list",
    "object": "object",
    "union": "other",
    "integer": "integer",
}
_MOST_TAGS = 200
_LONGEST_WORD = 40


class _Entry(NamedTuple):
    """A variant on its way."""

    parts: tuple[Alternative, ...]
    word: str
    type: Type = ANYTHING
    tags: tuple[str | int | bool, ...] = ()

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset(kind for part in self.parts for kind in kinds_of(part))


def make_union(growth: Growth, found: Sequence[Alternative], node: SchemaNode, name: str, depth: int) -> Type:
    """Returns the type of several alternatives."""
    flat = growth.document.flatten(node.places) or ()
    places = tuple(place for place in flat if not place.schema.keys() <= NEUTRAL)
    key = make_key("union", places, node.chosen)
    return growth.build_once(
        key, name, node.pointer, lambda: _build(growth, found, node, name, depth, flat), lambda: read_annotations(flat)
    )


def _build(
    growth: Growth, found: Sequence[Alternative], node: SchemaNode, name: str, depth: int, flat: tuple[SchemaPlace, ...]
) -> Type:
    groups = _group_ways(found)
    tag, tags = _find_tag(growth, groups, flat)
    entries = _name_entries(growth, groups, tags)
    made = [
        entry._replace(type=_make_entry_type(growth, entry, node, name, len(entries) == 1, depth)) for entry in entries
    ]
    if any(isinstance(entry.type, Anything) for entry in made):
        return ANYTHING
    apart = _collapse(growth, made, node)
    if apart is None:
        return ANYTHING
    if len(apart) == 1:
        return apart[0].type
    return _declare(growth, apart, node, name, tag if len(apart) == len(made) else None, flat)


def _group_ways(found: Sequence[Alternative]) -> list[tuple[Alternative, ...]]:
    """Returns the alternatives, those of one scalar kind together."""
    groups: list[tuple[Alternative, ...]] = []
    for kind in _SCALARS:
        same = tuple(each for each in found if each.kind != "union" and kinds_of(each) == {kind})
        if same:
            groups.append(same)
    groups += [(each,) for each in found if each.kind in ("object", "array", "union")]
    order = {id(each): at for at, each in enumerate(found)}
    return sorted(groups, key=lambda group: order[id(group[0])])


def _make_entry_type(growth: Growth, entry: _Entry, node: SchemaNode, name: str, is_only: bool, depth: int) -> Type:
    if not is_only:
        name = growth.names.join(name, entry.word)
    if len(entry.parts) > 1:
        return join_scalars(growth, entry.parts, name, node.pointer)
    return growth.make_alternative(entry.parts[0], node, name, depth)


def _find_tag(
    growth: Growth, groups: list[tuple[Alternative, ...]], flat: tuple[SchemaPlace, ...]
) -> tuple[str | None, list[tuple[str | int | bool, ...]]]:
    """Returns the member that tells the variants apart, and its values in each."""
    none: list[tuple[str | int | bool, ...]] = [()] * len(groups)
    if len(groups) < 2 or any(len(group) > 1 or group[0].kind != "object" for group in groups):
        return None, none
    tables = [_list_tags(growth, group[0], _list_required_members(group[0])) for group in groups]
    names = [name for name in tables[0] if all(name in table for table in tables[1:])]
    apart = [name for name in names if _are_apart([table[name] for table in tables])]
    if not apart:
        return None, none
    said = [place.schema.get("discriminator") for place in flat]
    wanted = [each.get("propertyName") for each in said if isinstance(each, dict)]
    best = min(apart, key=lambda name: (name not in wanted, sum(len(table[name]) for table in tables)))
    return best, [table[best] for table in tables]


def _list_tags(growth: Growth, found: Alternative, names: list[str]) -> dict[str, tuple[str | int | bool, ...]]:
    """Returns those of the members that have listed values."""
    table: dict[str, tuple[str | int | bool, ...]] = {}
    for name in dict.fromkeys(names):
        inner = tuple(
            place.below("properties", name)
            for place in found.places
            if isinstance(said := place.schema.get("properties"), dict) and name in said
        )
        if inner:
            values = _list_tag_values(growth, SchemaNode(inner))
            if values:
                table[name] = values
    return table


def _list_required_members(found: Alternative) -> list[str]:
    return [name for place in found.places for name in list_required(place.schema)]


def _list_tag_values(growth: Growth, node: SchemaNode) -> tuple[str | int | bool, ...]:
    found = find_alternatives(growth.document, node, is_root=True)
    if found.is_nullable:
        return ()
    values: list[str | int | bool] = []
    for each in found.found:
        for value in each.values or (None,):
            if not isinstance(value, str) and not is_whole(value):
                return ()
            values.append(int(value) if isinstance(value, float) else value)
    return tuple(values) if len(values) <= _MOST_TAGS else ()


def _are_apart(tags: list[tuple[JsonValue, ...]]) -> bool:
    keys = [value_key(value) for values in tags for value in values]
    return len(set(keys)) == len(keys)


def _name_entries(
    growth: Growth, groups: list[tuple[Alternative, ...]], tags: list[tuple[str | int | bool, ...]]
) -> list[_Entry]:
    """Words for the variants, all different."""
    wanted = [_find_word(group, values) for group, values in zip(groups, tags, strict=True)]
    often = Counter(wanted)
    names = Counter(name for group in groups for name in set(_list_members(group[0])))
    wanted = [
        word if often[word] == 1 else _find_own_word(growth, group[0], names, word)
        for group, word in zip(groups, wanted, strict=True)
    ]
    counts: dict[str, int] = {}
    entries = []
    for group, word, values in zip(groups, wanted, tags, strict=True):
        counts[word] = counts.get(word, 0) + 1
        entries.append(_Entry(group, word if counts[word] == 1 else f"{word} {counts[word]}", tags=values))
    given = identifiers([entry.word for entry in entries], Style(pascal))
    if len(given) == len(entries):
        return entries
    return [entry._replace(word=f"{entry.word} {at + 1}") for at, entry in enumerate(entries)]


def _find_word(group: tuple[Alternative, ...], tags: tuple[str | int | bool, ...]) -> str:
    first = group[0]
    if len(group) == 1:
        if first.origin is not None and is_definition(first.origin.pointer):
            return last_step(first.origin.pointer)
        if first.title.strip():
            return first.title.strip()[:_LONGEST_WORD]
        if tags:
            return str(tags[0])
    kinds = {each.kind for each in group}
    return _WORDS[first.kind if len(kinds) == 1 else "number"]


def _find_own_word(growth: Growth, first: Alternative, names: Counter[str], word: str) -> str:
    """Returns a word for a variant whose first one others have too."""
    if first.kind in ("object", "union") and word == _WORDS[first.kind]:
        listed = [values[0] for values in _list_tags(growth, first, _list_members(first)).values() if len(values) == 1]
        return str(listed[0]) if listed and str(listed[0]).strip() else _find_own_member(first, names) or word
    if first.kind == "array" and word == _WORDS["array"]:
        return f"{_find_item_word(growth, first)} list".strip()
    return word if word == _WORDS[first.kind] else f"{word} {_WORDS[first.kind]}"


def _find_item_word(growth: Growth, found: Alternative) -> str:
    """Finds a word for the items of a list; empty where they are of several types."""
    items = tuple(rest for place in found.places if (rest := split_items(place)[1]) is not None)
    inner = find_alternatives(growth.document, SchemaNode(items), is_root=True).found if items else ()
    return _find_word((inner[0],), ()) if len(inner) == 1 and inner[0].kind != "any" else ""


def _find_own_member(found: Alternative, names: Counter[str]) -> str:
    """Returns a member that no other variant has."""
    return next((name for name in _list_members(found) if names[name] == 1 and name.strip()), "")


def _list_members(found: Alternative) -> list[str]:
    places = found.node.places[-1:] if found.node is not None else found.places if found.kind == "object" else ()
    return [
        name
        for place in places
        if isinstance(place.schema, dict) and isinstance(said := place.schema.get("properties"), dict)
        for name in said
    ]


def _collapse(growth: Growth, entries: list[_Entry], node: SchemaNode) -> list[_Entry] | None:
    """Entries of different types; None where nobody could tell two of them apart."""
    by_type: dict[str, list[_Entry]] = {}
    for entry in entries:
        by_type.setdefault(repr(entry.type), []).append(entry)
    if len(by_type) == len(entries):
        return entries
    alone = [same[0] for same in by_type.values() if len(same) == 1]
    joined = [
        same[0]._replace(parts=tuple(part for each in same for part in each.parts))
        for same in by_type.values()
        if len(same) > 1
    ]
    taken = [entry.kinds for entry in joined]
    if any(not some.isdisjoint(other) for at, some in enumerate(taken) for other in taken[:at]):
        growth.document.note(node.pointer, "some of its branches have the same type; any value is taken")
        return None
    return alone + joined


def _declare(
    growth: Growth, entries: list[_Entry], node: SchemaNode, name: str, tag: str | None, flat: tuple[SchemaPlace, ...]
) -> Type:
    places = tuple(place for place in flat if not place.schema.keys() <= NEUTRAL)
    key = make_key("union", places, node.chosen)
    # A variant that leads back here has given the union a name by now.
    met = growth.open_name(key)
    named = NamedType(met) if met else growth.reserve(key, name, node.pointer)
    if named is None:
        return ANYTHING
    # What several branches have in common is known by its kind: it comes after those that a schema of their own tells.
    ordered = sorted(entries, key=lambda entry: len(entry.parts) > 1)
    growth.declared[named.name] = Union(
        name=named.name,
        variants=tuple(
            Variant(
                word=entry.word,
                type=entry.type,
                tags=entry.tags if tag is not None else (),
                pointer=(entry.parts[0].pointer if len(entry.parts) == 1 else "") or node.pointer,
                kinds=tuple(sorted(entry.kinds)),  # type: ignore[arg-type]  # they are kinds
            )
            for entry in ordered
        ),
        tag=tag,
        pointer=node.pointer,
        words=read_annotations(flat),
    )
    return named


def keep_all_members(declared: Mapping[str, Declaration]) -> dict[str, Declaration]:
    """Returns the declarations, so that records which only their schemas tell apart keep members that others of them name:
    a value may have the members of several."""
    opened: dict[str, Declaration] = {}
    for union in declared.values():
        if isinstance(union, Union) and union.tag is None:
            types = (declared.get(each.type.name) for each in union.variants if isinstance(each.type, NamedType))
            records = [each for each in types if isinstance(each, RecordType)]
            names = {member.name for record in records for member in record.members}
            opened |= {
                record.name: msgspec.structs.replace(record, openness="open", extra=ANYTHING)
                for record in records
                if record.openness == "silent" and len(record.members) < len(names)
            }
    return {**declared, **opened}
