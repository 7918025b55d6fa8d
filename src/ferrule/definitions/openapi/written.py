"""Members of an object that somebody else wrote: what they should be, or nothing."""

from __future__ import annotations

from typing import Any


def mapping(value: dict[str, Any], key: str) -> dict[str, Any]:
    """A member that is an object; an empty one for anything else."""
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def text(value: dict[str, Any], key: str) -> str:
    """A member that is text; nothing for anything else."""
    found = value.get(key)
    return found if isinstance(found, str) else ""
