"""How one JSON value differs from another, field by field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec


class Difference(msgspec.Struct, frozen=True):
    """One field that differs."""

    path: str
    """Dotted, from the top; `$` is the whole value."""
    kind: str
    """`added`, `removed` or `changed`."""
    before: Any = None
    after: Any = None


def differences(before: Any, after: Any) -> tuple[Difference, ...]:
    """Every field that differs, in the order of `before`, added ones last."""
    return tuple(_walk(before, after, ""))


def _walk(before: Any, after: Any, path: str) -> Iterator[Difference]:
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _members(before, after, path)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _walk(old, new, f"{path}[{number}]")
    elif before != after or type(before) is not type(after):
        yield Difference(path or "$", "changed", before, after)


def _members(before: dict[str, Any], after: dict[str, Any], path: str) -> Iterator[Difference]:
    for name, old in before.items():
        place = f"{path}.{name}" if path else name
        if name in after:
            yield from _walk(old, after[name], place)
        else:
            yield Difference(place, "removed", before=old)
    for name, new in after.items():
        if name not in before:
            yield Difference(f"{path}.{name}" if path else name, "added", after=new)
