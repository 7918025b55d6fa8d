"""Records as dictionaries with the names that JSON has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .layouts import Layout, Member


def is_record(value: Any) -> bool:
    """Whether a value is an object of a generated class: dictionaries have none."""
    return False


def made(layout: Layout, values: dict[str, Any], extra: dict[str, Any]) -> Any:
    """A dictionary with these members."""
    return values | extra


def members_of(layout: Layout, value: Any) -> Iterator[tuple[Member, Any]]:
    """Nothing: a dictionary is written as it is."""
    return iter(())
