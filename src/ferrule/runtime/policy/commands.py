"""Matches commands in arguments against patterns of words. `*` as a word of its own stands for any number of words.

An allow fits when every command of a line fits word for word. A deny or ask fits when any of them begins so, also
behind `sudo`, inside `sh -c "…"`, or where a variable hides the words. Parsing is `infra/processes/shell_text.py`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from ferrule.infra.processes.shell_text import LONGEST, ParsedCommandLine, Part, Word, parse
from ferrule.runtime.policy.globs import compile_glob

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "busybox"})
_CARRIERS = frozenset(
    {
        "sudo", "doas", "su", "env", "nohup", "nice", "ionice", "time", "timeout", "stdbuf", "setsid", "xargs", "parallel",
        "command", "builtin", "exec", "eval", "chroot", "unshare", "nsenter", "find", "fd", "watch", "strace", "ltrace",
        "flock", "script", "ssh", "docker", "podman", "kubectl", "busybox", "source", ".", "trap", "coproc", "runuser",
        "if", "then", "else", "elif", "while", "until", "do", "for", "case", "{", "!", "function", "in", "[[",
    }
)  # fmt: skip
"""Words that run, or stand before, the command that follows them somewhere."""
_RUNNING = _SHELLS | _CARRIERS
_CRUDE = re.compile(r"[\s;&|()`$<>{}\"'\\=,]+")
_LINE = re.compile(r"[\s;&|`$]")
"""Characters that make a word look like a command line of its own."""
_DEPTH = 4


def parse_command(value: object) -> ParsedCommandLine:
    """A command line, or a list of words that no shell looks at."""
    if isinstance(value, str):
        return parse(value)
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        return ParsedCommandLine((Part(tuple(Word(word) for word in value)),), True)
    return ParsedCommandLine((), False)


class CommandMatcher:
    """The command part of one rule."""

    __slots__ = ("_is_strict", "_patterns")

    def __init__(self, patterns: tuple[str, ...], *, is_strict: bool) -> None:
        self._is_strict = is_strict
        self._patterns = tuple(tuple(split_pattern(pattern)) for pattern in patterns)

    def fits(self, value: object) -> bool:
        """Returns True when the command line fits."""
        parsed = parse_command(value)
        if self._is_strict:
            return parsed.is_certain and bool(parsed.parts) and all(map(self._allows, parsed.parts))
        # A deny looks at every spelling; a list of words may still reach a shell as one line.
        return any(self._hits(each, parse_command(each), _DEPTH) for each in _list_spellings(value))

    def _allows(self, part: Part) -> bool:
        if not part.is_plain or not part.words or part.words[0].is_open:
            return False
        return any(_covers(pattern, part.words) for pattern in self._patterns)

    def _hits(self, value: object, parsed: ParsedCommandLine, depth: int) -> bool:
        if any(self._begins(part.words, _count_starts(part.words)) for part in parsed.parts):
            return True
        if not parsed.is_certain and self._occurs(value):
            return True
        inner = [text for part in parsed.parts for text in _find_inner_lines(part.words)]
        # Too deep to follow: a deny holds rather than be evaded by nesting.
        return bool(inner) and (not depth or any(self._hits(text, parse(text), depth - 1) for text in inner))

    def _begins(self, words: Sequence[Word], starts: int) -> bool:
        """Returns True when a pattern fits the words from one of the first positions on."""
        for pattern in self._patterns:
            for start in range(starts):
                fit = _may_begin(pattern, words, start)
                if fit:
                    return True
                if fit is None:
                    break
        return False

    def _occurs(self, value: object) -> bool:
        """Returns True when an unparsable line has the words of a pattern anywhere in its text."""
        # What is too long to search counts against the call.
        if not isinstance(value, str) or len(value) > LONGEST:
            return True
        words = [Word(word) for word in _CRUDE.split(value) if word]
        return self._begins(words, len(words))


def _list_spellings(value: object) -> Iterator[object]:
    """Yields a command, and for a list of words also the lines that a tool may hand to a shell."""
    yield value
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        yield " ".join(value)
        yield from (word for word in value if _LINE.search(word))


def list_beginnings(value: object, *, is_strict: bool) -> list[list[str]] | None:
    """Returns the words that the words of a fitting pattern begin, for each command of a line.

    None where a pattern may fit that no word shows: behind `sudo`, inside `sh -c "…"`, where a variable stands, and in
    what cannot be parsed.
    """
    lines = [parse_command(each) for each in ([value] if is_strict else _list_spellings(value))]
    if not all(line.is_certain for line in lines):
        return None
    commands = [part.words for line in lines for part in line.parts]
    if is_strict:
        return [[word.text for word in words] for words in commands]
    if any(word.is_open or _read_program(word) in _RUNNING for words in commands for word in words):
        return None
    return [
        [program, *(word.text for word in words[1:])]
        for words in commands
        if words
        # A pattern may give a program's path, or its name alone.
        for program in (words[0].text.casefold(), _read_program(words[0]))
    ]


def split_pattern(pattern: str) -> list[str]:
    """Splits a pattern into words. Raises ValueError when its quotes are not closed."""
    return shlex.split(pattern)


def _covers(pattern: Sequence[str], words: Sequence[Word]) -> bool:
    """Returns True when the pattern lists every word; a word the shell expands fits only a `*`."""
    ways = _skip_wildcards({0}, pattern)
    for word in words:
        after: set[int] = set()
        for at in ways:
            if at < len(pattern) and pattern[at] == "*":
                after.add(at)
            elif at < len(pattern) and not word.is_open and compile_glob(pattern[at])(word.text):
                after.add(at + 1)
        ways = _skip_wildcards(after, pattern)
    return len(pattern) in ways


def _may_begin(pattern: Sequence[str], words: Sequence[Word], start: int) -> bool | None:
    """Returns True when the words begin as the pattern says, or may do so after the shell expands them.

    None when not even a `*` of the pattern led there: then no later start does, for it sees fewer words.
    """
    ways = _skip_wildcards({0}, pattern)
    for number in range(start, len(words)):
        word = words[number]
        if len(pattern) in ways or (word.is_open and ways):
            return True
        if not ways:
            return False
        after: set[int] = set()
        for at in ways:
            if pattern[at] == "*":
                after.add(at)
            elif _is_called(pattern[at], word.text) if number == start else compile_glob(pattern[at])(word.text):
                after.add(at + 1)
        ways = _skip_wildcards(after, pattern)
    if len(pattern) in ways:
        return True
    return None if any(pattern[at] == "*" for at in ways) else False


def _skip_wildcards(ways: set[int], pattern: Sequence[str]) -> set[int]:
    reached = set(ways)
    for at in ways:
        while at < len(pattern) and pattern[at] == "*":
            at += 1
            reached.add(at)
    return reached


def _is_called(pattern: str, program: str) -> bool:
    """Returns True for a program of that name or path, in any case: file systems may ignore case."""
    test = compile_glob(pattern.casefold())
    folded = program.casefold()
    return test(folded) or test(folded.rpartition("/")[2])


def _count_starts(words: tuple[Word, ...]) -> int:
    """Counts the words that may begin a command: the first, or all where the program runs another one."""
    return len(words) if words and (words[0].is_open or _read_program(words[0]) in _CARRIERS) else min(len(words), 1)


def _read_program(word: Word) -> str:
    return word.text.rpartition("/")[2].casefold()


def _find_inner_lines(words: tuple[Word, ...]) -> Iterator[str]:
    """Yields the texts that a nested shell would read as command lines."""
    programs = [
        number
        for number, word in enumerate(words)
        if _read_program(word) in _SHELLS or _read_program(word) in _CARRIERS
    ]
    if not programs:
        return
    for word in words[programs[0] + 1 :]:
        if _LINE.search(word.text):
            yield word.text
