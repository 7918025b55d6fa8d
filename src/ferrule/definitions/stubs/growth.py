"""Gathers what one tree has while it grows: declarations, their names, and what is still to be looked into.

A type's place says what it is called, so that a name changes only when its own place does: a definition has its own name,
any other type is called by the members on the way to it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from hashlib import sha256
from urllib.parse import unquote

from ferrule.contracts.type_tree import Alias, Anything, Declaration, NamedType, Type, TypeAnnotations
from ferrule.definitions.stubs.alternatives import Alternative
from ferrule.definitions.stubs.identifiers import capitalize, split_words
from ferrule.definitions.stubs.places import SchemaDocument, SchemaNode, SchemaPlace

_LONGEST = 80
_LONGEST_STEP = 40
_DEFINITIONS = ("$defs", "definitions")
_SIBILANT = ("sses", "xes", "ches", "shes", "zzes")
_SINGULAR_S = ("ss", "us", "is", "as", "os", "ws")


class TypeNames:
    """The names of one tree."""

    def __init__(self, prefix: str, acronyms: frozenset[str], taken: set[str]) -> None:
        self.prefix = prefix
        self._acronyms = acronyms
        self._taken = taken

    def join(self, name: str, *steps: str) -> str:
        """Returns a name with more words after it."""
        return name + "".join(self.step(step) for step in steps)

    def step(self, word: str) -> str:
        """Returns a word as a part of a name: `location` is `Location`."""
        return capitalize(split_words(word[:_LONGEST_STEP]), self._acronyms)

    def name_definition(self, pointer: str) -> str:
        """Returns the name for what a reference points at."""
        steps = [_unescape(step) for step in pointer.split("/")[1:]]
        if len(steps) > 1 and steps[-2] in _DEFINITIONS:
            return self.join(self.prefix, steps[-1])
        named = [steps[at + 1] for at in range(len(steps) - 1) if steps[at] in ("properties", *_DEFINITIONS)]
        return self.join(self.prefix, *named[-3:]) if named else f"{self.prefix}Part"

    def take(self, wanted: str, pointer: str) -> str:
        """Returns the name, now taken: the one that is wanted, or one that only its place decides."""
        name = wanted if wanted not in self._taken else f"{wanted}Value"
        digits = 4
        while name in self._taken or len(name) > _LONGEST:
            mark = sha256(pointer.encode(errors="surrogatepass")).hexdigest()[:digits]
            name = f"{wanted[: _LONGEST - digits - 1]}X{mark}"
            digits += 1
            if digits > 60:  # nobody takes that many names; but a set may hold anything
                pointer += "'"
                digits = 4
        self._taken.add(name)
        return name


def is_definition(pointer: str) -> bool:
    """Tells whether a definition stands there."""
    before, _, _ = pointer.rpartition("/")
    return before.endswith(("/$defs", "/definitions"))


def last_step(pointer: str) -> str:
    """Returns the name of what stands there."""
    return _unescape(pointer.rpartition("/")[2])


def _unescape(step: str) -> str:
    return unquote(step).replace("~1", "/").replace("~0", "~")


def make_singular(name: str) -> str:
    """Returns one of several, for a name in Pascal case, where English makes that plain: of `Items` an `Item`, of `Data` a
    `DataItem`."""
    last = split_words(name)[-1]
    if len(last) > 3 and name.endswith("ies"):
        return f"{name[:-3]}y"
    if name.endswith(_SIBILANT):
        return name[:-2]
    if len(last) > 2 and name.endswith("s") and not name.endswith(_SINGULAR_S):
        return name[:-1]
    return f"{name}Item"


Key = tuple[str, tuple[str, ...], frozenset[str]]
"""What a type is made of: its kind, the places that describe it, and the unions decided."""
ANYTHING = Anything()
_MOST_DECLARATIONS = 3_000
DEEPEST = 60
"""How deep lists, maps and unions may be nested without a record between them."""


class Growth(ABC):
    """One tree."""

    def __init__(self, document: SchemaDocument, names: TypeNames, root_name: str) -> None:
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
    def make_type(self, node: SchemaNode, name: str, depth: int) -> Type | None:
        """Returns the type of a node, called `name` where it has to be declared; None where no value fits."""

    @abstractmethod
    def make_alternative(self, found: Alternative, node: SchemaNode, name: str, depth: int) -> Type:
        """Returns the type of one alternative."""

    def loosen(self, pointer: str, message: str) -> Type:
        """Returns the type of any value, and notes why."""
        self.document.note(pointer, message)
        return ANYTHING

    def find_known(self, key: Key) -> Type | None:
        """Returns the type that was made of the same before."""
        return self._known.get(key)

    def reserve(self, key: Key, name: str, pointer: str) -> NamedType | None:
        """Returns a new declaration's name; None where there are too many already."""
        if len(self.declared) >= _MOST_DECLARATIONS:
            self.document.note(pointer, f"there are more than {_MOST_DECLARATIONS:,} types; any value is taken")
            return None
        given = self.root_name if key == self.root_key else self.names.take(name, pointer)
        self.declared[given] = None
        named = NamedType(given)
        self._known[key] = named
        return named

    def build_once(
        self, key: Key, name: str, pointer: str, build: Callable[[], Type], words: Callable[[], TypeAnnotations]
    ) -> Type:
        """Builds a type once; one that meets itself on the way gets a name."""
        if (known := self._known.get(key)) is not None:
            return known
        # A type met while it is being built refers to itself: only then it needs a name.
        if key in self._open:
            if not self._open[key]:
                named = self.reserve(key, name, pointer)
                # `reserve` takes the type for finished; it is still being built.
                self._known.pop(key, None)
                if named is None:
                    return ANYTHING
                self._open[key] = named.name
            return NamedType(self._open[key])
        self._open[key] = ""
        made = build()
        given = self._open.pop(key)
        if given and made != NamedType(given):
            self.declared[given] = Alias(name=given, type=made, pointer=pointer, words=words())
            made = NamedType(given)
        self._known[key] = made
        return made

    def open_name(self, key: Key) -> str:
        """Returns the name under which something unfinished was met already; empty where it was not."""
        return self._open.get(key, "")


def make_key(kind: str, places: tuple[SchemaPlace, ...], chosen: frozenset[str] = frozenset()) -> Key:
    """Returns what tells a type from others."""
    return kind, tuple(place.pointer for place in places), chosen


def select_places(places: tuple[SchemaPlace, ...], keywords: frozenset[str]) -> tuple[SchemaPlace, ...]:
    """Returns those of the places that have some of the keywords."""
    return tuple(place for place in places if not keywords.isdisjoint(place.schema))
