"""What one tree has gathered while it grows: declarations, names, and what is still to be looked into."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from ferrule.definitions.stubs.alternatives import Alternative
from ferrule.definitions.stubs.places import Document, Node, Place
from ferrule.definitions.stubs.type_names import TypeNames
from ferrule.model.type_tree import Alias, Anything, Declaration, Named, Type, Words

Key = tuple[str, tuple[str, ...], frozenset[str]]
"""What a type is made of: its kind, the places that describe it, and the unions decided."""
ANYTHING = Anything()
_MOST_DECLARATIONS = 3_000
DEEPEST = 60
"""How deep lists, maps and unions may be nested without a record between them."""


class Growth(ABC):
    """One tree."""

    def __init__(self, document: Document, names: TypeNames, root_name: str) -> None:
        self.document = document
        self.names = names
        self.declared: dict[str, Declaration | None] = {}
        self.later: list[Callable[[], None]] = []
        """Records whose members have not been looked at yet."""
        self.root_name = root_name
        self.root_key: Key | None = None
        self._known: dict[Key, Type] = {}
        self._open: dict[Key, str] = {}

    @abstractmethod
    def type_of(self, node: Node, name: str, depth: int) -> Type | None:
        """The type of a node, called `name` where it has to be declared; None where no value fits."""

    @abstractmethod
    def alternative(self, found: Alternative, node: Node, name: str, depth: int) -> Type:
        """The type of one alternative."""

    def loose(self, pointer: str, message: str) -> Type:
        """Any value, and why."""
        self.document.note(pointer, message)
        return ANYTHING

    def known(self, key: Key) -> Type | None:
        """The type that was made of the same before."""
        return self._known.get(key)

    def reserved(self, key: Key, name: str, pointer: str) -> Named | None:
        """A new declaration's name; None where there are too many already."""
        if len(self.declared) >= _MOST_DECLARATIONS:
            self.document.note(pointer, f"there are more than {_MOST_DECLARATIONS:,} types; any value is taken")
            return None
        given = self.root_name if key == self.root_key else self.names.given(name, pointer)
        self.declared[given] = None
        named = Named(given)
        self._known[key] = named
        return named

    def grown(self, key: Key, name: str, pointer: str, build: Callable[[], Type], words: Callable[[], Words]) -> Type:
        """What `build` gives; where it met itself on the way, it has a name."""
        if (known := self._known.get(key)) is not None:
            return known
        if key in self._open:
            if not self._open[key]:
                named = self.reserved(key, name, pointer)
                self._known.pop(key, None)
                if named is None:
                    return ANYTHING
                self._open[key] = named.name
            return Named(self._open[key])
        self._open[key] = ""
        made = build()
        given = self._open.pop(key)
        if given and made != Named(given):
            self.declared[given] = Alias(name=given, type=made, pointer=pointer, words=words())
            made = Named(given)
        self._known[key] = made
        return made

    def met(self, key: Key) -> str:
        """The name under which something unfinished was met already; empty where it was not."""
        return self._open.get(key, "")


def key_of(kind: str, places: tuple[Place, ...], chosen: frozenset[str] = frozenset()) -> Key:
    """What tells a type from others."""
    return kind, tuple(place.pointer for place in places), chosen


def saying(places: tuple[Place, ...], keywords: frozenset[str]) -> tuple[Place, ...]:
    """Those of the places that have some of the keywords."""
    return tuple(place for place in places if not keywords.isdisjoint(place.schema))
