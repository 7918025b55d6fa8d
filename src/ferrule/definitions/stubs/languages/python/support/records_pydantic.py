"""Records as pydantic models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from .layouts import Layout, Member


def is_record(value: Any) -> bool:
    """Whether a value is an object of a generated class."""
    return isinstance(value, BaseModel)


def made(layout: Layout, values: dict[str, Any], extra: dict[str, Any]) -> Any:
    """An object with these members. They fit the schema: nothing is checked again."""
    model = layout.made_of.model_construct()
    model.__dict__.update(values)
    model.model_fields_set.update(values)
    if extra:
        object.__setattr__(model, "__pydantic_extra__", extra)
    return model


def members_of(layout: Layout, value: Any) -> Iterator[tuple[Member, Any]]:
    """The members that are not left out."""
    given = value.model_fields_set
    for member in layout.members:
        item = getattr(value, member.name)
        is_left_out = item is None and (
            member.presence == "optional"
            or (member.presence == "three" and member.name not in given)
        )
        if not is_left_out:
            yield member, item
    for name, item in (value.model_extra or {}).items() if layout.extra else ():
        if name not in layout.wires:
            yield Member(name, name, "required", layout.extra_shape), item
