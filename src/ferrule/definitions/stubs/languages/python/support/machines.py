"""Patterns that are matched in time that grows with the text, whatever the pattern.

`re` tries one way after another, and of some patterns there are more ways than time:
`^(a+)+$`. Here all ways are followed at once, one character at a time. References to
groups and looking around are beyond it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

_ASSERTIONS = frozenset(["^", r"\A", r"\Z", r"\b", r"(?!\b)"])
_COUNTED = re.compile(r"\{([0-9]+)(,?)([0-9]*)\}")
_MOST_STATES = 5_000
_MOST_STEPS = 10**6
"""How much work is left to `re`."""
_MOST_KEPT = 20_000


class BeyondError(Exception):
    """A pattern that needs more than following all ways at once."""


@dataclass(frozen=True)
class Part:
    """A part of a pattern."""

    kind: str
    """`one` character, an `assertion`, a `sequence`, a `choice` or a `repeat`."""
    piece: str = ""
    parts: tuple[Part, ...] = ()
    least: int = 1
    most: float = 1

    @cached_property
    def is_flexible(self) -> bool:
        """Whether it can match one text in several ways."""
        is_own = self.kind == "choice" or self.least != self.most
        return is_own or any(part.is_flexible for part in self.parts)

    @cached_property
    def degree(self) -> float:
        """How many loops `re` may run through within one another."""
        inner = [part.degree for part in self.parts]
        if self.kind != "repeat":
            return max(inner, default=0) if self.kind == "choice" else sum(inner)
        if self.most > 1 and self.parts[0].is_flexible:
            return inf
        return 1 if self.most == inf else inner[0]

    @cached_property
    def forks(self) -> int:
        """How often `re` may have to decide, outside of loops."""
        is_own = self.kind == "choice" or (self.kind == "repeat" and self.most != inf)
        own = 1 if is_own and self.is_flexible else 0
        return own + sum(part.forks for part in self.parts)

    @cached_property
    def is_anchored(self) -> bool:
        """Whether it can match at the beginning of a text only."""
        if self.kind == "choice":
            return all(part.is_anchored for part in self.parts)
        if self.kind == "sequence":
            return bool(self.parts) and self.parts[0].is_anchored
        return self.kind == "assertion" and self.piece in ("^", r"\A")


def work(part: Part, length: int) -> float:
    """How many steps `re` may need for a text of a length, at worst."""
    degree = part.degree + (0 if part.is_anchored else 1)
    if degree <= 1 and not part.forks:
        return 0
    return (
        inf
        if degree == inf
        else float((length + 1) ** degree * 2 ** min(part.forks, 60))
    )


def is_plain(part: Part, length: int) -> bool:
    """Whether a text of a length can be left to `re`."""
    return work(part, length) <= _MOST_STEPS


class Reader:
    """Reads the pieces of a pattern. Raises BeyondError."""

    def __init__(self, pieces: list[str]) -> None:
        self._pieces = pieces
        self._at = 0

    def whole(self) -> Part:
        part = self._choice()
        if self._at < len(self._pieces):
            raise BeyondError
        return part

    def _peek(self) -> str:
        return self._pieces[self._at] if self._at < len(self._pieces) else ""

    def _choice(self) -> Part:
        parts = [self._sequence()]
        while self._peek() == "|":
            self._at += 1
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else Part("choice", parts=tuple(parts))

    def _sequence(self) -> Part:
        parts: list[Part] = []
        while self._peek() not in ("", "|", ")"):
            parts.append(self._repeated(self._atom()))
        return Part("sequence", parts=tuple(parts))

    def _atom(self) -> Part:
        piece = self._peek()
        self._at += 1
        if piece in _ASSERTIONS:
            return Part("assertion", piece)
        if piece in ("(", "(?:") or (piece[:4] == "(?P<"):
            inner = self._choice()
            if self._peek() != ")":
                raise BeyondError
            self._at += 1
            return inner
        if piece.startswith("(") and piece != "(?!)":
            raise BeyondError
        return Part("one", piece)

    def _repeated(self, part: Part) -> Part:
        while bounds := _bounds(self._peek()):
            self._at += 1
            least, most = bounds
            part = Part("repeat", parts=(part,), least=least, most=most)
            if self._peek() == "?":  # lazy: of no matter to whether it matches
                self._at += 1
            elif self._peek() == "+":
                raise BeyondError
        return part


def _bounds(piece: str) -> tuple[int, float] | None:
    """How often something comes."""
    known: dict[str, tuple[int, float]] = {"*": (0, inf), "+": (1, inf), "?": (0, 1)}
    if piece in known:
        return known[piece]
    found = _COUNTED.fullmatch(piece)
    if found is None:
        return None
    least = int(found[1])
    return least, int(found[3]) if found[3] else inf if found[2] else least


States = frozenset[int]


class Step(NamedTuple):
    """What is tried in a state, and where it leads."""

    test: str
    """A piece, or nothing where it leads on by itself."""
    targets: tuple[int, ...]


class Context(NamedTuple):
    """What is around a place in a text."""

    is_start: bool
    is_end: bool
    is_edge: bool
    """Whether a word begins or ends there."""


@dataclass
class Machine:
    """A pattern as states. Raises BeyondError for too many."""

    part: Part
    _steps: list[Step] = field(default_factory=list)
    _closed: dict[tuple[States, Context], States] = field(default_factory=dict)
    _moved: dict[tuple[States, str], States] = field(default_factory=dict)
    _tests: dict[str, Callable[[str], object]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._end = self._state("", ())
        self._start = self._built(self.part, self._end)

    def _state(self, test: str, targets: tuple[int, ...]) -> int:
        if len(self._steps) >= _MOST_STATES:
            raise BeyondError
        self._steps.append(Step(test, targets))
        return len(self._steps) - 1

    def _built(self, part: Part, after: int) -> int:
        """The state that a part begins in, when another follows it."""
        match part.kind:
            case "sequence":
                for each in reversed(part.parts):
                    after = self._built(each, after)
                return after
            case "choice":
                ways = tuple(self._built(each, after) for each in part.parts)
                return self._state("", ways)
            case "repeat":
                return self._looped(part, after)
            case _:
                return self._state(part.piece, (after,))

    def _looped(self, part: Part, after: int) -> int:
        (inner,) = part.parts
        if part.most == inf:
            loop = self._state("", ())
            self._steps[loop] = Step("", (self._built(inner, loop), after))
            after = loop
        else:
            end = after
            for _ in range(int(part.most) - part.least):
                after = self._state("", (self._built(inner, after), end))
        for _ in range(part.least):
            after = self._built(inner, after)
        return after

    def finds(self, text: str) -> bool:
        """Whether the pattern is found anywhere in a text."""
        states: States = frozenset([self._start])
        for at in range(len(text) + 1):
            states = self._reached(states, _context(text, at))
            if self._end in states:
                return True
            if at < len(text):
                states = self._after(states, text[at])
        return False

    def _reached(self, states: States, context: Context) -> States:
        """All states that these lead to before the next character."""
        key = (states, context)
        if key not in self._closed:
            found: set[int] = set()
            ahead = list(states)
            while ahead:
                state = ahead.pop()
                if state not in found:
                    found.add(state)
                    test, targets = self._steps[state]
                    if not test or (test in _ASSERTIONS and _holds(test, context)):
                        ahead += targets
            _make_room(self._closed)
            self._closed[key] = frozenset(found)
        return self._closed[key]

    def _after(self, states: States, one: str) -> States:
        """The states behind a character; the pattern may also begin there."""
        key = (states, one)
        if key not in self._moved:
            found = {self._start}
            for state in states:
                test, targets = self._steps[state]
                if test and test not in _ASSERTIONS and self._fits(test, one):
                    found.update(targets)
            _make_room(self._moved)
            self._moved[key] = frozenset(found)
        return self._moved[key]

    def _fits(self, test: str, one: str) -> bool:
        if test not in self._tests:
            self._tests[test] = re.compile(test).fullmatch
        return self._tests[test](one) is not None


def _make_room(kept: dict[Any, States]) -> None:
    if len(kept) >= _MOST_KEPT:
        kept.clear()


def _holds(assertion: str, context: Context) -> bool:
    match assertion:
        case "^" | r"\A":
            return context.is_start
        case r"\Z":
            return context.is_end
        case r"\b":
            return context.is_edge
        case _:
            return not context.is_edge


def _context(text: str, at: int) -> Context:
    before = at > 0 and _is_of_word(text[at - 1])
    after = at < len(text) and _is_of_word(text[at])
    return Context(at == 0, at == len(text), before != after)


def _is_of_word(one: str) -> bool:
    return one.isalnum() or one == "_"
