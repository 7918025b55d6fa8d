"""What members are called in Python: snake case, no keyword, and nothing that a class or an annotation needs."""

from __future__ import annotations

import keyword

from ferrule.definitions.stubs.identifiers import Style, identifiers, snake
from ferrule.model.type_tree import Record

_LONGEST = 48
_ANNOTATIONS = frozenset(["str", "int", "float", "bool", "list", "dict", "tuple", "object", "type"])
"""A member of such a name would stand for it in the annotations of the members after it."""
_PYDANTIC = """
    construct copy dict fields from_orm json model_computed_fields model_config model_construct model_copy model_dump
    model_dump_json model_extra model_fields model_fields_set model_json_schema model_parametrized_name model_post_init
    model_rebuild model_validate model_validate_json model_validate_strings parse_file parse_obj parse_raw schema schema_json
    update_forward_refs validate
"""
_OF_FLAVOUR = {
    "msgspec": frozenset({"msgspec"}),
    "pydantic": frozenset(_PYDANTIC.split()),
    "dataclass": frozenset({"dataclasses"}),
    "typeddict": frozenset[str](),
}
KEYWORDS = frozenset(keyword.kwlist)


def member_names(record: Record, flavour: str) -> dict[str, str]:
    """The name in Python of each member, by its name on the wire."""
    names = [member.name for member in record.members]
    if flavour == "typeddict":
        return {name: name for name in names}
    style = Style(snake, KEYWORDS | _ANNOTATIONS | _OF_FLAVOUR[flavour], longest=_LONGEST)
    return identifiers(names, style)


def extra_name(record: Record, names: dict[str, str]) -> str:
    """What holds the members that a record does not name."""
    taken = {*names.values(), *names}
    return next(each for each in _candidates() if each not in taken)


def _candidates() -> list[str]:
    return ["extra", "extra_members", *(f"extra_members_{number}" for number in range(2, 5_000))]
