"""How a generated class stands for an object of JSON."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple


class Member(NamedTuple):
    """A member of a record."""

    wire: str
    """Its name in JSON."""
    name: str
    """Its name in Python."""
    presence: str
    """`required`; `optional`, where None means left out; `three`, where null is
    something else than left out."""
    shape: Any


@dataclass(frozen=True, kw_only=True)
class Layout:
    """A record."""

    made_of: Any
    """The class of its values."""
    members: tuple[Member, ...]
    extra: str
    """What holds the members that it does not name; empty where they are not kept."""
    extra_shape: Any
    tag: list[Any] | None
    """The member that its class stands for, and its value."""

    @cached_property
    def wires(self) -> frozenset[str]:
        """The names in JSON that are not extra."""
        tag = (self.tag[0],) if self.tag else ()
        return frozenset((*(each.wire for each in self.members), *tag))
