"""Records as msgspec Structs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from .layouts import Layout, Member


def is_record(value: Any) -> bool:
    """Whether a value is an object of a generated class."""
    return isinstance(value, msgspec.Struct)


def made(layout: Layout, values: dict[str, Any], extra: dict[str, Any]) -> Any:
    """An object with these members."""
    kept = {layout.extra: extra} if layout.extra else {}
    return layout.made_of(**values, **kept)


def members_of(layout: Layout, value: Any) -> Iterator[tuple[Member, Any]]:
    """The members that are not left out."""
    for member in layout.members:
        item = getattr(value, member.name)
        is_left_out = item is None if member.presence == "optional" else False
        if not is_left_out and item is not msgspec.UNSET:
            yield member, item
    for name, item in getattr(value, layout.extra).items() if layout.extra else ():
        if name not in layout.wires:
            yield Member(name, name, "required", layout.extra_shape), item
