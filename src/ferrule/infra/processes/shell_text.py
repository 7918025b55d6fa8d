"""Cuts a shell command line into its commands: those between `;`, `&&`, `|`, newlines, and inside `$(…)` and backticks.

The one reader of command lines: rules judge by it, and `command_line.py` cuts by it what runs without a shell, so that
the judged words are the executed words. Anything it does not understand for certain (comments, here-documents,
arithmetic, `$'…'`) makes the whole line uncertain, and an uncertain line fits no allow. Runs nothing and expands
nothing.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_SEPARATORS = {
    ";": "the separator ;",
    "&": "the operator &",
    "|": "the pipe |",
    "(": "the bracket (",
    ")": "the bracket )",
    "\n": "a line break",
}
_FILLED_IN = {"*": "the pattern *", "?": "the pattern ?", "[": "the pattern [", "{": "the brace {"}
_NAME = re.compile(r"[A-Za-z0-9_@*#?$!-]")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[[^]]*\])?\+?=")
_REDIRECT = re.compile(r"(?:<<<?-?|<>|[<>]\||>>|[<>]&|[<>]|&>>?)")
_HARMLESS_TARGETS = frozenset({"/dev/null", "0", "1", "2", "-"})
_DEPTH = 12
LONGEST = 16_384
"""Characters of the longest line to read; matching takes quadratic time in its words."""


class Word(NamedTuple):
    """One word, without its quotes."""

    text: str
    is_open: bool = False
    """True when the shell would expand it: a variable, a command's output, file names."""


class Part(NamedTuple):
    """One simple command."""

    words: tuple[Word, ...]
    is_plain: bool = True
    """False when variables are set before it, or its output goes to a file."""


class Construct(NamedTuple):
    """A construct of a line that only a shell could run."""

    at: int
    """The number of characters before it."""
    name: str
    """For messages: `the pipe |`."""


class ParsedCommandLine(NamedTuple):
    """A command line as far as it can be understood."""

    parts: tuple[Part, ...]
    is_certain: bool
    constructs: tuple[Construct, ...] = ()
    """In the order of the line; none in a single plain command."""


def parse(text: str) -> ParsedCommandLine:
    """Returns every simple command of a line. A line that is too long is not certain."""
    if len(text) > LONGEST:
        return ParsedCommandLine((), False)
    reader = _Reader(text, _DEPTH)
    reader.read()
    return ParsedCommandLine(tuple(reader.parts), reader.is_certain, tuple(reader.constructs))


class _Reader:
    """One pass over a command line."""

    def __init__(self, text: str, depth: int, at: int = 0) -> None:
        self.text = text
        self.depth = depth
        self.at = at
        self.parts: list[Part] = []
        self.constructs: list[Construct] = []
        self.is_certain = depth > 0
        self._words: list[Word] = []
        self._is_plain = True
        self._letters: list[str] | None = None
        """The word being read; None between words."""
        self._is_open = False
        self._is_quoted = False
        self._began = at
        """Where the word being read begins."""
        self._awaits_target = False

    def read(self, closing: str | None = None) -> None:
        """Reads to the end, or to the bracket that closes a substitution."""
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter == closing:
                break
            self._read_letter(letter)
        if closing is not None and self.at >= len(self.text):
            self.is_certain = False
        self._end_part()

    def _read_letter(self, letter: str) -> None:
        if letter in "'\"":
            self._read_quoted(letter)
        elif letter == "\\":
            self._read_escape()
        elif letter in "$`":
            self._read_expansion()
        elif letter in " \t":
            self._end_word()
            self.at += 1
        elif letter in "<>" or self.text.startswith("&>", self.at):
            self._read_redirect()
        elif letter in _SEPARATORS:
            self._note_construct(_SEPARATORS[letter])
            self._end_part()
            self.at += 1
        else:
            self._read_plain(letter)

    def _read_plain(self, letter: str) -> None:
        if letter == "#" and self._letters is None:
            self._note_construct("the comment sign #")
            self.is_certain = False
        elif letter < " " or letter == "\x7f":
            self._note_construct("a control character")
            self.is_certain = False
        elif letter in _FILLED_IN:
            self._note_construct(_FILLED_IN[letter])
            self._is_open = True
        elif letter == "~" and self._letters is None:
            self._note_construct("the home folder ~")
        self._add(letter)
        self.at += 1

    def _read_quoted(self, quote: str) -> None:
        opened = self.at
        self.at += 1
        # Quotes make a word even when nothing is between them.
        self._add("")
        self._is_quoted = True
        while self.at < len(self.text) and self.text[self.at] != quote:
            letter = self.text[self.at]
            if quote == '"' and letter in "$`":
                self._read_expansion()
                continue
            if quote == '"' and letter == "\\" and self.text[self.at + 1 : self.at + 2] in ("$", "`", '"', "\\", "\n"):
                self.at += 1
                letter = self.text[self.at] if self.text[self.at] != "\n" else ""
            self._add(letter)
            self.at += 1
        if self.at >= len(self.text):
            self._note_construct(f"the quote {quote} that is not closed", opened)
            self.is_certain = False
        self.at += 1

    def _read_escape(self) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        if not following:
            self._note_construct("the \\ at the end")
            self.is_certain = False
        elif following == "\n":
            self._note_construct("a line break", self.at + 1)
        else:
            self._add(following)
            self._is_quoted = True
        self.at += 2

    def _read_expansion(self) -> None:
        self._note_construct("the backtick `" if self.text[self.at] == "`" else "the expansion $")
        if self.text[self.at] == "`":
            self._read_backticks()
        elif self.text.startswith("$((", self.at) or self.text[self.at + 1 : self.at + 2] in ("'", '"'):
            self.is_certain = False
            self.at += 1
        elif self.text.startswith("$(", self.at):
            self.at = self._read_commands(self.text, self.at + 2, ")")
        elif self.text.startswith("${", self.at):
            self._read_braces()
        elif _NAME.match(self.text, self.at + 1):
            self._add("$")
            self._is_open = True
            self.at += 1
        else:
            self._add("$")
            self.at += 1

    def _read_commands(self, text: str, at: int, closing: str | None) -> int:
        """Reads the commands of a substitution; returns where they end."""
        inner = _Reader(text, self.depth - 1, at)
        if inner.is_certain:
            inner.read(closing)
        else:
            inner.at = len(text)
        self.parts += inner.parts
        self.constructs += inner.constructs
        self.is_certain = self.is_certain and inner.is_certain
        self._add("$")
        self._is_open = True
        return inner.at + 1

    def _read_backticks(self) -> None:
        closed = self.text.find("`", self.at + 1)
        end = closed if closed >= 0 else len(self.text)
        inner = self.text[self.at + 1 : end]
        # Shells take a level of backslashes off before they read what is inside; this reader does not.
        if closed < 0 or "\\" in inner:
            self.is_certain = False
        self._read_commands(inner, 0, None)
        self.at = end + 1

    def _read_braces(self) -> None:
        closed = self.text.find("}", self.at)
        inner = self.text[self.at + 2 : closed if closed >= 0 else len(self.text)]
        if closed < 0 or re.search(r"[`$'\"\\{<>]", inner):
            self.is_certain = False
        self._add("$")
        self._is_open = True
        self.at = closed + 1 if closed >= 0 else len(self.text)

    def _read_redirect(self) -> None:
        self._end_word_before_redirect()
        found = _REDIRECT.match(self.text, self.at)
        sign = found[0] if found else ">"
        self._note_construct(f"the redirection {sign}")
        # A here-document goes on in later lines, and a bracket behind the sign runs a command.
        if sign.startswith("<<") or self.text.startswith("(", self.at + len(sign)) or self._awaits_target:
            self.is_certain = False
        self._awaits_target = True
        self.at += len(sign)

    def _end_word_before_redirect(self) -> None:
        """Drops the number of a descriptor (`2>`); anything else is a word, and so is a quoted or escaped digit. Shells
        disagree on longer numbers: bash takes most for a descriptor, dash takes all for words."""
        text = "".join(self._letters or ())
        if self._is_quoted or self._is_open or not (text.isascii() and text.isdigit()):
            self._end_word()
        elif len(text) > 1:
            self.is_certain = False
            self._end_word()
        self._drop_word()

    def _note_construct(self, name: str, at: int | None = None) -> None:
        self.constructs.append(Construct(self.at if at is None else at, name))

    def _add(self, letters: str) -> None:
        if self._letters is None:
            self._letters = []
            self._began = self.at
        self._letters.append(letters)

    def _drop_word(self) -> None:
        self._letters, self._is_open, self._is_quoted = None, False, False

    def _end_word(self) -> None:
        if self._letters is None:
            return
        word = Word("".join(self._letters), self._is_open)
        if self._awaits_target:
            self._is_plain = self._is_plain and not word.is_open and word.text in _HARMLESS_TARGETS
            self._awaits_target = False
        elif not self._words and not self._is_quoted and _ASSIGNMENT.match(word.text):
            self._note_construct("the assignment", self._began)
            self._is_plain = False
        else:
            self._words.append(word)
        self._drop_word()

    def _end_part(self) -> None:
        self._end_word()
        if self._awaits_target:
            self.is_certain = False
        if self._words or not self._is_plain:
            self.parts.append(Part(tuple(self._words), self._is_plain))
        self._words, self._is_plain, self._awaits_target = [], True, False
