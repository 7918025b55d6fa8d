"""Cuts one command line into the words of one program, to run without a shell; and lists of allowed commands.

A line that only a shell could run is refused, naming the construct and its position, and nothing is expanded: the words
are the argument list, exactly. `shell_text.py` does the reading, and rules judge by it as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ferrule.infra.processes.shell_text import LONGEST, parse

_WRITING_DIRECTION = frozenset("\u200e\u200f\u061c\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that make a line look like another one."""
_QUOTED_CONTROLS = frozenset("\t\n")
"""Control characters allowed inside quotes: text has lines."""
_ADVICE = "one program is run, with its arguments, and without a shell: make it two calls, or quote it to pass it as it stands"


class CommandRefused(ValueError):
    """A command line that is not one plain command."""

    def __init__(self, message: str, at: int | None = None) -> None:
        super().__init__(message)
        self.at = at
        """Characters before the place that was not understood."""


def split_command(text: str) -> tuple[str, ...]:
    """Returns the program and its arguments. Raises CommandRefused."""
    if len(text) > LONGEST:
        raise CommandRefused(f"the command is {len(text)} characters long; at most {LONGEST} are read")
    _refuse_characters(text)
    before = len(text) - len(text.lstrip(" \t\n"))
    parsed = parse(text.strip(" \t\n"))
    if parsed.constructs:
        at, name = before + parsed.constructs[0].at, parsed.constructs[0].name
        raise CommandRefused(f"{name} at character {at + 1} means something to a shell only; {_ADVICE}", at)
    if not parsed.parts:
        raise CommandRefused("there is no command; name a program and its arguments")
    (part,) = parsed.parts
    if not parsed.is_certain or not part.is_plain or any(word.is_open for word in part.words):
        raise CommandRefused(f"the command cannot be read for certain; {_ADVICE}")
    if not part.words[0].text:
        raise CommandRefused("the name of the program is empty; name a program and its arguments")
    return tuple(word.text for word in part.words)


def _refuse_characters(text: str) -> None:
    for at, letter in enumerate(text):
        if (letter < " " or "\x7f" <= letter <= "\x9f") and letter not in _QUOTED_CONTROLS:
            raise CommandRefused(f"the control character U+{ord(letter):04X} at character {at + 1} is no text", at)
        if letter in _WRITING_DIRECTION:
            raise CommandRefused(
                f"the invisible character U+{ord(letter):04X} at character {at + 1} would show the command as another one",
                at,
            )
        if "\ud800" <= letter <= "\udfff":
            raise CommandRefused(f"half a character (U+{ord(letter):04X}) at character {at + 1} is no text", at)


class Whitelist:
    """Commands that may be run, each by its first words. An empty list allows every command."""

    def __init__(self, entries: Iterable[str]) -> None:
        """Raises CommandRefused for an entry that is not one plain command."""
        self.entries = tuple(entry.strip() for entry in entries)
        self._beginnings = tuple(map(_entry, self.entries))

    def allows(self, argv: Sequence[str]) -> bool:
        """True when the words begin exactly as an entry does: `git status` covers `git status -s`, `ls` not `lsof`."""
        if not self._beginnings:
            return True
        return any(tuple(argv[: len(words)]) == words for words in self._beginnings)


def _entry(text: str) -> tuple[str, ...]:
    try:
        return split_command(text)
    except CommandRefused as refused:
        raise CommandRefused(f"the whitelist's entry {text!r} is no plain command: {refused}") from None
