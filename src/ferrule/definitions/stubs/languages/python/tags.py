"""Which records msgspec itself tells apart by their tag: their classes stand for the tag, which is no member then."""

from __future__ import annotations

from ferrule.model.type_tree import Constant, Declaration, Named, Record, TypeTree, Union

Tag = tuple[str, str | int]


def native_tags(tree: TypeTree) -> dict[str, Tag]:
    """The tag of each such record, by its name."""
    declared: dict[str, Declaration] = {each.name: each for each in tree.declarations}
    unions = [each for each in tree.declarations if isinstance(each, Union) and each.tag is not None]
    found: dict[str, Tag] = {}
    refused: set[str] = set()
    for union in unions:
        tags = _tags_of(union, declared)
        names = [each.type.name for each in union.variants if isinstance(each.type, Named)]
        if tags is None or any(found.get(name, tag) != tag for name, tag in tags.items()):
            refused.update(names)
        else:
            found |= tags
    return _without(found, refused, unions)


def _without(found: dict[str, Tag], refused: set[str], unions: list[Union]) -> dict[str, Tag]:
    """A union needs the tags of all of its variants, so what one cannot have its others cannot either."""
    is_settled = False
    while not is_settled:
        is_settled = True
        for union in unions:
            names = {each.type.name for each in union.variants if isinstance(each.type, Named)}
            if not names.isdisjoint(refused) and not names <= refused:
                refused |= names
                is_settled = False
    return {name: tag for name, tag in found.items() if name not in refused}


def _tags_of(union: Union, declared: dict[str, Declaration]) -> dict[str, Tag] | None:
    """The tags of its variants; None where msgspec cannot say them."""
    tag = union.tag or ""
    values = [value for variant in union.variants for value in variant.tags]
    kinds = {type(value) for value in values}
    if len(values) != len(union.variants) or kinds not in ({str}, {int}) or not is_plain_name(tag):
        return None
    found: dict[str, Tag] = {}
    for variant in union.variants:
        record = declared.get(variant.type.name) if isinstance(variant.type, Named) else None
        if not isinstance(record, Record) or record.openness == "open":
            return None
        value = variant.tags[0]
        kind = next((member.type for member in record.members if member.name == tag), None)
        if not isinstance(kind, Constant) or type(kind.value) is not type(value) or kind.value != value:
            return None
        found[record.name] = (tag, value)
    return found if len(found) == len(union.variants) else None


def is_plain_name(name: str) -> bool:
    """Whether msgspec takes a text for the name of a field: none that JSON would have to escape."""
    return bool(name) and name.isprintable() and not set(name) & set('\\"')
