"""Names of types: where a type stands says what it is called, so that a name changes only when its own place does.

A definition is called by its own name, any other type by the members on the way to it.
"""

from __future__ import annotations

from hashlib import sha256
from urllib.parse import unquote

from ferrule.definitions.stubs.identifiers import capitalised, words

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

    def joined(self, name: str, *steps: str) -> str:
        """A name with more words after it."""
        return name + "".join(self.step(step) for step in steps)

    def step(self, word: str) -> str:
        """A word as a part of a name: `location` is `Location`."""
        return capitalised(words(word[:_LONGEST_STEP]), self._acronyms)

    def of_definition(self, pointer: str) -> str:
        """The name for what a reference points at."""
        steps = [_unescaped(step) for step in pointer.split("/")[1:]]
        if len(steps) > 1 and steps[-2] in _DEFINITIONS:
            return self.joined(self.prefix, steps[-1])
        named = [steps[at + 1] for at in range(len(steps) - 1) if steps[at] in ("properties", *_DEFINITIONS)]
        return self.joined(self.prefix, *named[-3:]) if named else f"{self.prefix}Part"

    def given(self, wanted: str, pointer: str) -> str:
        """The name, now taken: the one that is wanted, or one that only its place decides."""
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
    """Whether a definition stands there."""
    before, _, _ = pointer.rpartition("/")
    return before.endswith(("/$defs", "/definitions"))


def last_step(pointer: str) -> str:
    """The name of what stands there."""
    return _unescaped(pointer.rpartition("/")[2])


def _unescaped(step: str) -> str:
    return unquote(step).replace("~1", "/").replace("~0", "~")


def singular(name: str) -> str:
    """One of several, for a name in Pascal case, where English makes that plain: of `Items` an `Item`, of `Data` a `DataItem`."""
    last = words(name)[-1]
    if len(last) > 3 and name.endswith("ies"):
        return f"{name[:-3]}y"
    if name.endswith(_SIBILANT):
        return name[:-2]
    if len(last) > 2 and name.endswith("s") and not name.endswith(_SINGULAR_S):
        return name[:-1]
    return f"{name}Item"
